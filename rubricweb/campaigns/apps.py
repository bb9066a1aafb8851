from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "rubricweb.campaigns"
    label = "campaigns"

    def ready(self) -> None:
        from rubricweb.banks import access
        from rubricweb.campaigns.queue.blinding import blind_cells, why_not_edit
        from rubricweb.grades import visibility
        from rubricweb.jobs import kinds

        kinds.register_duty("rubricweb.campaigns.queue.done.announce_done")
        visibility.register(blind_cells)
        access.register_guard(why_not_edit)
