from django.apps import AppConfig


class HomeConfig(AppConfig):
    name = "rubricweb.home"
    label = "home"
