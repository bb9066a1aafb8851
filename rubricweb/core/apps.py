from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "rubricweb.core"
    label = "core"
