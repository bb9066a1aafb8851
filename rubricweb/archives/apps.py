from django.apps import AppConfig


class ArchivesConfig(AppConfig):
    name = "rubricweb.archives"
    label = "archives"

    def ready(self) -> None:
        from rubricweb.accounts.actions import on_leaving
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.archives.kind.Archives")
        kinds.register("rubricweb.archives.kind.Deletions")
        kinds.register("rubricweb.archives.kind.Restorations")
        listing.register("rubricweb.archives.kind.LISTING")
        on_leaving("rubricweb.archives.actions.give_back")
