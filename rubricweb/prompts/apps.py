from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "rubricweb.prompts"
    label = "prompts"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.prompts.kind.DryRuns")
