from django.apps import AppConfig


class ArenaConfig(AppConfig):
    name = "rubricweb.arena"
    label = "arena"

    def ready(self) -> None:
        from grading.formats.base import Content
        from rubricweb.grades.importers import people
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.arena.fresh.kind.FreshAnswers")
        listing.register("rubricweb.arena.fresh.listed.LISTING")
        people.register(Content.VOTES, "rubricweb.arena.importing.VoteImporter")
