"""Drop the replies of a collection that are older than its policy says, a few blocks at a time.

Never dropped are replies that people may want to look at again: those from which no rating could be read (a
failed grade has it in its row, a defaulted one in its block), and those to cells that somebody has rated or
flagged. Nor are short ones, such as a bare rating, which are columns of their grades.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from grading.types import Outcome
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.grades.answer_verdicts import AnswerVerdict
from rubricweb.grades.models import Grade, HumanGrade
from rubricweb.grades.replies import blocks, rules
from rubricweb.grades.replies.blocks import Cell, Texts
from rubricweb.grades.replies.models import ReplyBlock, ReplyPolicy
from rubricweb.grades.replies.packing import pack_some

logger = logging.getLogger(__name__)

BLOCKS_AT_ONCE = 20
"""That one call looks at: some hundredths of a second each."""


class Dropped(NamedTuple):
    """What one step did."""

    replies: int
    steps: int
    """Blocks and grades looked at; 0 where nothing is left to do now."""


def rated_cells(topic_id: int, revisions: Iterable[int], passages: Iterable[int]) -> Iterable[Cell]:
    """Those of which a person ever said something."""
    place = {"topic": topic_id, "revision__in": list(revisions), "passage__in": list(passages)}
    cells: set[Cell] = set()
    for model in (HumanGrade, AnswerVerdict):
        cells |= set(model.objects.filter(**place).values_list("revision_id", "passage_id"))
    return cells


@transaction.atomic
def keep_replies(collection: Collection, days: int | None, *, by: User | None) -> ReplyPolicy:
    """Keep the collection's replies for so many days; for ever with None. A worker drops what is older."""
    policy, _ = ReplyPolicy.objects.select_for_update().get_or_create(collection=collection)
    if policy.days == days:
        return policy
    policy.days = days
    policy.save(update_fields=["days"])
    detail = "for ever" if days is None else f"for {days} days"
    audit.record("keeping of replies changed", collection, by=by, detail=detail)
    return policy


def drop_due() -> None:
    """Drop a few of the replies that are due, in each collection: a duty of workers."""
    for policy in with_an_end():
        drop_some(policy)


def with_an_end() -> list[ReplyPolicy]:
    """The policies by which replies are dropped at all."""
    here = ReplyPolicy.objects.filter(collection__is_gone=False, collection__is_being_deleted=False)
    return list(here.exclude(days=None).select_related("collection").order_by("collection"))


def drop_some(policy: ReplyPolicy) -> Dropped:
    """Drop the replies of the oldest blocks that are due; those that are due in rows go to blocks first."""
    if policy.days is None:
        return Dropped(0, 0)
    before = timezone.now() - timedelta(days=policy.days)
    packed = pack_some(policy.collection, before=before)
    due = ReplyBlock.objects.filter(collection=policy.collection, dropped_at=None, at__lt=before)
    keys = list(due.order_by("at", "pk").values_list("pk", flat=True)[:BLOCKS_AT_ONCE])
    dropped = sum(map(_drop, keys))
    if dropped:
        logger.info("dropped %d replies of collection %d", dropped, policy.collection_id)
    return Dropped(dropped, packed.looked_at + len(keys))


@transaction.atomic
def _drop(pk: int) -> int:
    """Drop the replies of one block that need not stay, unless another process did."""
    block = ReplyBlock.objects.select_for_update().filter(pk=pk, dropped_at=None).first()
    if block is None:
        return 0
    texts = blocks.texts_of(block.content)
    kept = _kept(block, texts)
    block.content, block.number = blocks.content_of(kept), len(kept)
    block.dropped, block.dropped_at = len(texts) - len(kept), timezone.now()
    block.save(update_fields=["content", "number", "dropped", "dropped_at"])
    return block.dropped


def _kept(block: ReplyBlock, texts: Texts) -> Texts:
    revisions, passages = ({cell[place] for cell in texts} for place in (0, 1))
    grades = Grade.objects.filter(
        config=block.config_id, revision__in=revisions, passage__in=passages, reply_block=block.pk
    )
    stays = {cell for rule in rules() for cell in rule(block.topic_id, revisions, passages)}
    present = grades.values_list("revision_id", "passage_id", "outcome")
    return {
        (revision, passage): texts[revision, passage]
        for revision, passage, outcome in present
        if (revision, passage) in texts and (outcome == Outcome.DEFAULTED or (revision, passage) in stays)
    }
