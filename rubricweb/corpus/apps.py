from django.apps import AppConfig


class CorpusConfig(AppConfig):
    name = "rubricweb.corpus"
    label = "corpus"
