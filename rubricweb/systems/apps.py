from django.apps import AppConfig


class SystemsConfig(AppConfig):
    name = "rubricweb.systems"
    label = "systems"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing
        from rubricweb.systems.kind import Systems
        from rubricweb.systems.listed import LISTING

        kinds.register(Systems())
        listing.register(LISTING)
