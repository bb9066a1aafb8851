"""A worker: does what is queued, until it is stopped."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from rubricweb.core import telemetry
from rubricweb.core.reader import OperatorCommand
from rubricweb.jobs import worker_state
from rubricweb.jobs.worker import Runner


class Command(OperatorCommand):
    requires_system_checks = ()  # of pages, mostly: they would double the time until a worker starts
    help = "Do queued work until stopped (SIGTERM, Ctrl-C). One worker does everything; any number may run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--short",
            action="store_true",
            help="do only what needs no model (import checks, releases, exports, lexical grading): it then "
            "waits behind no model",
        )

    def handle(self, *args: Any, short: bool, **options: Any) -> None:
        settings.DEBUG = False  # Django would keep the text of every statement, for a page that no worker has
        os.environ.setdefault("TQDM_DISABLE", "1")  # libraries that load models draw bars into the log
        telemetry.start()
        if not short:
            worker_state.declare()
        Runner().run()
