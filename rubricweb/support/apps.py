from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "rubricweb.support"
    label = "support"

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing
        from rubricweb.support.kind import SupportLabels
        from rubricweb.support.listed import LISTING

        kinds.register(SupportLabels())
        listing.register(LISTING)
