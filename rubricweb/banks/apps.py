from django.apps import AppConfig


class BanksConfig(AppConfig):
    name = "rubricweb.banks"
    label = "banks"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.banks.kind.Drafting")
        listing.register("rubricweb.banks.kind.LISTING")
