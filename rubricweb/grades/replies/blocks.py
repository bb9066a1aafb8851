"""Write and read raw replies: a short one is a column of its grade, a long one lies in a block with others.

Compressed together, replies of a model take a fraction of their length. A grade without a block has its reply
in `Grade.reply`, whatever its length: so it is in rows of earlier versions, and of failed grades always.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import QuerySet
from django.utils import timezone

from grading.types import Outcome
from rubricweb.core import database, packed
from rubricweb.corpus.models import Topic
from rubricweb.grades.models import Grade
from rubricweb.grades.replies.models import ReplyBlock

logger = logging.getLogger(__name__)

LONGEST_IN_ROW = 32
"""Characters. A shorter reply takes no more room than the name of its block and its cell there."""
BLOCK_REPLIES = 256
BLOCK_CHARS = 250_000
"""A block is full with so many, or with its first reply that goes beyond: to show one, a block is read."""
KEY = "replies"
"""To `core.packed`, which tells bytes of other things by it."""

Cell = tuple[int, int]
"""(wording, passage), by primary key."""
Texts = dict[Cell, str]


@dataclass(frozen=True, slots=True)
class RawReply:
    """What is kept of a reply."""

    text: str
    dropped_at: datetime | None = None
    """When the policy of its collection dropped it; None unless it did."""


def is_long(outcome: str, reply: str) -> bool:
    """Whether a grade's column `reply` belongs into a block; of a failed grade it is the reason."""
    return len(reply) > LONGEST_IN_ROW and outcome != Outcome.FAILED


def store(config_id: int, topic_id: int, replies: Texts, *, at: datetime | None = None) -> dict[Cell, int]:
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
    wanted = {row.reply_block_id for row in rows if row.reply_block_id is not None}
    blocks = ReplyBlock.objects.in_bulk(wanted) if wanted else {}
    texts = {pk: texts_of(block.content) for pk, block in blocks.items()}
    return {row.pk: _raw_reply(row, blocks, texts) for row in rows}


def remove_unused(config_id: int, topic_id: int, blocks: Iterable[int]) -> None:
    """Delete those of the blocks to which no grade of this grader and topic belongs any more."""
    used = Grade.objects.filter(config=config_id, topic=topic_id).exclude(reply_block=None)
    ReplyBlock.objects.filter(pk__in=set(blocks)).exclude(pk__in=used.values("reply_block")).delete()


def content_of(texts: Texts) -> bytes:
    """Return the bytes from which `texts_of` reads them again."""
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
    """By passage: replies to one passage have many words in common, and take a fraction of the room then."""
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


def _by_passage(cell: Cell) -> Cell:
    return cell[1], cell[0]


def _raw_reply(row: Grade, blocks: Mapping[int, ReplyBlock], texts: Mapping[int, Texts]) -> RawReply:
    if row.reply_block_id is None:
        return RawReply(row.answer if row.outcome == Outcome.FAILED else row.reply)
    text = texts.get(row.reply_block_id, {}).get((row.revision_id, row.passage_id), "")
    block = blocks.get(row.reply_block_id)
    return RawReply(text, block.dropped_at if block and not text else None)
