from django.apps import AppConfig


class ArenaConfig(AppConfig):
    name = "rubricweb.arena"
    label = "arena"

    def ready(self) -> None:
        from rubricweb.arena.fresh.kind import FreshAnswers
        from rubricweb.arena.fresh.listed import LISTING
        from rubricweb.jobs import kinds, listing

        kinds.register(FreshAnswers())
        listing.register(LISTING)
