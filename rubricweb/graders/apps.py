from django.apps import AppConfig


class GradersConfig(AppConfig):
    name = "rubricweb.graders"
    label = "graders"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.graders.dry_runs.DryRuns")
