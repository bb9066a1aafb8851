"""What RQ runs: ask the model of one request. Carries its id only, and is safe to run twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from grading import generation
from grading.errors import GraderUnavailable, GradingError, UnknownGrader
from grading.generation.models import text_model
from rubricweb.banks.drafting import able, actions, leases
from rubricweb.banks.drafting.asking import request_of
from rubricweb.banks.drafting.leases import DraftLease
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.core import model_server, working

logger = logging.getLogger(__name__)


class Remembering:
    """A model whose last reply is kept, also where nothing could be made of it."""

    def __init__(self, llm: generation.TextModel) -> None:
        self._llm = llm
        self.last = ""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        self.last = self._llm.complete(messages)
        return self.last


CANNOT_RUN = (GraderUnavailable, UnknownGrader)


def draft_items(request_id: int) -> None:
    """Put drafts into the inbox, or say there why not; a worker that cannot lets another try."""
    lease = leases.claim(request_id)
    if lease is None:
        logger.info("draft request %s was not to be had", request_id)
        return
    with working.now.on(lease):
        _draft(lease)


def _model(request: DraftRequest) -> generation.TextModel:
    """Raises GraderUnavailable at once where this worker failed lately and another may do better."""
    if reason := able.refused_lately(request):
        raise GraderUnavailable(reason)
    working.now.loading = request.llm
    try:
        return text_model(request.backend, request.llm, model_server.connection())
    finally:
        working.now.loading = ""


def _draft(lease: DraftLease) -> None:
    request = lease.request
    llm: Remembering | None = None
    try:
        llm = Remembering(_model(request))
        drafts = generation.draft(llm, request_of(request))
    except Exception as error:
        is_known = isinstance(error, GradingError)
        logger.warning("draft request %s failed: %s", request.pk, type(error).__name__, exc_info=not is_known)
        said = str(error) if is_known else f"{type(error).__name__}: {error}"
        if llm is None and isinstance(error, CANNOT_RUN):
            able.refuse(lease, said)
        else:
            actions.fail_request(lease, error=said, reply=llm.last if llm else "")
    else:
        actions.keep_drafts(lease, drafts)
        logger.info("drafted %d %ss for topic %s", len(drafts.texts), request.kind, request.topic_id)
