"""What saving an item would cost, and a bound on what it could change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext
from numpy.typing import NDArray

from grading.formats.ids import item_id
from grading.statistics import influence
from grading.types import MISSING, ItemKind, Purpose
from rubricweb.banks.models import AnswerKey, Bank, Item
from rubricweb.core.formatting import counted, number
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades.configs import kinds_of, planned_configs
from rubricweb.grades.defaults import ON_ITEMS
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import ExpectedTime, dollars_of_wording, expected_time
from rubricweb.grades.matrices import TopicGrades, matrices, topic_grades
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scales import default_min_grade
from rubricweb.grades.scoring import MeasureSpec, Scores, Uids, score_table
from rubricweb.grades.selectors import graded_items
from rubricweb.jobs.progress import Price, in_words

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class UnsavedItem:
    """The text of a new item, or (with `item`) of the rewording of one, not saved yet."""

    bank: Bank
    topic: Topic
    kind: ItemKind
    text: str
    facet_id: str = ""
    item: Item | None = None

    @property
    def uid(self) -> str:
        return item_id(self.topic.query_id, self.text, self.facet_id)


@dataclass(frozen=True, slots=True)
class Impact:
    """The price of grading it, and how far its grades could reach."""

    passages: int
    known: int
    """Passages that are graded for this wording already."""
    time: ExpectedTime | None
    """Of grading with all of the grader's prompts; None where nobody can tell."""
    dollars: float | None
    """Likewise, by estimate; None without a price."""
    runs: int
    could_move: tuple[str, ...]
    """Runs whose rank on the default board some outcome of the grading changes."""
    is_twin: bool
    """The bank has this item already."""

    @property
    def to_grade(self) -> int:
        return self.passages - self.known

    @property
    def seconds(self) -> float | None:
        """With loading the models; None without a measured rate."""
        return None if self.time is None or self.time.is_guess else self.time.loading + self.time.grading

    @property
    def time_words(self) -> str:
        return in_words(self.time.range) if self.time else ""

    @property
    def in_words(self) -> str:
        """One sentence to announce."""
        counts = {
            "to_grade": counted(self.to_grade, "passage"),
            "known": number(self.known),
            "moving": number(len(self.could_move)),
            "runs": number(self.runs),
        }
        if self.could_move:
            sentence = gettext(
                "%(to_grade)s to grade, %(known)s already graded; "
                "up to %(moving)s of %(runs)s runs could move."
            )
        else:
            sentence = gettext("%(to_grade)s to grade, %(known)s already graded; no run could move.")
        return sentence % counts

    @property
    def dollars_words(self) -> str:
        return "" if self.dollars is None else Price(self.to_grade, None, None, self.dollars).dollars_words


def impact(draft: UnsavedItem) -> Impact:
    """Return the passages to grade, the time, and the runs that could move, for the graders that Re-grade
    runs.
    """
    pool = collection_pool(draft.bank.collection)
    configs = [config for config in planned_configs(draft.bank.collection) if _grades(config, draft)]
    rating = [config for config in configs if config.purpose in ON_ITEMS]
    passages = len(pool.by_topic[draft.topic.pk].doc_ids)
    known = passages - max((len(_to_grade(config, draft, pool)) for config in rating), default=passages)
    others = (
        draft.bank.items.active().for_topic(draft.topic).exclude(pk=draft.item.pk if draft.item else None)
    )
    return Impact(
        passages=passages,
        known=known,
        time=_time(configs, draft, pool),
        dollars=_dollars(configs, draft, pool),
        runs=len(pool.run_tags),
        could_move=could_move(draft, rating[0], pool) if rating else (),
        is_twin=others.filter(revision__uid=draft.uid, kind=draft.kind).exists(),
    )


def _grades(config: GraderConfig, draft: UnsavedItem) -> bool:
    """Whether the config grades this kind; one that compares with accepted answers needs some."""
    if draft.kind not in kinds_of(config):
        return False
    keys = AnswerKey.objects.filter(revision__topic=draft.topic, revision__uid=draft.uid)
    return config.purpose != Purpose.VERIFY or keys.exists()


def _to_grade(config: GraderConfig, draft: UnsavedItem, pool: CollectionPool) -> list[int]:
    """Return the keys of the passages without a grade, failed ones aside."""
    pooled = pool.by_topic[draft.topic.pk].passage_pks
    column = topic_grades(config, pool, draft.topic.pk).matrix.columns((draft.uid,)).ratings[:, 0]
    return [pk for pk, rating in zip(pooled, column.tolist(), strict=True) if rating == MISSING]


def _time(configs: list[GraderConfig], draft: UnsavedItem, pool: CollectionPool) -> ExpectedTime | None:
    work = [(config, len(_to_grade(config, draft, pool))) for config in configs]
    return expected_time([(config, cells) for config, cells in work if cells], monitor.workers().beats)


def _dollars(configs: list[GraderConfig], draft: UnsavedItem, pool: CollectionPool) -> float | None:
    """None if no config has a price."""
    prices = [
        dollars_of_wording(config, draft.topic, draft.text, _to_grade(config, draft, pool))
        for config in configs
    ]
    known = [dollars for dollars in prices if dollars is not None]
    return sum(known) if known else None


def could_move(draft: UnsavedItem, config: GraderConfig, pool: CollectionPool) -> tuple[str, ...]:
    """Runs whose rank can change, whatever the missing grades of the draft turn out to be.

    Exact for each pair of runs: with c_i = 1 if run i covers the draft, (c_i, c_j) takes every value that
    some outcome of the cells in their first k passages gives.
    """
    measure = MeasureSpec(min_grade=default_min_grade(config))
    grades = matrices(config, pool)
    now = graded_items(config, draft.bank, draft.bank.collection)
    rest = _other_uids(draft, config)
    if draft.uid in rest or not pool.run_tags:
        return ()
    uids: Uids = (*rest, draft.uid)
    today = score_table(pool, grades, now, measure).means()
    floor = score_table(pool, grades, {**now, draft.topic.pk: uids}, measure).means()
    topics = len({topic_id for topic_id, items in now.items() if items} | {draft.topic.pk})
    sure, open_cells = _cells_in_reach(grades[draft.topic.pk], draft.uid, measure)
    moving = _undecided(today, floor, 1 / (len(uids) * topics), sure, open_cells)
    return tuple(tag for tag, moves in zip(pool.run_tags, moving, strict=True) if moves)


def _other_uids(draft: UnsavedItem, config: GraderConfig) -> Uids:
    """The wordings of this topic that the config grades, without the item that is being reworded."""
    items = draft.bank.all_items.active().of_kinds(kinds_of(config)).for_topic(draft.topic)
    if draft.item:
        items = items.exclude(pk=draft.item.pk)
    return tuple(dict.fromkeys(items.values_list("revision__uid", flat=True)))


def _cells_in_reach(grades: TopicGrades, uid: str, measure: MeasureSpec) -> tuple[Mask, Mask]:
    """By run: whether it covers the item already; and (runs, passages) the missing cells in its first k."""
    column = grades.matrix.columns((uid,)).ratings[:, 0]
    in_reach = grades.pool.top(measure.cutoff)
    sure: Mask = np.asarray((in_reach & (column >= measure.min_grade)).any(axis=1))
    return sure, in_reach & (column == MISSING)


def _undecided(today: Scores, floor: Scores, step: float, sure: Mask, open_cells: Mask) -> Mask:
    """Shape (runs,): whether for some other run "it is ahead of me" can differ from today.

    `floor` is each run's mean if no missing cell covers; covering the item adds `step`. A run that covers it
    already has that in its floor.
    """
    cells = open_cells.astype(np.int32)
    can = ~sure & open_cells.any(axis=1)
    alone = (cells.sum(axis=1)[:, np.newaxis] - cells @ cells.T) > 0  # i has an open cell that j lacks
    ahead = _ahead(today, today)
    moves = np.zeros((len(today), len(today)), dtype=np.bool_)
    neither = np.ones_like(moves)
    both = can[:, np.newaxis] & can[np.newaxis, :]
    only_first = can[:, np.newaxis] & (alone | ~can[np.newaxis, :])
    for feasible, first, second in ((neither, 0, 0), (both, 1, 1), (only_first, 1, 0), (only_first.T, 0, 1)):
        then = _ahead(floor + first * step, floor + second * step)
        moves |= feasible & (then != ahead)
    return np.asarray(moves.any(axis=0))


def _ahead(first: Scores, second: Scores) -> Mask:
    """Shape (runs, runs): whether run i, scored by `first`, is ahead of run j, scored by `second`."""
    i, j = (
        np.round(np.nan_to_num(scores, nan=-np.inf), influence.TIED_DECIMALS) for scores in (first, second)
    )
    ahead: Mask = i[:, np.newaxis] > j[np.newaxis, :]
    return ahead
