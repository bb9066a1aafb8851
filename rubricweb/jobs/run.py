"""What RQ calls, with ids only; safe to run twice."""

from __future__ import annotations

import logging
import time
from typing import Any

from rubricweb.core import logs, tracing
from rubricweb.core.errors import is_disk_full
from rubricweb.core.reader import everything
from rubricweb.core.sqlite import is_locked
from rubricweb.jobs import capabilities, dispatch, endings, kinds, leases, metrics, steering, worker_state
from rubricweb.jobs.connections import close_dead_connections, has_lost_connection
from rubricweb.jobs.kinds import CannotRun, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost

logger = logging.getLogger(__name__)


def work_on(kind_name: str, pk: int) -> None:
    """Do one piece of work, unless another worker has it or it has ended. Nothing is hidden from it."""
    with everything():
        _work_on(kind_name, pk)


def _work_on(kind_name: str, pk: int) -> None:
    close_dead_connections()
    kind = kinds.get(kind_name)
    lease = leases.claim(kind, pk)
    if lease is None:
        logger.info("%s %s is done, or another worker has it", kind_name, pk)
        return
    with logs.about(dispatch.rq_id(lease.work)), tracing.span(f"work {kind_name}"):
        began = time.perf_counter()
        _attempt(lease)
        metrics.count_attempt(lease, time.perf_counter() - began)


def _attempt(lease: Lease[Any]) -> None:
    try:
        with worker_state.now.on(lease):
            if worker_state.now.is_stopping:
                raise Stopping
            capabilities.raise_if_refused(lease)
            lease.kind.run(lease)
    except LeaseLost:
        logger.info("lost %s", dispatch.rq_id(lease.work))
    except Stopping:
        endings.give_back(lease)
    except CannotRun as error:
        capabilities.refuse(lease, str(error))
    except Exception as error:
        logger.warning("%s failed", dispatch.rq_id(lease.work), exc_info=True)
        _end_attempt(lease, error)


def _end_attempt(lease: Lease[Any], error: Exception) -> None:
    close_dead_connections()
    words = f"{type(error).__name__}: {error}"
    if is_disk_full(error):
        steering.stop_for_room(lease)
    elif has_lost_connection(error) or is_locked(error):
        endings.give_back(lease, queue_name=dispatch.queue_of(lease.work))
    elif lease.kind.is_retried:
        endings.retry(lease, error=words)
    else:
        endings.fail(lease, error=words)
