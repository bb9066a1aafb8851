from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "rubricweb.support"
    label = "support"
    imports = {
        "answers with labels of support": "rubricweb.support.importing.AnswerImporter",
        "labels of support": "rubricweb.support.importing.LabelImporter",
    }

    def ready(self) -> None:
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.support.kind.SupportLabels")
        listing.register("rubricweb.support.kind.LISTING")
