import logging

from django.apps import AppConfig
from django.conf import settings

from grading import plugins
from grading.graders import hf_model

logger = logging.getLogger(__name__)


class CoreConfig(AppConfig):
    name = "rubricweb.core"
    label = "core"

    def ready(self) -> None:
        from rubricweb.core import database  # noqa: F401  its check is registered

        hf_model.keep_copies_in(settings.DATA_DIR / "models")
        for each in plugins.load():
            if each.problem:
                logger.warning("plug-in %s, %s, is left out: %s", each.distribution, each.name, each.problem)
