from django.apps import AppConfig


class GradesConfig(AppConfig):
    name = "rubricweb.grades"
    label = "grades"

    def ready(self) -> None:
        from rubricweb.grades.engine import batches
        from rubricweb.grades.engine.kind import Grading
        from rubricweb.grades.matrices import keep_snapshots
        from rubricweb.jobs import kinds

        kinds.register(Grading())
        kinds.register_duty(keep_snapshots)
        kinds.register_duty(batches.cancel_unwanted)
