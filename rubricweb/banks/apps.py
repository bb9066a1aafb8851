from django.apps import AppConfig


class BanksConfig(AppConfig):
    name = "rubricweb.banks"
    label = "banks"
