from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "rubricweb.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.webhooks.kind.Deliveries")
