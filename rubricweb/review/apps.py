from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "rubricweb.review"
    label = "review"
    imports = {"flags and comments": "rubricweb.review.flags.importing.FlagImporter"}

    def ready(self) -> None:
        from rubricweb.grades import replies

        replies.keep_also("rubricweb.review.flags.selectors.flagged_cells")
