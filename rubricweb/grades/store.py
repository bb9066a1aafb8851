"""The one way to write grades: in bulk, never twice, and the stamps move with them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp

BATCH_ROWS = 2_000


@transaction.atomic
def save_grades(config: GraderConfig, grades: Iterable[Grade]) -> int:
    """Insert `grades` of one config; a cell that already has one keeps it. Returns how many were new.

    The stamps are locked first, so that of two writers to a topic the second counts what the first wrote.
    """
    rows = list(grades)
    stamps = locked_stamps(config, {row.topic_id for row in rows})
    Grade.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH_ROWS)
    return move_stamps(stamps)


def locked_stamps(config: GraderConfig, topic_ids: Iterable[int]) -> list[MatrixStamp]:
    """The stamps of these topics, made where absent, locked in one order until the transaction ends."""
    wanted = sorted(topic_ids)
    absent = [MatrixStamp(config=config, topic_id=topic_id) for topic_id in wanted]
    MatrixStamp.objects.bulk_create(absent, ignore_conflicts=True)
    rows = MatrixStamp.objects.filter(config=config, topic__in=wanted).order_by("topic_id")
    return list(rows.select_for_update())


def move_stamps(stamps: list[MatrixStamp]) -> int:
    """Say that the grades under these stamps changed. Returns how many more there are than before."""
    new = 0
    for stamp in stamps:
        count = Grade.objects.filter(config=stamp.config_id, topic=stamp.topic_id).count()
        new += count - stamp.grades
        stamp.number, stamp.grades = stamp.number + 1, count
    MatrixStamp.objects.bulk_update(stamps, ["number", "grades"])
    return new
