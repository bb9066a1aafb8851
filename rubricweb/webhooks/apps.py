from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "rubricweb.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.webhooks.kind import Deliveries

        kinds.register(Deliveries())
