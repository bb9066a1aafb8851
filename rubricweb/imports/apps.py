from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "rubricweb.imports"
    label = "imports"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.imports.kind.Imports")
