from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "rubricweb.campaigns"
    label = "campaigns"

    def ready(self) -> None:
        from rubricweb.banks import access
        from rubricweb.campaigns.blinding import cells_to_rate, held_by_rating
        from rubricweb.grades import visibility

        visibility.register(cells_to_rate)
        access.register_guard(held_by_rating)
