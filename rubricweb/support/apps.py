from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "rubricweb.support"
    label = "support"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.support.kind import SupportLabels

        kinds.register(SupportLabels())
