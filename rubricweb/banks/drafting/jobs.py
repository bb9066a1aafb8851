"""What RQ runs: ask the model of one request. Carries its id only, and is safe to run twice."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from grading import generation
from grading.errors import GraderUnavailable, GradingError, ParseFailure, UnknownGrader
from grading.generation.models import text_model
from rubricweb.banks.drafting import actions, capabilities, importance, leases
from rubricweb.banks.drafting.asking import request_of
from rubricweb.banks.drafting.leases import DraftLease
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.core import model_server
from rubricweb.corpus import convert as corpus
from rubricweb.jobs import worker_state

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
    with worker_state.now.on(lease):
        _draft(lease)


def _model(request: DraftRequest) -> generation.TextModel:
    """Raises GraderUnavailable at once where this worker failed lately and another may do better."""
    if reason := capabilities.refused_lately(request):
        raise GraderUnavailable(reason)
    worker_state.now.loading = request.llm
    try:
        return text_model(request.backend, request.llm, model_server.connection())
    finally:
        worker_state.now.loading = ""


def _draft(lease: DraftLease) -> None:
    request = lease.request
    llm: Remembering | None = None
    try:
        llm = Remembering(_model(request))
        keep = _weighed(llm, lease) if request.asks == DraftRequest.Asks.IMPORTANCE else _drafted(llm, lease)
    except Exception as error:
        is_known = isinstance(error, GradingError)
        logger.warning("draft request %s failed: %s", request.pk, type(error).__name__, exc_info=not is_known)
        said = str(error) if is_known else f"{type(error).__name__}: {error}"
        if llm is None and isinstance(error, CANNOT_RUN):
            capabilities.refuse(lease, said)
        else:
            actions.fail_request(lease, error=said, reply=llm.last if llm else "")
    else:
        keep()
        logger.info("draft request %s for topic %s was answered", request.pk, request.topic_id)


def _drafted(llm: Remembering, lease: DraftLease) -> Callable[[], None]:
    drafts = generation.draft(llm, request_of(lease.request))
    return partial(actions.keep_drafts, lease, drafts)


def _weighed(llm: Remembering, lease: DraftLease) -> Callable[[], None]:
    """Raises ParseFailure where no reply labelled anything."""
    asked = importance.nuggets_of(lease.request.bank, lease.request.topic)
    found = generation.weigh(llm, corpus.topic(lease.request.topic), [one.text for one in asked])
    if found.defaulted == len(asked):
        raise ParseFailure(f"no reply labels each of the {len(asked)} nuggets vital or okay")
    return partial(importance.keep_suggestions, lease, asked, found, raw=llm.last)
