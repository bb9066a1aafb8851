from django.apps import AppConfig


class ArenaConfig(AppConfig):
    name = "rubricweb.arena"
    label = "arena"

    def ready(self) -> None:
        from rubricweb.arena.fresh.kind import FreshAnswers
        from rubricweb.jobs import kinds

        kinds.register(FreshAnswers())
