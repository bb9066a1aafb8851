"""A worker whose grader writes down each call, so that a test can count what would have been paid.

Run as a module it is `manage.py worker`, which saves and asks in batches of BATCH. CLOCK_OFF is by how many
seconds its clock is wrong: what Python and Django tell it, not what the database does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path

from grading.graders import GraderSpec, registry
from grading.types import CellToGrade, Grade, Outcome, Purpose

BATCH = 4
BATCH_SECONDS = 0.02
BACKEND = registry.Backend(
    "counting",
    "Counting",
    "tests.rubricweb.grades.counting:CountingGrader",
    ("LexicalBaseline",),
    True,
    "counted",
    asks_any=True,
)


class CountingGrader:
    device = "paper"

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec

    def close(self) -> None:
        """It holds nothing."""

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Grade]:
        waiting = iter(pairs)
        while batch := list(islice(waiting, BATCH)):
            lines = "".join(f"{pair.item.item_id} {pair.passage.passage_id}\n" for pair in batch)
            with Path(os.environ["COUNTED_CALLS"]).open("a") as calls:
                calls.write(lines)
            time.sleep(BATCH_SECONDS)
            for pair in batch:
                yield self._grade(pair)

    def _grade(self, pair: CellToGrade) -> Grade:
        """Answers are right, ratings high."""
        cell = (pair.item.item_id, pair.passage.passage_id)
        if self.spec.prompt.purpose is Purpose.EXTRACT:
            return Grade(*cell, None, Outcome.EXTRACTED, "anthocyanin")
        if self.spec.prompt.needs_answer:
            return Grade(*cell, 1, Outcome.NUMERIC, pair.answer or "")
        return Grade(*cell, 4, Outcome.NUMERIC)


def set_clock(seconds: float) -> None:
    """Let this process believe that it is so much later."""
    from django.utils import timezone

    true_time, true_now = time.time, timezone.now
    time.time = lambda: true_time() + seconds
    timezone.now = lambda: true_now() + timedelta(seconds=seconds)


def main() -> None:
    import django

    set_clock(float(os.environ.get("CLOCK_OFF", "0")))

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    django.setup()
    from django.core.management import call_command

    from rubricweb.grades.engine import kind

    registry.BACKENDS[BACKEND.name] = BACKEND
    kind.BATCH_RESULTS = BATCH
    call_command("worker")


if __name__ == "__main__":
    main()
