from django.apps import AppConfig


class GradesConfig(AppConfig):
    name = "rubricweb.grades"
    label = "grades"

    def ready(self) -> None:
        from rubricweb.grades.engine.kind import Grading
        from rubricweb.jobs import kinds

        kinds.register(Grading())
