from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "rubricweb.imports"
    label = "imports"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.imports.kind.Imports")
        listing.register("rubricweb.imports.kind.LISTING")
