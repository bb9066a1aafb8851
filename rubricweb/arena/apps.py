from django.apps import AppConfig


class ArenaConfig(AppConfig):
    name = "rubricweb.arena"
    label = "arena"
