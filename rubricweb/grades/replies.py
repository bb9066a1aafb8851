"""Raw replies of models: long ones are kept in compressed blocks, beside their grades.

A short reply is a column of its grade. Compressed together, replies take a fraction of their length. A grade
without a block has its reply in `Grade.reply`, whatever its length: so it is in rows of earlier versions, and
of failed grades always. Workers move these into blocks, and drop replies that are older than the collection's
policy says.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, cast

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.module_loading import import_string

from grading.types import Outcome
from rubricweb.accounts.models import User
from rubricweb.core import audit, database, packed
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.models import Grade, Pair, ReplyBlock, ReplyPolicy

logger = logging.getLogger(__name__)

LONGEST_IN_ROW = 32
"""Characters up to which a reply takes no more room than the name of its block and its cell there."""
BLOCK_REPLIES = 256
BLOCK_CHARS = 250_000
"""Characters from which a block is full. To show one reply, its block is read."""
KEY = "replies"
"""Key for `core.packed`, which tells it from bytes of other things."""

Texts = dict[Pair, str]


@dataclass(frozen=True, slots=True)
class RawReply:
    """The stored part of a reply."""

    text: str
    dropped_at: datetime | None = None
    """When the policy of its collection dropped it; None unless it did."""


def is_long(outcome: str, reply: str) -> bool:
    """Return whether a grade's reply belongs into a block; a failed grade has the reason there."""
    return len(reply) > LONGEST_IN_ROW and outcome != Outcome.FAILED


def store(config_id: int, topic_id: int, replies: Texts, *, at: datetime | None = None) -> dict[Pair, int]:
    """Write the replies of one grader and topic, and return the block of each cell.

    `at` is when their grades were made, if not now. Call it in the transaction that writes the grades.
    """
    collection_id = Topic.objects.values_list("collection_id", flat=True).get(pk=topic_id)
    portions = list(_portions(replies))
    made = database.create(
        ReplyBlock(
            collection_id=collection_id,
            config_id=config_id,
            topic_id=topic_id,
            content=content_of(texts),
            number=len(texts),
            at=at or timezone.now(),
        )
        for texts in portions
    )
    return {cell: block.pk for texts, block in zip(portions, made, strict=True) for cell in texts}


def read(blocks: QuerySet[ReplyBlock]) -> dict[int, Texts]:
    """Return the replies that are kept in these blocks, by primary key of the block."""
    return {
        pk: texts_of(content) for pk, content in blocks.values_list("pk", "content").iterator(chunk_size=100)
    }


def raw_replies(grades: Iterable[Grade]) -> dict[int, RawReply]:
    """Return the raw reply to each grade, by its primary key. A failed grade has it in `answer`."""
    rows = list(grades)
    block_ids = {row.reply_block_id for row in rows if row.reply_block_id is not None}
    blocks = ReplyBlock.objects.in_bulk(block_ids) if block_ids else {}
    texts = {pk: texts_of(block.content) for pk, block in blocks.items()}
    return {row.pk: _raw_reply(row, blocks, texts) for row in rows}


def remove_unused(config_id: int, topic_id: int, blocks: Iterable[int]) -> None:
    """Delete those of the blocks to which no grade of this grader and topic belongs any more."""
    used = Grade.objects.filter(config=config_id, topic=topic_id).exclude(reply_block=None)
    ReplyBlock.objects.filter(pk__in=set(blocks)).exclude(pk__in=used.values("reply_block")).delete()


def content_of(texts: Texts) -> bytes:
    """Return the replies as bytes, from which `texts_of` reads them."""
    revisions, passages = zip(*texts, strict=True) if texts else ((), ())
    arrays: packed.Arrays = {
        "revisions": np.array(revisions, dtype=np.int64),
        "passages": np.array(passages, dtype=np.int64),
        "texts": packed.of_texts(list(texts.values())),
    }
    return packed.pack(KEY, arrays)


def texts_of(content: bytes | memoryview) -> Texts:
    """Return the replies by cell; none, and a line in the log, where the bytes are damaged."""
    try:
        arrays = packed.unpack(KEY, content)
    except packed.Damaged:
        logger.warning("a block of replies is damaged")
        return {}
    cells = zip(arrays["revisions"].tolist(), arrays["passages"].tolist(), strict=True)
    return dict(zip(cells, packed.texts(arrays["texts"]), strict=True))


def _portions(replies: Texts) -> Iterator[Texts]:
    """Yield replies in portions, ordered by passage, because similar replies compress well together."""
    portion: Texts = {}
    chars = 0
    for cell in sorted(replies, key=_by_passage):
        text = replies[cell]
        portion[cell] = text
        chars += len(text)
        if len(portion) == BLOCK_REPLIES or chars > BLOCK_CHARS:
            yield portion
            portion, chars = {}, 0
    if portion:
        yield portion


def _by_passage(cell: Pair) -> Pair:
    return cell[1], cell[0]


def _raw_reply(row: Grade, blocks: Mapping[int, ReplyBlock], texts: Mapping[int, Texts]) -> RawReply:
    if row.reply_block_id is None:
        return RawReply(row.answer if row.outcome == Outcome.FAILED else row.reply)
    text = texts.get(row.reply_block_id, {}).get((row.revision_id, row.passage_id), "")
    block = blocks.get(row.reply_block_id)
    return RawReply(text, block.dropped_at if block and not text else None)


# Moving replies from rows of grades into blocks, while people work.

AT_ONCE = 5_000
"""Grades that one transaction examines by key: a quarter of a second if all have long replies."""


class Packed(NamedTuple):
    """The counts of one step of packing."""

    looked_at: int
    """Grades examined, of other collections too; 0 at the end."""
    moved: int
    """Replies moved."""


@transaction.atomic
def pack_some(collection: Collection, *, before: datetime) -> Packed:
    """Move the long replies of the next grades, if the collection's were made `before` that time.

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
    in_rows = own.filter(pk__lte=looked_at[-1]).filter(reply_block=None).exclude(outcome=Outcome.FAILED)
    long = in_rows.annotate(chars=Length("reply")).filter(chars__gt=LONGEST_IN_ROW)
    by_topic: dict[tuple[int, int], list[Grade]] = defaultdict(list)
    for row in long.select_for_update(of=("self",)).order_by("pk"):
        by_topic[row.config_id, row.topic_id].append(row)
    for (config_id, topic_id), rows in by_topic.items():
        texts: Texts = {_cell(row): row.reply for row in rows}
        block_of = store(config_id, topic_id, texts, at=max(row.at for row in rows))
        for row in rows:
            row.reply, row.reply_block_id = "", block_of[_cell(row)]
        Grade.objects.bulk_update(rows, ["reply", "reply_block"], batch_size=BLOCK_REPLIES)
    moved = sum(map(len, by_topic.values()))
    policy.packed_to = looked_at[-1]
    policy.save(update_fields=["packed_to"])
    return Packed(len(looked_at), moved)


def _cell(row: Grade) -> Pair:
    return row.revision_id, row.passage_id


# Dropping replies: never those that people may want to look at again.

Rule = Callable[[int, Iterable[int], Iterable[int]], Iterable[tuple[int, int]]]
"""Function from a topic, wordings and passages to those of their cells whose replies are never dropped."""


def rules() -> list[Rule]:
    """Import the rules, which are loaded only where replies are dropped."""
    return [cast("Rule", import_string(name)) for name in settings.KEPT_REPLIES]


BLOCKS_AT_ONCE = 20
"""Blocks that one call examines: some hundredths of a second each."""


class Dropped(NamedTuple):
    """The counts of one step of dropping."""

    replies: int
    steps: int
    """Blocks and grades examined; 0 where nothing is left to do now."""


def rated_cells(topic_id: int, revisions: Iterable[int], passages: Iterable[int]) -> Iterable[Pair]:
    """Return those of the cells that people ever rated or gave a verdict of."""
    place = {"topic": topic_id, "revision__in": list(revisions), "passage__in": list(passages)}
    cells: set[Pair] = set()
    for model in (HumanGrade, AnswerVerdict):
        cells |= set(model.objects.filter(**place).values_list("revision_id", "passage_id"))
    return cells


@transaction.atomic
def keep_replies(collection: Collection, days: int | None, *, by: User | None) -> ReplyPolicy:
    """Set how many days replies are kept, for ever with None. A worker drops older ones."""
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
    """Return the policies that limit how long replies are kept."""
    here = ReplyPolicy.objects.filter(collection__is_gone=False, collection__is_being_deleted=False)
    return list(here.exclude(days=None).select_related("collection").order_by("collection"))


def drop_some(policy: ReplyPolicy) -> Dropped:
    """Drop the replies of the oldest blocks that are due; those that are due in rows go to blocks first."""
    if policy.days is None:
        return Dropped(0, 0)
    before = timezone.now() - timedelta(days=policy.days)
    moved = pack_some(policy.collection, before=before)
    due = ReplyBlock.objects.filter(collection=policy.collection, dropped_at=None, at__lt=before)
    keys = list(due.order_by("at", "pk").values_list("pk", flat=True)[:BLOCKS_AT_ONCE])
    dropped = sum(map(_drop, keys))
    if dropped:
        logger.info("dropped %d replies of collection %d", dropped, policy.collection_id)
    return Dropped(dropped, moved.looked_at + len(keys))


@transaction.atomic
def _drop(pk: int) -> int:
    """Drop the replies of one block that need not stay, unless another process did."""
    block = ReplyBlock.objects.select_for_update().filter(pk=pk, dropped_at=None).first()
    if block is None:
        return 0
    texts = texts_of(block.content)
    kept = _kept(block, texts)
    block.content, block.number = content_of(kept), len(kept)
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
