from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "rubricweb.api"

    def ready(self) -> None:
        import rubricweb.api.schema  # noqa: F401 - tells the schema how scripts sign in
