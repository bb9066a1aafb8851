from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "rubricweb.support"
    label = "support"

    def ready(self) -> None:
        from grading.formats.base import Content
        from rubricweb.grades.importers import people
        from rubricweb.jobs import kinds, listing

        kinds.register("rubricweb.support.kind.SupportLabels")
        listing.register("rubricweb.support.listed.LISTING")
        people.register(Content.SUPPORT, "rubricweb.support.importing.LabelImporter")
