from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "rubricweb.demo"
    label = "demo"
