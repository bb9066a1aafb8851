from django.apps import AppConfig


class SystemsConfig(AppConfig):
    name = "rubricweb.systems"
    label = "systems"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.systems.kind import Systems

        kinds.register(Systems())
