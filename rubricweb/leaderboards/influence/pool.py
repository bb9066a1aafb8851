"""Whether the pool treats all runs alike: holes, teams left out, and items that a run's own model wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.measures import trec_eval
from grading.measures.diagnostics import Advantage, advantage, contributed_alone
from grading.measures.influence import ranks
from grading.types import MISSING
from rubricweb.banks.models import Item, ItemChange
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.scoring import item_scores, judged_counts, topic_labels
from rubricweb.leaderboards.items import Asked
from rubricweb.leaderboards.scored import Scored

Floats = NDArray[np.float64]
HOLE_DEPTHS = (5, 10, 20)
IMPORTED, PEOPLE = "imported", "written by people"


@dataclass(frozen=True, slots=True)
class HolesRow:
    """How much of a run nobody graded."""

    run_tag: str
    rank: int
    score: float | None
    shares: tuple[float | None, ...]
    """Ungraded share of the first k passages, by `HOLE_DEPTHS`."""
    outside: int
    """Passages of its first 20 that are not in the pool at all."""


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A run, had its team not taken part: what only they found would be ungraded."""

    team: str
    run_tag: str
    before: int
    after: int
    score: float
    score_without: float
    n_alone: int
    """Passages that only the team contributed."""

    @property
    def error(self) -> int:
        """Places by which the run would be ranked too low."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class OriginRow:
    """Items of one origin against all others, for one family of runs."""

    origin: str
    n_items: int
    family: str
    n_runs: int
    found: Advantage


def holes(made: Scored) -> list[HolesRow]:
    """By rank: ungraded passages among the first of each run."""
    shares = []
    for k in HOLE_DEPTHS:
        totals = np.zeros((2, len(made.run_tags)))
        for topic, asked in made.base.units():
            if asked.uids:
                totals += judged_counts(made.base.grades[topic.topic_id], asked.uids, k)
        graded, ranked = totals
        share: Floats = np.full(len(ranked), np.nan)
        np.divide(ranked - graded, ranked, out=share, where=ranked > 0)
        shares.append(share)
    outside = _outside(made, max(HOLE_DEPTHS))
    places, means = ranks(made.means), made.means
    rows = [
        HolesRow(
            tag, int(places[run]), _defined(means[run]), tuple(_defined(s[run]) for s in shares), outside[run]
        )
        for run, tag in enumerate(made.run_tags)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.run_tag))


def teams_left_out(made: Scored, families: Mapping[str, Sequence[str]], *, depth: int) -> list[TeamRow]:
    """Every run, ranked as if its team's own finds (to `depth`) were ungraded; the worst error first."""
    names = list(families)
    place = {tag: run for run, tag in enumerate(made.run_tags)}
    team_of = [0] * len(made.run_tags)
    for number, name in enumerate(names):
        for tag in families[name]:
            team_of[place[tag]] = number
    alone = [
        contributed_alone(topic.ranked_rows, team_of, depth=depth, n=len(topic.doc_ids))
        for topic, _ in made.base.units()
    ]
    before, means = ranks(made.means), made.means
    rows = []
    for number, name in enumerate(names):
        found = [one[number] for one in alone]
        without = _means_with_holes(made, found)
        after, n_alone = ranks(without), int(sum(one.sum() for one in found))
        for tag in families[name]:
            run = place[tag]
            scores = float(means[run]), float(without[run])
            rows.append(TeamRow(name, tag, int(before[run]), int(after[run]), *scores, n_alone))
    return sorted(rows, key=lambda row: (-abs(row.error), row.before))


def origins(made: Scored) -> dict[str, dict[int, tuple[str, ...]]]:
    """Origin (a model's name, imported, people) -> by topic id, the uids of the board's items."""
    bank = made.spec.bank
    if bank is None:
        return {}
    imported = set(
        ItemChange.objects.filter(item__bank=bank, verb=ItemChange.Verb.IMPORTED).values_list(
            "item_id", flat=True
        )
    )
    rows = Item.objects.filter(bank=bank).order_by("pk")
    fields = rows.values_list("pk", "topic_id", "revision__uid", "draft__request__llm")
    origin_of = {
        (topic_id, uid): llm or (IMPORTED if pk in imported else PEOPLE) for pk, topic_id, uid, llm in fields
    }
    found: dict[str, dict[int, tuple[str, ...]]] = {}
    for topic, asked in made.base.units():
        for uid in asked.uids:
            of_topic = found.setdefault(origin_of.get((topic.topic_id, uid), PEOPLE), {})
            of_topic[topic.topic_id] = (*of_topic.get(topic.topic_id, ()), uid)
    return found


def circularity(made: Scored, families: Mapping[str, Sequence[str]]) -> list[OriginRow]:
    """Does a family of runs gain where the items are of one origin? The largest gains first."""
    by_origin = origins(made)
    rows = []
    for origin, kept in by_origin.items():
        others = {
            topic_id: tuple(uid for uid in uids if uid not in kept.get(topic_id, ()))
            for topic_id, uids in made.base.items.items()
        }
        own, rest = made.asking(kept).table.scores, made.asking(others).table.scores
        for family, run_tags in families.items():
            is_family = np.array([tag in run_tags for tag in made.run_tags])
            found = advantage(own, rest, is_family)
            n_items = sum(len(uids) for uids in kept.values())
            if found.value is not None:
                rows.append(OriginRow(origin, n_items, family, len(run_tags), found))
    return sorted(rows, key=lambda row: -(row.found.value or 0))


def _means_with_holes(made: Scored, alone: Sequence[NDArray[np.bool_]]) -> Floats:
    """Shape (runs,): the board if these passages of each topic had no grade."""
    columns = [
        _scores_with_holes(made, topic, asked, hole)
        if asked.uids and hole.any()
        else made.table.scores[:, place]
        for place, ((topic, asked), hole) in enumerate(zip(made.base.units(), alone, strict=True))
    ]
    scores = np.column_stack(columns)
    counted = ~np.isnan(scores).any(axis=0)
    return np.round(scores[:, counted].mean(axis=1), 12) if counted.any() else made.means


def _scores_with_holes(made: Scored, topic: TopicPool, asked: Asked, hole: NDArray[np.bool_]) -> Floats:
    grades, measure = made.base.grades[topic.topic_id], made.spec.measure
    if measure.is_trec:
        lost = {doc_id for doc_id, is_lost in zip(topic.doc_ids, hole, strict=True) if is_lost}
        labels = topic_labels(grades, asked.uids, measure)
        kept = {doc_id: label for doc_id, label in labels.items() if doc_id not in lost}
        return trec_eval.topic_scores(kept, topic.scored, measure.name, level=measure.level)
    ratings = grades.matrix.columns(asked.uids).ratings.copy()
    ratings[hole] = MISSING
    return item_scores(topic, ratings, measure, asked.weights)


def _outside(made: Scored, k: int) -> list[int]:
    counts = np.zeros(len(made.run_tags), dtype=np.int64)
    for topic, asked in made.base.units():
        if asked.uids:
            counts += [sum(doc_id not in topic.row_of for doc_id in (ids or ())[:k]) for ids in topic.ranked]
    return [int(count) for count in counts]


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
