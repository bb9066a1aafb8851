from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "rubricweb.exports"
    label = "exports"
