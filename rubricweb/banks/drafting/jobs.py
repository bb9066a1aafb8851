"""What RQ runs: ask the model of one request. Carries its id only, and is safe to run twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from grading import generation
from grading.errors import GradingError
from grading.generation.models import text_model
from rubricweb.banks.drafting import actions
from rubricweb.banks.drafting.asking import request_of
from rubricweb.core import model_server

logger = logging.getLogger(__name__)


class Remembering:
    """A model whose last reply is kept, also where nothing could be made of it."""

    def __init__(self, llm: generation.TextModel) -> None:
        self._llm = llm
        self.last = ""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        self.last = self._llm.complete(messages)
        return self.last


def draft_items(request_id: int) -> None:
    """Put drafts into the inbox, or say there why not."""
    request = actions.claim(request_id)
    if request is None:
        logger.info("draft request %s was not to be had", request_id)
        return
    llm: Remembering | None = None
    try:
        llm = Remembering(text_model(request.backend, request.llm, model_server.connection()))
        drafts = generation.draft(llm, request_of(request))
    except Exception as error:
        logger.warning("draft request %s failed", request_id, exc_info=not isinstance(error, GradingError))
        said = str(error) if isinstance(error, GradingError) else f"{type(error).__name__}: {error}"
        actions.fail_request(request, error=said, reply=llm.last if llm else "")
    else:
        actions.keep_drafts(request, drafts)
        logger.info("drafted %d %ss for topic %s", len(drafts.texts), request.kind, request.topic_id)
