from django.apps import AppConfig


class CorpusConfig(AppConfig):
    name = "rubricweb.corpus"
    label = "corpus"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.corpus.duplicates.DuplicateSearches")
        kinds.register_duty("rubricweb.corpus.pools.keep_snapshots")
