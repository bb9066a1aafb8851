from django.apps import AppConfig


class SystemsConfig(AppConfig):
    name = "rubricweb.systems"
    label = "systems"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.systems.kind.Systems")
        listing.register("rubricweb.systems.kind.LISTING")
