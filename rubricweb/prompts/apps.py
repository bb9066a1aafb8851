from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "rubricweb.prompts"
    label = "prompts"

    def ready(self) -> None:
        from rubricweb.jobs import kinds
        from rubricweb.prompts.kind import DryRuns

        kinds.register(DryRuns())
