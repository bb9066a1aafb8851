from django.apps import AppConfig


class GradesConfig(AppConfig):
    name = "rubricweb.grades"
    label = "grades"

    def ready(self) -> None:
        from rubricweb.jobs import kinds

        kinds.register("rubricweb.grades.engine.kind.Grading")
        kinds.register_duty("rubricweb.grades.matrices.keep_snapshots")
        kinds.register_duty("rubricweb.grades.engine.chunks.cancel_unwanted")
        kinds.register_duty("rubricweb.grades.replies.drop_due")
