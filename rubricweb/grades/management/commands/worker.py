"""A worker: grades what is queued, until it is stopped."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from rubricweb.banks.drafting import capabilities as writers
from rubricweb.banks.drafting import reaper as drafts_reaper
from rubricweb.grades.engine import capabilities as graders
from rubricweb.grades.engine import reaper
from rubricweb.grades.prompting import leases as trial_leases
from rubricweb.jobs import capabilities, leases, queue, worker_state
from rubricweb.jobs.worker import Duties, Runner

BEATS_A_LEASE = 3


class Command(BaseCommand):
    requires_system_checks = ()  # of pages, mostly: they would double the time until a worker starts
    help = "Grade queued jobs until stopped (SIGTERM, Ctrl-C). Any number of workers may run."

    def handle(self, *args: Any, **options: Any) -> None:
        settings.DEBUG = False  # Django would keep the text of every statement, for a page that no worker has
        os.environ.setdefault("TQDM_DISABLE", "1")  # libraries that load models draw bars into the log
        duties = Duties(
            name=leases.worker_name(),
            beat=worker_state.now.beat,
            more_queues=capabilities.more_queues,
            every_beat=(
                worker_state.now.renew,
                reaper.reap,
                drafts_reaper.reap,
                trial_leases.reap,
                graders.fail_what_nobody_can_run,
                writers.fail_what_nobody_can_run,
            ),
            stop=worker_state.now.stop,
            beat_seconds=min(queue.BEAT_SECONDS, settings.LEASE_SECONDS / BEATS_A_LEASE),
        )
        Runner(duties).run()
