"""How far people agree with each model, from scratch and after its label was shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from grading.statistics.agreement import COEFFICIENT, ENOUGH_CELLS, Counts, cohen_kappa, contingency
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.support import TRACK_LABELS, Support, is_label
from grading.types import MISSING
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.support.labels import (
    CitationKey,
    CitingAnswer,
    PlacedLabels,
    Rows,
    Standing,
    cited,
    fits_answer,
    imported,
    placed_labels,
    raters,
    standing_events,
)
from rubricweb.support.models import LabelledAnswer, SupportJudge


@dataclass(frozen=True, slots=True)
class Condition:
    """Labels that people and a model gave to the same citations."""

    counts: tuple[tuple[int, ...], ...]
    """By the person's label, then by the model's: none, partial, full, as `labels` has them."""
    topics: int
    kappa: float
    """Cohen's; NaN without pairs, and where all labels are one."""
    interval: ConfidenceInterval
    """Interval of kappa over topics."""
    labels: tuple[Support, ...]
    """With contradicts where a person or the model says so."""

    @property
    def pairs(self) -> int:
        return sum(map(sum, self.counts))

    @property
    def confusion(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the counts from full to none, with the label of each line."""
        rows = zip(reversed(self.labels), reversed(self.counts), strict=True)
        return [(label.name.lower(), counts[::-1]) for label, counts in rows]

    @property
    def exact(self) -> float:
        """Return the share of pairs with the same label; NaN without pairs."""
        same = sum(row[place] for place, row in enumerate(self.counts))
        return same / self.pairs if self.pairs else float("nan")

    @property
    def is_too_few(self) -> bool:
        return 0 < self.pairs < ENOUGH_CELLS

    @property
    def has_kappa(self) -> bool:
        return not (self.is_too_few or np.isnan(self.kappa))


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """People and one model."""

    judge: SupportJudge
    from_scratch: Condition
    post_edited: Condition
    """The person saw this model's label first."""


def agreement(collection: Collection) -> list[JudgeAgreement]:
    """Return the agreement of people with each model, over pairs of a person and a citation.

    Imported labels of people pair with the model's at the same place of the same answer. Who saw another
    model's label before they labelled is in neither condition.
    """
    standing, of_files = standing_events(collection), _people_in_files(collection)
    if not standing and not of_files:
        return []
    return [
        _of_judge(rater.judge, placed_labels(collection, rater), standing, of_files)
        for rater in reversed(raters(collection))
        if rater.judge
    ]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Citations of equal sentences and documents that people labelled in the answers of several runs."""

    citations: int
    differing: int
    """Those that have more than one label."""


def repeated(collection: Collection) -> Repeated:
    """Return how steady imported labels of people are, which were made without knowing of the repetition."""
    runs: dict[CitationKey, set[int]] = defaultdict(set)
    labels: dict[CitationKey, set[int]] = defaultdict(set)
    for answer, row in _people_in_files(collection):
        for (md5, doc_ids), given in zip(answer.sentences, row.labels, strict=True):
            for doc_id, label in zip(doc_ids, given, strict=False):
                if md5 and is_label(label):
                    citation = CitationKey(answer.topic_id, md5, doc_id)
                    runs[citation].add(answer.run_id)
                    labels[citation].add(label)
    several = [citation for citation, of_runs in runs.items() if len(of_runs) > 1]
    return Repeated(len(several), sum(len(labels[citation]) > 1 for citation in several))


@read_once
def _people_in_files(collection: Collection) -> OfFiles:
    """Return imported labels of people with the answers that they fit."""
    answers = {answer.response_id: answer for answer in cited(collection).answers}
    rows = imported(collection).filter(judge=None).only("response", "after_prediction_of", "labels")
    return [
        (answers[row.response_id], row)
        for row in rows
        if row.response_id in answers and fits_answer(row.labels, answers[row.response_id])
    ]


Pairs = dict[int, list[tuple[int, int]]]
"""By topic: the labels of a person and of a model."""
OfFiles = list[tuple[CitingAnswer, LabelledAnswer]]


def _of_judge(
    judge: SupportJudge, labels: PlacedLabels, standing: Standing, of_files: OfFiles
) -> JudgeAgreement:
    scratch: Pairs = defaultdict(list)
    edited: Pairs = defaultdict(list)
    for citation, events in standing.items():
        rating = labels.by_citation.get(citation, MISSING)
        for event in events.values():
            pair = int(event.label or 0), rating
            if event.seen_label is None:
                scratch[citation.topic_id].append(pair)
            elif event.seen_judge_id == judge.pk:
                edited[citation.topic_id].append(pair)
    for answer, row in of_files:
        if row.after_prediction_of in ("", judge.llm, str(judge)):
            pairs = edited if row.after_prediction_of else scratch
            pairs[answer.topic_id] += _placed_pairs(row.labels, labels.at_places(answer))
    return JudgeAgreement(judge, _condition(scratch), _condition(edited))


def _placed_pairs(first: Rows, second: Rows) -> Iterator[tuple[int, int]]:
    """Yield the labels at the places that both have."""
    for row, other in zip(first, second, strict=True):
        yield from zip(row, other, strict=False)


def _condition(by_topic: Pairs) -> Condition:
    is_contradicted = any(Support.CONTRADICTS in pair for pairs in by_topic.values() for pair in pairs)
    labels = tuple(Support) if is_contradicted else TRACK_LABELS
    tables = [_table(pairs, labels) for pairs in by_topic.values() if pairs]
    tables = [table for table in tables if table.sum()]
    counts = sum(tables, np.zeros((len(labels), len(labels)), dtype=np.int64))
    return Condition(
        counts=tuple(tuple(int(count) for count in row) for row in counts),
        topics=len(tables),
        kappa=float(cohen_kappa(counts)),
        interval=statistic_interval(
            np.array(tables).reshape(-1, *counts.shape), cohen_kappa, bounds=COEFFICIENT
        ),
        labels=labels,
    )


def _table(pairs: list[tuple[int, int]], labels: Sequence[int]) -> Counts:
    """Return how often each pair of labels is there; where either is none, the pair is no pair."""
    first, second = zip(*pairs, strict=True)
    return contingency(first, second, rows=labels, columns=labels)
