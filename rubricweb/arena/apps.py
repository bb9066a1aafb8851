from django.apps import AppConfig


class ArenaConfig(AppConfig):
    name = "rubricweb.arena"
    label = "arena"
    imports = {
        "votes on answers": "rubricweb.arena.importing.VoteImporter",
        "battles": "rubricweb.arena.import_battles.BattleImporter",
    }

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.arena.kind.FreshAnswers")
        listing.register("rubricweb.arena.kind.LISTING")
