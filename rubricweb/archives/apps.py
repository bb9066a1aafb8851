from django.apps import AppConfig


class ArchivesConfig(AppConfig):
    name = "rubricweb.archives"
    label = "archives"

    def ready(self) -> None:
        from rubricweb.accounts.actions import on_leaving
        from rubricweb.archives.actions import give_back
        from rubricweb.archives.kind import Archives, Deletions, Restorations
        from rubricweb.jobs import kinds

        kinds.register(Archives())
        kinds.register(Deletions())
        kinds.register(Restorations())
        on_leaving(give_back)
