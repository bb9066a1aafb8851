"""The opened topic of a comparison: what each run brings to it, and which items that covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.urls import reverse
from numpy.typing import NDArray

from grading.arrays import take_rows
from grading.response_passages import PassagesOf, response_passages
from grading.types import FAILED, MISSING, ItemKind
from rubricweb.corpus import convert
from rubricweb.corpus.models import Passage, Response, Topic
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.humans import Source
from rubricweb.grades.scoring import topic_labels
from rubricweb.leaderboards.board.items import NOTHING
from rubricweb.leaderboards.board.scored import ScoredBoard
from rubricweb.leaderboards.board.types import BoardSpec

HIDDEN = -3
"""A grade that the reader may not see before they rate its cell."""
INITIALS = {ItemKind.QUESTION: "Q", ItemKind.NUGGET: "N"}
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
    """Of the cell."""


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
class Side:
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
    sides: tuple[Side, ...]
    groups: tuple[tuple[str, tuple[tuple[ReadableItem, tuple[int, ...]], ...]], ...]
    n_items: int
    n_secret: int
    """Of these, items whose words are secret from the reader."""
    depth: int
    """So many first passages count."""


def opened_topic(scored: ScoredBoard, topic_id: int, runs: Sequence[int]) -> Opened:
    """Return what these runs, by their rows of the board, bring to a topic of the board."""
    sheet = _Sheet.of(scored, topic_id)
    best = np.array([sheet.best(run) for run in runs])
    covers = best >= sheet.spec.measure.min_grade
    groups: dict[str, list[tuple[ReadableItem, tuple[int, ...]]]] = {name: [] for name in GROUPS}
    for uid, item in sheet.readable.items():
        place = sheet.uids.index(uid)
        grades = tuple(sheet.grade(run, place, int(best[side, place])) for side, run in enumerate(runs))
        groups[_who_covers(covers[:, place].tolist())].append((item, grades))
    answers = Response.objects.filter(topic=sheet.topic, run__in=[sheet.run_pk(run) for run in runs])
    by_run = {answer.run_id: answer for answer in answers}
    sides = []
    for side, run in enumerate(runs):
        alone = covers[side] & ~np.delete(covers, side, axis=0).any(axis=0)
        shown = alone if len(runs) > 1 else covers[side]
        answer = by_run.get(sheet.run_pk(run))
        passages = tuple(sheet.passages(run, answer, shown))
        n_ranked, covered = int(sheet.pool.lengths[run]), int(covers[side].sum())
        tag = scored.run_tags[run]
        sides.append(Side(sheet.run_pk(run), tag, answer is not None, passages, n_ranked, covered))
    return Opened(
        topic=sheet.topic,
        sides=tuple(sides),
        groups=tuple((name, tuple(items)) for name, items in groups.items() if items),
        n_items=len(sheet.uids),
        n_secret=len(sheet.uids) - len(sheet.readable) if sheet.spec.bank else 0,
        depth=sheet.spec.measure.depth,
    )


@dataclass(frozen=True, eq=False)
class _Sheet:
    """A topic with the ratings that count on the board; arrays have shape (passages of the pool, items)."""

    scored: ScoredBoard
    topic: Topic
    pool: TopicPool
    uids: tuple[str, ...]
    readable: dict[str, ReadableItem]
    """By uid, in the order of the bank."""
    ratings: NDArray[np.int8]
    hidden: NDArray[np.bool_]
    labels: dict[str, int]

    @classmethod
    def of(cls, scored: ScoredBoard, topic_id: int) -> _Sheet:
        spec, pool = scored.spec, scored.base.pool.by_topic[topic_id]
        topic = spec.collection.topics.get(pk=topic_id)
        grades, uids = scored.base.grades[topic_id], scored.base.topic_items.get(topic_id, NOTHING).uids
        hidden = visibility.hidden_cells(spec.collection.pk)[topic_id]
        places = hidden.graders if spec.source is Source.GRADER else hidden.people
        labels = topic_labels(grades, uids, spec.measure) if spec.measure.uses_labels else {}
        return cls(
            scored,
            topic,
            pool,
            uids,
            {uid: item for uid, item in _readable_items(spec, topic).items() if uid in uids},
            grades.matrix.columns(uids).ratings,
            visibility.mask_of(pool, uids, hidden.named(places)),
            dict(labels),
        )

    @property
    def spec(self) -> BoardSpec:
        return self.scored.spec

    def run_pk(self, run: int) -> int:
        return self.scored.base.pool.run_pks[run]

    def rows(self, run: int) -> NDArray[np.int32]:
        """Return the rows of the first passages that count, -1 for those outside the pool."""
        n = min(self.spec.measure.depth, int(self.pool.lengths[run]))
        return self.pool.ranked_rows[run, :n]

    def best(self, run: int) -> NDArray[np.int8]:
        """Return an array of shape (items,): the best grade of the run's first passages."""
        ratings = take_rows(self.ratings, self.rows(run), outside=MISSING)
        highest = ratings.max(axis=0, initial=MISSING)
        has_failed = (ratings == FAILED).any(axis=0) & (highest < 0)
        return np.where(has_failed, FAILED, highest).astype(np.int8)

    def grade(self, run: int, place: int, best: int) -> int:
        """Return the best grade, or HIDDEN where one that the reader may not see could be better."""
        rows = self.rows(run)
        could_be_better = best < self.spec.measure.min_grade and self.hidden[rows[rows >= 0], place].any()
        return HIDDEN if could_be_better else best

    def passages(self, run: int, answer: Response | None, shown: NDArray[np.bool_]) -> Iterator[SidePassage]:
        """Yield what the run says or ranks, with the items of `shown`, each at its first passage."""
        rows, doc_ids = self.rows(run), self.pool.ranked_by(run)
        covering = take_rows(self.ratings, rows, outside=MISSING) >= self.spec.measure.min_grade
        after_all = np.ones((1, len(self.uids)), dtype=np.bool_)
        first = np.where(shown, np.vstack([covering, after_all]).argmax(axis=0), -1)
        texts, cites = self._texts(doc_ids[: len(rows)], answer)
        for place, doc_id in enumerate(texts if answer else doc_ids[: len(rows)]):
            row = self.pool.row_of.get(doc_id)
            at = doc_ids.index(doc_id) if doc_id in doc_ids else -1
            marks = () if row is None or at < 0 else tuple(self._marks(first == at, row))
            text, cited = texts.get(doc_id, ""), cites.get(doc_id, ())
            yield SidePassage(place + 1, doc_id, text, cited, self.labels.get(doc_id), marks)

    def _marks(self, is_here: NDArray[np.bool_], row: int) -> Iterator[ItemMark]:
        for uid, item in self.readable.items():
            if is_here[self.uids.index(uid)] and self.spec.bank:
                place = [self.spec.bank.pk, self.topic.pk, self.pool.passage_pks[row], item.pk]
                yield ItemMark(item, reverse("review:cell", args=place))

    def _texts(
        self, doc_ids: Sequence[str], answer: Response | None
    ) -> tuple[dict[str, str], dict[str, tuple[tuple[int, str], ...]]]:
        """Return the texts by doc id, in order, and what each cites."""
        if answer is None:
            pks = [self.pool.passage_pks[self.pool.row_of[one]] for one in doc_ids if one in self.pool.row_of]
            return dict(Passage.objects.filter(pk__in=pks).values_list("doc_id", "text")), {}
        sentences = convert.sentences(answer)
        parts = response_passages([one.text for one in sentences], PassagesOf(answer.passages_of))
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


def _readable_items(spec: BoardSpec, topic: Topic) -> dict[str, ReadableItem]:
    """Return the items of the topic that the reader may read, by uid, in the order of the bank."""
    if spec.bank is None:
        return {}
    fields = ("kind", "revision__uid", "revision__text", "pk")
    if spec.version:
        rows = spec.version.entries.filter(item__topic=topic).order_by("position", "pk")
        listed = rows.values_list("item__kind", *fields[1:3], "item")
    else:
        listed = spec.bank.items.active().filter(topic=topic).order_by("position", "pk").values_list(*fields)
    items: dict[str, ReadableItem] = {}
    numbers = dict.fromkeys(ItemKind, 0)
    for kind, uid, text, pk in listed:
        numbers[ItemKind(kind)] += 1
        name = f"{INITIALS.get(ItemKind(kind), '')}{numbers[ItemKind(kind)]}"
        items.setdefault(uid, ReadableItem(name, text or uid, pk))
    return items
