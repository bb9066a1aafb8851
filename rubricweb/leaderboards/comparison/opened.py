"""The opened topic of a comparison: what each run brings to it, and which items that covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.urls import reverse
from numpy.typing import NDArray

from grading.arrays import take_rows
from grading.types import FAILED, MISSING, ItemKind
from rubricweb.banks.models import Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus import convert
from rubricweb.corpus.models import Passage, Response, Topic
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.scoring import topic_labels
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import NOTHING

HIDDEN = -3
"""A grade that the reader may not see before they rate its cell."""
INITIALS = {ItemKind.QUESTION: "Q", ItemKind.NUGGET: "N"}
FIRST_CHARACTERS = 500
"""How many characters of each passage of a ranking are shown."""
GROUPS = ("a", "b", "both", "neither")
"""Which sides cover an item."""


@dataclass(frozen=True, slots=True)
class ReadableItem:
    """An item whose words the reader may read."""

    name: str
    """Q for questions and N for nuggets, numbered as the topic has them: Q1, N2."""
    text: str
    pk: int


@dataclass(frozen=True, slots=True)
class ItemMark:
    """An item beside the first passage of the only side that covers it."""

    item: ReadableItem
    href: str
    """The address of the cell."""


@dataclass(frozen=True, slots=True)
class SidePassage:
    rank: int
    doc_id: str
    text: str
    cites: tuple[tuple[int, str], ...]
    """Pairs of number, from 1 in the order of the answer, and doc id."""
    label: int | None
    """By measures of labels; None where it has none."""
    marks: tuple[ItemMark, ...]


@dataclass(frozen=True, slots=True)
class RunOnTopic:
    """One run on the topic: its answer, or the first passages that it ranks."""

    run_id: int
    run_tag: str
    is_answer: bool
    passages: tuple[SidePassage, ...]
    n_ranked: int
    covered: int

    @property
    def n_words(self) -> int:
        return sum(len(passage.text.split()) for passage in self.passages)

    @property
    def n_cites(self) -> int:
        return len({cite for passage in self.passages for cite in passage.cites})


@dataclass(frozen=True, slots=True)
class Opened:
    """`groups` are pairs of which side covers the items, of GROUPS, and the items with a grade a side."""

    topic: Topic
    sides: tuple[RunOnTopic, ...]
    groups: tuple[tuple[str, tuple[tuple[ReadableItem, tuple[int, ...]], ...]], ...]
    n_items: int
    n_secret: int
    """Items among them whose wording is secret from the reader."""
    depth: int
    """So many first passages count."""


def opened_topic(scored: ScoredBoard, topic_id: int, runs: Sequence[int]) -> Opened:
    """Return what these runs, by their rows of the board, bring to a topic of the board."""
    brought = _Brought.of(scored, topic_id)
    sheet, spec = brought.sheet, scored.spec
    covers = np.array([sheet.covering(run).any(axis=0) for run in runs])
    grades = [sheet.grades(run) for run in runs]
    groups: dict[str, list[tuple[ReadableItem, tuple[int, ...]]]] = {name: [] for name in GROUPS}
    for uid, item in brought.readable.items():
        who = _who_covers(covers[:, sheet.uids.index(uid)].tolist())
        groups[who].append((item, tuple(of_run[uid] for of_run in grades)))
    pks = [sheet.run_pk(run) for run in runs]
    answers = {row.run_id: row for row in _responses(topic_id, tuple(pks))}
    sides = []
    for side, (run, pk) in enumerate(zip(runs, pks, strict=True)):
        alone = covers[side] & ~np.delete(covers, side, axis=0).any(axis=0)
        answer = answers.get(pk)
        passages = tuple(brought.passages(run, answer, alone))
        n_ranked, covered = int(sheet.pool.lengths[run]), int(covers[side].sum())
        sides.append(RunOnTopic(pk, scored.run_tags[run], answer is not None, passages, n_ranked, covered))
    return Opened(
        topic=brought.topic,
        sides=tuple(sides),
        groups=tuple((name, tuple(items)) for name, items in groups.items() if items),
        n_items=len(sheet.uids),
        n_secret=len(sheet.uids) - len(brought.readable) if spec.bank else 0,
        depth=spec.measure.depth,
    )


@dataclass(frozen=True, eq=False)
class TopicSheet:
    """A topic with the ratings that count on a board; arrays have shape (passages of the pool, items)."""

    scored: ScoredBoard
    pool: TopicPool
    uids: tuple[str, ...]
    ratings: NDArray[np.int8]
    hidden: NDArray[np.bool_]

    @classmethod
    def of(cls, scored: ScoredBoard, topic_id: int) -> TopicSheet:
        spec, pool = scored.spec, scored.base.pool.by_topic[topic_id]
        uids = scored.base.topic_items.get(topic_id, NOTHING).uids
        hidden = visibility.hidden_cells(spec.collection.pk)[topic_id]
        places = hidden.graders if spec.source is RatingSource.GRADER else hidden.ratings
        ratings = scored.base.grades[topic_id].matrix.columns(uids).ratings
        return cls(scored, pool, uids, ratings, visibility.mask_of(pool, uids, hidden.named(places)))

    @property
    def spec(self) -> BoardSpec:
        return self.scored.spec

    def run_pk(self, run: int) -> int:
        return self.scored.base.pool.run_pks[run]

    def rows(self, run: int) -> NDArray[np.int32]:
        """Return the rows of the first passages that count, -1 for those outside the pool."""
        n = min(self.spec.measure.depth, int(self.pool.lengths[run]))
        return self.pool.ranked_rows[run, :n]

    def covering(self, run: int) -> NDArray[np.bool_]:
        """Return an array of shape (first passages, items): whether the passage covers the item."""
        return take_rows(self.ratings, self.rows(run), outside=MISSING) >= self.spec.measure.min_grade

    def grades(self, run: int) -> dict[str, int]:
        """Return the best grades by uid, HIDDEN where one that the reader may not see could be better."""
        rows = self.rows(run)
        ratings = take_rows(self.ratings, rows, outside=MISSING)
        best = ratings.max(axis=0, initial=MISSING)
        best = np.where((ratings == FAILED).any(axis=0) & (best < 0), FAILED, best)
        could_be_better = self.hidden[rows[rows >= 0]].any(axis=0) & (best < self.spec.measure.min_grade)
        return dict(zip(self.uids, np.where(could_be_better, HIDDEN, best).tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Brought:
    """What runs bring to a topic."""

    sheet: TopicSheet
    topic: Topic
    readable: dict[str, ReadableItem]
    """By uid, in the order of the bank."""
    labels: dict[str, int]

    @classmethod
    def of(cls, scored: ScoredBoard, topic_id: int) -> _Brought:
        sheet = TopicSheet.of(scored, topic_id)
        spec, grades = scored.spec, scored.base.grades[topic_id]
        [topic] = _topics(spec.collection.pk, topic_id)
        readable = {uid: item for uid, item in _readable_items(spec, topic).items() if uid in sheet.uids}
        labels = topic_labels(grades, sheet.uids, spec.measure) if spec.measure.uses_labels else {}
        return cls(sheet, topic, readable, dict(labels))

    def passages(
        self, run: int, answer: Response | None, counted: NDArray[np.bool_]
    ) -> Iterator[SidePassage]:
        """Yield what the run says or ranks, with the items of `counted`, each at its first passage."""
        pool, covering = self.sheet.pool, self.sheet.covering(run)
        doc_ids = pool.ranked_by(run)[: len(covering)]
        after_all = np.ones((1, covering.shape[1]), dtype=np.bool_)
        first = np.where(counted, np.vstack([covering, after_all]).argmax(axis=0), -1)
        texts, cites = self._texts(doc_ids, answer)
        for rank, doc_id in enumerate(texts if answer else doc_ids, 1):
            is_here = first == (doc_ids.index(doc_id) if doc_id in doc_ids else len(doc_ids))
            marks = tuple(self._marks(is_here, pool.row_of[doc_id])) if doc_id in pool.row_of else ()
            text, cited = texts.get(doc_id, ""), cites.get(doc_id, ())
            yield SidePassage(rank, doc_id, text, cited, self.labels.get(doc_id), marks)

    def _marks(self, is_here: NDArray[np.bool_], row: int) -> Iterator[ItemMark]:
        for uid, item in self.readable.items():
            if is_here[self.sheet.uids.index(uid)] and self.sheet.spec.bank:
                place = [self.sheet.spec.bank.pk, self.topic.pk, self.sheet.pool.passage_pks[row], item.pk]
                yield ItemMark(item, reverse("review:cell", args=place))

    def _texts(
        self, doc_ids: Sequence[str], answer: Response | None
    ) -> tuple[dict[str, str], dict[str, tuple[tuple[int, str], ...]]]:
        """Return the texts by doc id, in order, and what each cites."""
        if answer is None:
            pool = self.sheet.pool
            pks = tuple(pool.passage_pks[pool.row_of[doc_id]] for doc_id in doc_ids if doc_id in pool.row_of)
            return dict(_begun(pks)) if pks else {}, {}
        sentences = convert.sentences(answer)
        parts = convert.response_passages(answer, doc_ids)
        numbers: dict[str, int] = {}
        cites = {
            part.doc_id: tuple(
                (numbers.setdefault(citation.doc_id, len(numbers) + 1), citation.doc_id)
                for sentence in sentences[part.first : part.last + 1]
                for citation in sentence.citations or ()
            )
            for part in parts
        }
        return {part.doc_id: part.text for part in parts}, cites


def _who_covers(covering: Sequence[bool]) -> str:
    if all(covering):
        return "both" if len(covering) > 1 else "a"
    return GROUPS[covering.index(True)] if any(covering) else "neither"


@compiled_once
def _topics(collection: int, topic: int) -> QuerySet[Topic]:
    return Topic.objects.filter(collection=collection, pk=topic)


@compiled_once
def _responses(topic: int, runs: tuple[int, ...]) -> QuerySet[Response]:
    return Response.objects.filter(topic=topic, run__in=runs)


@compiled_once
def _begun(pks: tuple[int, ...]) -> QuerySet[Passage, Any]:
    passages = Passage.objects.filter(pk__in=pks).annotate(start=Left("text", FIRST_CHARACTERS))
    return passages.values_list("doc_id", "start")


@compiled_readable
def _active_items(bank: int, topic: int) -> QuerySet[Item, Any]:
    items = Item.including_secret.active().filter(bank=bank, topic=topic).order_by("position", "pk")
    return items.values_list("kind", "revision__uid", "revision__text", "pk")


def _readable_items(spec: BoardSpec, topic: Topic) -> dict[str, ReadableItem]:
    """Return the items of the topic that the reader may read, by uid, in the order of the bank."""
    if spec.bank is None:
        return {}
    if spec.version:
        rows = spec.version.entries.filter(item__topic=topic).order_by("position", "pk")
        listed = list(rows.values_list("item__kind", "revision__uid", "revision__text", "item"))
    else:
        listed = _active_items(spec.bank.collection_id, spec.bank.pk, topic.pk)
    items: dict[str, ReadableItem] = {}
    numbers = dict.fromkeys(ItemKind, 0)
    for kind, uid, text, pk in listed:
        numbers[ItemKind(kind)] += 1
        name = f"{INITIALS.get(ItemKind(kind), '')}{numbers[ItemKind(kind)]}"
        items.setdefault(uid, ReadableItem(name, text or uid, pk))
    return items
