from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "rubricweb.api"


class SpectacularConfig(AppConfig):
    """drf-spectacular without its checks, which load it and a database driver into every process (22 MB)."""

    name = "drf_spectacular"
