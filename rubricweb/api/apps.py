from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "rubricweb.api"

    def ready(self) -> None:
        from rubricweb.accounts.passwords import on_reset

        on_reset("rubricweb.api.tokens.revoke_all")


class SpectacularConfig(AppConfig):
    """drf-spectacular without its checks, which load it and a database driver into every process (22 MB)."""

    name = "drf_spectacular"
