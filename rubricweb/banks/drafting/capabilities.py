"""Requests whose model this worker cannot run: another gets them, or they fail where no other can."""

from __future__ import annotations

import hashlib
import logging

import redis

from rubricweb.banks.drafting import actions, leases
from rubricweb.banks.drafting.leases import DraftLease
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.jobs import capabilities, worker_state
from rubricweb.jobs.worker_state import Need

logger = logging.getLogger(__name__)


def need_of(request: DraftRequest) -> Need:
    model = hashlib.sha256(f"{request.backend}\0{request.llm}".encode()).hexdigest()[:16]
    return Need(f"{capabilities.PREFIX}writer-{model}", f"{request.llm} as a writer of drafts")


def refused_lately(request: DraftRequest) -> str:
    """Why this worker shall not try: it failed in the last minutes, and another may do better."""
    need = need_of(request)
    why_not = worker_state.now.why_not(need.queue)
    try:
        return why_not if why_not and capabilities.others_can(need.queue) else ""
    except redis.RedisError:
        return ""


def refuse(lease: DraftLease, reason: str) -> None:
    """This worker cannot run the model: others get the request, or it fails where no other can."""
    need = need_of(lease.request)
    try:
        if capabilities.refuse(need, reason):
            logger.info("handed draft request %s over: %s", lease.request.pk, reason)
            leases.give_back(lease, queue_name=need.queue)
            return
    except redis.RedisError:
        leases.give_back(lease)
        return
    actions.fail_request(lease, error=reason, reply="")


def fail_what_nobody_can_run() -> None:
    """Requests that waited for another worker, which is gone. Raises redis.RedisError."""
    if not worker_state.now.cannot():
        return
    waiting = DraftRequest.objects.filter(state=DraftRequest.State.QUEUED)
    for request in waiting.select_related("bank__collection"):
        if reason := capabilities.nobody_can(need_of(request)):
            actions.fail_waiting(request, error=reason)
