from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "rubricweb.review"
    label = "review"

    def ready(self) -> None:
        from grading.formats.base import Content
        from rubricweb.grades import replies
        from rubricweb.grades.importers import people

        people.register(Content.FLAGS, "rubricweb.review.flags.importing.FlagImporter")
        replies.keep_also("rubricweb.review.flags.selectors.flagged_cells")
