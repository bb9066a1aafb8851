from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "rubricweb.submissions"
    label = "submissions"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.submissions.kind.Submissions")
