from django.apps import AppConfig


class GradesConfig(AppConfig):
    name = "rubricweb.grades"
    label = "grades"
