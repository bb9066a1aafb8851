from django.apps import AppConfig


class CorpusConfig(AppConfig):
    name = "rubricweb.corpus"
    label = "corpus"

    def ready(self) -> None:
        from rubricweb.corpus.duplicates.kind import DuplicateSearches
        from rubricweb.corpus.pools import keep_snapshots
        from rubricweb.jobs import kinds

        kinds.register(DuplicateSearches())
        kinds.register_duty(keep_snapshots)
