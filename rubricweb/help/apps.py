from django.apps import AppConfig


class HelpConfig(AppConfig):
    name = "rubricweb.help"
    label = "help"
