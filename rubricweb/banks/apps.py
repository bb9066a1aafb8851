from django.apps import AppConfig


class BanksConfig(AppConfig):
    name = "rubricweb.banks"
    label = "banks"

    def ready(self) -> None:
        from rubricweb.banks.drafting.kind import Drafting
        from rubricweb.jobs import kinds

        kinds.register(Drafting())
