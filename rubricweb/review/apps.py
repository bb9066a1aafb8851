from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "rubricweb.review"
    label = "review"
    imports = {"flags and comments": "rubricweb.review.flags.actions.FlagImporter"}

    def ready(self) -> None:
        from rubricweb.grades import replies

        replies.keep_also("rubricweb.review.flags.flagged_cells")
