from django.apps import AppConfig
from django.conf import settings

from grading.graders import hf_model


class CoreConfig(AppConfig):
    name = "rubricweb.core"
    label = "core"

    def ready(self) -> None:
        from rubricweb.core import database  # noqa: F401  its check is registered

        hf_model.keep_copies_in(settings.DATA_DIR / "models")
