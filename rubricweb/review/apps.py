from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "rubricweb.review"
    label = "review"

    def ready(self) -> None:
        from rubricweb.banks import access
        from rubricweb.grades import visibility
        from rubricweb.review.queue.blinding import blind_cells, why_not_edit

        visibility.register(blind_cells)
        access.register_guard(why_not_edit)
