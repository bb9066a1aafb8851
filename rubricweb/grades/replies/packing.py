"""Move long replies from the rows of their grades into blocks, some grades at a time, while people work.

In rows are those of earlier versions and of their archives, and those that a slow grader gave one by one. A
grade is looked at once: `ReplyPolicy.packed_to` has the last key. Done again, it goes on where it ended.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models.functions import Length

from grading.types import Outcome
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import Grade
from rubricweb.grades.querysets import GradeQuerySet
from rubricweb.grades.replies import blocks
from rubricweb.grades.replies.blocks import Cell, Texts
from rubricweb.grades.replies.models import ReplyPolicy

AT_ONCE = 5_000
"""Grades of one transaction, looked at by their keys: a quarter of a second if all have long replies."""


class Packed(NamedTuple):
    """What one step did."""

    looked_at: int
    """Grades, of other collections too; 0 at the end."""
    moved: int
    """Replies."""


@transaction.atomic
def pack_some(collection: Collection, *, before: datetime) -> Packed:
    """Move the long replies of the next grades, as far as those of the collection were made `before`.

    0 of 0 where another process is at it, or nothing is left.
    """
    ReplyPolicy.objects.get_or_create(collection=collection)
    policy = ReplyPolicy.objects.select_for_update(skip_locked=True).filter(collection=collection).first()
    if policy is None:
        return Packed(0, 0)
    keys = Grade.objects.filter(pk__gt=policy.packed_to).order_by("pk").values_list("pk", flat=True)
    looked_at = list(keys[:AT_ONCE])
    own = Grade.objects.filter(
        topic__collection=collection, pk__gt=policy.packed_to, pk__lte=max(looked_at, default=0)
    )
    if young := own.filter(at__gte=before).order_by("pk").values_list("pk", flat=True).first():
        looked_at = [key for key in looked_at if key < young]
    if not looked_at:
        return Packed(0, 0)
    moved = _pack(own.filter(pk__lte=looked_at[-1]))
    policy.packed_to = looked_at[-1]
    policy.save(update_fields=["packed_to"])
    return Packed(len(looked_at), moved)


def _pack(grades: GradeQuerySet) -> int:
    in_rows = grades.filter(reply_block=None).exclude(outcome=Outcome.FAILED)
    long = in_rows.annotate(chars=Length("reply")).filter(chars__gt=blocks.LONGEST_IN_ROW)
    found: dict[tuple[int, int], list[Grade]] = defaultdict(list)
    for row in long.select_for_update(of=("self",)).order_by("pk"):
        found[row.config_id, row.topic_id].append(row)
    for (config_id, topic_id), rows in found.items():
        texts: Texts = {_cell(row): row.reply for row in rows}
        block_of = blocks.store(config_id, topic_id, texts, at=max(row.at for row in rows))
        for row in rows:
            row.reply, row.reply_block_id = "", block_of[_cell(row)]
        Grade.objects.bulk_update(rows, ["reply", "reply_block"], batch_size=blocks.BLOCK_REPLIES)
    return sum(map(len, found.values()))


def _cell(row: Grade) -> Cell:
    return row.revision_id, row.passage_id
