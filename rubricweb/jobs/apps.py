from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "rubricweb.jobs"
    label = "jobs"
