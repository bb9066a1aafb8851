"""The scores that every run would have if people labelled all citations, estimated from those that they did.

People label in one random order, so what they labelled before its first gap is a simple random sample. Scores
are sums over citations, but for the recall of the rule that takes the best citation of a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from grading.statistics.cover_sample import (
    A_RUN,
    MIN_UNITS,
    LinearEstimates,
    Units,
    expected_half_width,
    linear_estimate,
    size_for,
)
from grading.support import (
    UNKNOWN,
    JudgedCitations,
    Support,
    SupportRule,
    denominators,
    is_label,
    support_score,
)
from grading.types import MISSING
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import run_names
from rubricweb.grades.matrices import StampedCache
from rubricweb.support.board import CONTRADICTED, NAMES, Counting, Mean, Scores, answered_topics, score_table
from rubricweb.support.labelling import settings_of
from rubricweb.support.labels import (
    PEOPLE,
    CitationKey,
    Cited,
    CitingAnswer,
    SupportRater,
    cited,
    has_people_in_files,
    labels_by,
)
from rubricweb.support.models import SupportJudge

KEPT_ESTIMATES = 16
UNKNOWN_DOUBT = 0.25
"""The squared error of a model's credit, where fewer than MIN_UNITS citations tell: as if it knew nothing."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EstimatedRun:
    """One run; a score is undefined with fewer than MIN_UNITS labelled citations of the run."""

    run_id: int
    run_tag: str
    """The run tag as the reader may see it."""
    labelled: int
    precision: Mean
    recall: Mean
    contradicted: Mean | None
    """None where the labels of people cannot say so."""


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Scores by people, and the sample that they stand on."""

    rows: tuple[EstimatedRun, ...]
    """Best precision first; empty where no run has an estimate."""
    judge: SupportJudge | None
    """Whose labels make the intervals narrower."""
    labelled: int
    """Citations in the sample."""
    needed: int
    """Citations that people are asked for."""
    total: int
    enough: int
    """Citations that give the mean run A_RUN of its own."""
    half_width: float
    """About the largest half-width of a middling run's precision with `enough`; NaN without citations."""
    has_recall: bool
    """False where the best citation of a sentence counts."""
    has_contradicted: bool

    @property
    def is_open(self) -> bool:
        """Return whether people are still asked for more."""
        return self.labelled < self.needed


@dataclass(frozen=True, slots=True, eq=False)
class _Sources:
    """All that estimates depend on."""

    cited: Cited
    citations: JudgedCitations
    """What people are asked about."""
    sample: int | None
    """How many of these; None for all."""
    contradicts: bool
    """Whether people may say so."""
    counting: Counting
    names: Mapping[int, str]
    rater: SupportRater
    by_people: Mapping[CitationKey, int]
    by_model: Mapping[CitationKey, int]

    @property
    def state(self) -> Hashable:
        """Return something that is equal where nothing has changed."""
        labels = frozenset(self.by_people.items()), frozenset(self.by_model.items())
        settings = self.citations, self.sample, self.contradicts, self.counting
        return self.cited, settings, tuple(self.names.items()), self.rater, labels

    @property
    def order(self) -> tuple[CitationKey, ...]:
        return self.cited.in_random_order(self.citations)

    @property
    def labelled(self) -> list[CitationKey]:
        """Return the simple random sample that people labelled."""
        return list(takewhile(self.by_people.__contains__, self.order[: self.sample]))

    @property
    def judged(self) -> JudgedCitations:
        return JudgedCitations.FIRST if self.counting.rule.is_of_first else JudgedCitations.ALL


_kept: StampedCache[Hashable, tuple[SupportEstimates | None]] = StampedCache(KEPT_ESTIMATES)


def estimates(collection: Collection, rater: SupportRater, counting: Counting) -> SupportEstimates | None:
    """Return the estimates with the help of `rater`, if it is a model; computed once for the same labels.

    None where there is nothing to estimate: people labelled all that can be, or would have soon, they are
    asked about fewer citations of a sentence than the rule judges, or labels of theirs were imported.
    """
    chosen = settings_of(collection)
    sources = _Sources(
        cited(collection),
        JudgedCitations(chosen.citations),
        chosen.sample,
        chosen.contradicts,
        counting,
        run_names(collection, counting.runs),
        rater,
        labels_by(collection, SupportRater(PEOPLE, "")),
        labels_by(collection, rater) if rater.judge else {},
    )
    if (sources.judged, sources.citations) == (JudgedCitations.ALL, JudgedCitations.FIRST):
        return None
    if has_people_in_files(collection):
        return None
    (estimated,) = _kept.get(sources.state) or _kept.keep(sources.state, (_estimates(sources),))
    return estimated


def _estimates(sources: _Sources) -> SupportEstimates | None:
    order, sample, rule = sources.order, sources.labelled, sources.counting.rule
    if len(sample) == len(order):
        return None
    names, by_model = sources.names, sources.by_model
    citations = sources.cited.readable_citations(sources.judged)
    runs = [run_id for run_id in names if run_id in {answer.run_id for answer in sources.cited.answers}]
    answers = [answer for answer in sources.cited.answers if answer.run_id in names]
    weights, n_topics = _weights(answers, sources.counting, runs, citations)
    by_sample = {citation: sources.by_people[citation] for citation in sample}
    units = Units(
        weights["precision"],
        _credits(citations, by_model, rule.credit, unknown=Support.PARTIAL.credit),
        _credits(citations, by_sample, rule.credit, unknown=np.nan),
        np.full(len(citations), max(len(sample), 1) / len(order)),
    )
    estimated = {name: linear_estimate(replace(units, weights=weights[name])) for name in NAMES}
    if sources.contradicts or Support.CONTRADICTS in by_sample.values():
        by_grader = _credits(citations, by_model, _contradicted, unknown=0.0)
        human = _credits(citations, by_sample, _contradicted, unknown=np.nan)
        contradicted = replace(units, weights=weights[CONTRADICTED], grader=by_grader, human=human)
        estimated[CONTRADICTED] = linear_estimate(contradicted)
    rows = [
        _run(run_id, names[run_id], estimated, row, n_topics)
        for row, run_id in enumerate(runs)
        if not np.isnan(estimated["precision"].value[row])
    ]
    chance, half_width = _cost(units)
    if not rows and chance >= 1:
        return None
    return SupportEstimates(
        tuple(sorted(rows, key=lambda row: (-row.precision.value, row.run_tag))),
        sources.rater.judge,
        len(sample),
        min(sources.sample or len(order), len(order)),
        len(order),
        round(chance * len(order)),
        half_width,
        rule is not SupportRule.POOLED,
        CONTRADICTED in estimated,
    )


def _run(
    run_id: int,
    run_tag: str,
    estimated: Mapping[str, LinearEstimates],
    row: int,
    n_topics: Mapping[str, list[int]],
) -> EstimatedRun:
    """Return the estimates of the run in a row, by the name of the score."""
    means = {name: _mean(of_score, row, n_topics[name]) for name, of_score in estimated.items()}
    n_rated = int(estimated["precision"].n_rated[row])
    return EstimatedRun(
        run_id, run_tag, n_rated, means["precision"], means["recall"], means.get(CONTRADICTED)
    )


def _mean(estimates_of: LinearEstimates, row: int, n_topics: list[int]) -> Mean:
    return Mean(
        float(estimates_of.value[row]),
        float(estimates_of.low[row]),
        float(estimates_of.high[row]),
        n_topics[row],
    )


def _weights(
    answers: list[CitingAnswer], counting: Counting, runs: list[int], citations: list[CitationKey]
) -> tuple[dict[str, Floats], dict[str, list[int]]]:
    """Return what a credit of 1 adds to each score, shape (runs, citations), and each run's topics by score.

    The scores and topics are those of the board where all citations with a text are labelled.
    """
    rule = counting.rule
    judged = JudgedCitations.FIRST if rule.is_of_first else JudgedCitations.ALL
    row, place = ({key: number for number, key in enumerate(each)} for each in (runs, citations))
    weights = {name: np.zeros((len(runs), len(citations))) for name in (*NAMES, CONTRADICTED)}
    scores: Scores = {}
    for answer in answers:
        sentences = answer.citations(judged)
        labels = [[0 if citation in place else MISSING for citation in sentence] for sentence in sentences]
        score = support_score(labels, rule, unjudged=UNKNOWN)
        scores.setdefault(answer.run_id, {})[answer.topic_id] = score
        divisors = denominators(labels, rule)
        n_judged = sum(map(len, divisors.judged))
        for sentence, places in zip(sentences, divisors.judged, strict=True):
            share = 1 / len(places) if places and rule is SupportRule.ALL else 1.0
            for number in places:
                at = row[answer.run_id], place[sentence[number]]
                weights["precision"][at] += share / divisors.precision
                weights["recall"][at] += share / divisors.recall
                weights[CONTRADICTED][at] += 1 / n_judged
    topics = answered_topics(scores)
    n_topics = {
        name: np.count_nonzero(~np.isnan(score_table(scores, runs, topics, name, counting)), axis=1)
        for name in weights
    }
    per_run = {name: each / np.maximum(n_topics[name], 1)[:, np.newaxis] for name, each in weights.items()}
    return per_run, {name: counts.tolist() for name, counts in n_topics.items()}


def _credits(
    citations: list[CitationKey],
    labels: Mapping[CitationKey, int],
    credit: Callable[[int], float],
    *,
    unknown: float,
) -> Floats:
    """Return an array of shape (citations,)."""
    labels_of = (labels.get(citation, MISSING) for citation in citations)
    return np.array([credit(label) if is_label(label) else unknown for label in labels_of])


def _contradicted(label: int) -> float:
    return float(label == Support.CONTRADICTS)


def _cost(units: Units) -> tuple[float, float]:
    """Return the share of citations to label, and with it the half-width of a middling run's precision.

    That share gives the mean run A_RUN citations of its own.
    """
    errors = (units.human - units.grader)[~np.isnan(units.human)]
    doubt = min(float(np.mean(errors**2)), UNKNOWN_DOUBT) if len(errors) >= MIN_UNITS else UNKNOWN_DOUBT
    doubts = np.full(len(units.grader), doubt)
    chance = size_for(units.weights, doubts, A_RUN) / len(doubts)
    return chance, expected_half_width(units.weights, doubts, np.full(len(doubts), chance))
