"""Runs by weighted precision and recall, with intervals over topics, on their own board and as columns.

As columns of a leaderboard the measures have names such as `support/precision`. `support/` is people where
labels of theirs were imported, else the model that labelled last, or people where none did;
`support-judge-7/` one model, `support-people/` people. What follows the score's name is the rule: none for
the first citation of each sentence, `_all` for the mean of all, `_hard`, `_pooled`. `contradicted` is the
share of labelled citations whose passage says the opposite; less is better.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import undefined_last
from grading.statistics.mean_intervals import mean_intervals
from grading.support import UNKNOWN, JudgedCitations, SupportRule, SupportScore, support_score
from rubricweb.core.formatting import counted, rank_span
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RunSlice, run_names
from rubricweb.grades.matrices import StampedCache
from rubricweb.grades.scoring import RankIntervals, rank_intervals
from rubricweb.support.labels import (
    PlacedLabels,
    SupportRater,
    cited,
    may_contradict,
    placed_labels,
    raters,
)

SOURCE = "support"
KEPT_BOARDS = 16
"""Boards that are kept, each by all that it depends on."""
NAMES = ("precision", "recall")
CONTRADICTED = "contradicted"
"""The name of the score of which less is better. A board has it where the labels may say so."""
SUFFIXES = {
    "": SupportRule.FIRST,
    **{f"_{rule}": rule for rule in SupportRule if rule is not SupportRule.FIRST},
}
SCORES = {
    f"{name}{suffix}": (name, rule) for name in (*NAMES, CONTRADICTED) for suffix, rule in SUFFIXES.items()
}
"""Name after the slash -> the score, and its rule."""
RULES = {
    SupportRule.FIRST: "the first citation of each sentence",
    SupportRule.ALL: "the mean of a sentence's citations",
    SupportRule.HARD: "the first citation, full support only",
    SupportRule.POOLED: "up to three citations, pooled",
}
DENOMINATORS = {"precision": "sentences with a label", "recall": "sentences"}
IN_ORDER = {CONTRADICTED: "Fewest contradicted"}
"""What the first run by a score has, where the name of the score does not say so."""


@dataclass(frozen=True, slots=True)
class Counting:
    """How answers are scored, and what a run's mean is over."""

    rule: SupportRule = SupportRule.FIRST
    unjudged_is_zero: bool = True
    """Whether an answer of which a file says that nothing is judged counts 0; else it has no score."""
    lacking_is_zero: bool = True
    """Whether a topic that a run does not answer counts 0; else it is left out."""
    runs: RunSlice | None = None
    """The runs that are scored; None for all."""

    def includes(self, run_id: int) -> bool:
        return self.runs is None or run_id in self.runs.run_pks


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a run over its topics, as `score_table` has them; NaN for runs without any score."""

    value: float
    low: float
    high: float
    """NaN where `mean_intervals` has none."""
    topics: int
    possible: tuple[int, int] | None = None
    """First and last rank that the topics leave possible; None without a value or with too few topics."""

    @property
    def is_defined(self) -> bool:
        return not np.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        return not np.isnan(self.low)

    @property
    def ranks(self) -> str:
        return rank_span(*self.possible) if self.possible else ""


@dataclass(frozen=True, slots=True)
class SupportRow:
    """One run."""

    run_id: int
    run_tag: str
    """The run tag as the reader may see it."""
    precision: Mean
    recall: Mean
    contradicted: Mean | None
    """None where the labels cannot say so."""
    answers: int
    scored: int
    """Answers that have a recall."""
    sentences: int
    judged: int
    missing: int
    failed: int
    unjudged: int
    """Answers that cite something, of which nothing is judged."""


@dataclass(frozen=True, slots=True)
class SupportBoard:
    """Best precision first; runs without a score last."""

    rows: tuple[SupportRow, ...]
    unsaid: int
    """Responses whose file does not say what they cite."""
    unreadable: int
    """Citations without a label whose sentence or document has no text here."""
    unfitting: int
    """Imported labels of answers that have changed since."""
    ahead: tuple[str, ...]
    """A sentence a score, on who is clearly ahead."""
    has_contradicted: bool
    """Whether the labels may say that a passage contradicts a sentence."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its scores."""
        return (*NAMES, CONTRADICTED) if self.has_contradicted else NAMES

    @property
    def judged(self) -> int:
        return sum(row.judged for row in self.rows)

    @property
    def missing(self) -> int:
        return sum(row.missing for row in self.rows)

    @property
    def failed(self) -> int:
        return sum(row.failed for row in self.rows)

    @property
    def unjudged(self) -> int:
        return sum(row.unjudged for row in self.rows)


_kept: StampedCache[Hashable, SupportBoard] = StampedCache(KEPT_BOARDS)
Scores = dict[int, dict[int, SupportScore]]
"""Scores by run and topic."""


def scores_of(collection: Collection, rater: SupportRater, counting: Counting) -> Scores:
    """Return the score of every answer of the runs."""
    return _scored(collection, placed_labels(collection, rater), counting)


def _scored(collection: Collection, labels: PlacedLabels, counting: Counting) -> Scores:
    """Return the scores by these labels; labels made here that are all missing are no 0, but unknown."""
    scores: Scores = {}
    for answer in cited(collection).answers:
        if not counting.includes(answer.run_id):
            continue
        is_zero = counting.unjudged_is_zero and labels.is_imported(answer)
        score = support_score(labels.of(answer), counting.rule, unjudged=0.0 if is_zero else UNKNOWN)
        scores.setdefault(answer.run_id, {})[answer.topic_id] = score
    return scores


def board(collection: Collection, rater: SupportRater, counting: Counting) -> SupportBoard:
    """Return every run that has an answer whose citations are known; computed once for the same labels."""
    labels = placed_labels(collection, rater)
    names = run_names(collection, counting.runs)
    has_contradicted = may_contradict(collection, rater, labels)
    key = cited(collection), labels.content, tuple(names.items()), counting, has_contradicted
    return _kept.get(key) or _kept.keep(key, _board(collection, labels, names, counting, has_contradicted))


def _board(
    collection: Collection,
    labels: PlacedLabels,
    names: Mapping[int, str],
    counting: Counting,
    has_contradicted: bool,
) -> SupportBoard:
    scores = _scored(collection, labels, counting)
    labelled = [run_id for run_id in names if run_id in scores]
    topics = answered_topics(scores)
    kept = (*NAMES, CONTRADICTED) if has_contradicted else NAMES
    tables = {name: score_table(scores, labelled, topics, name, counting) for name in kept}
    intervals = {
        name: rank_intervals(0.0 - table if name == CONTRADICTED else table) for name, table in tables.items()
    }
    means = {name: _means(table, intervals[name]) for name, table in tables.items()}
    rows = [
        _row(
            run_id,
            names[run_id],
            list(scores[run_id].values()),
            {name: of_runs[place] for name, of_runs in means.items()},
        )
        for place, run_id in enumerate(labelled)
    ]
    rows.sort(key=lambda row: (-undefined_last(row.precision.value), row.run_tag))
    tags = [names[run_id] for run_id in labelled]
    return SupportBoard(
        tuple(rows),
        sum(cited(collection).unsaid[run_id] for run_id in names),
        _unreadable(collection, labels, counting),
        sum(labels.unfitting[run_id] for run_id in names),
        tuple(filter(None, (_ahead(name, ranked, tags) for name, ranked in intervals.items()))),
        has_contradicted,
    )


def _ahead(name: str, ranked: RankIntervals | None, tags: Sequence[str]) -> str:
    """Return who is first, and how many are not clearly behind; empty where nothing is scored."""
    if ranked is None or not ranked.order.has_mean.any():
        return ""
    name = IN_ORDER.get(name, name.capitalize())
    if not ranked.can_tell:
        return f"{name}: with {counted(ranked.topics, 'topic')} no run can be clearly ahead."
    first = [tags[run] for run in ranked.order.first]
    more = int(ranked.order.not_behind_first.sum()) - len(first)
    if len(first) > 1:
        return f"{name}: {len(first)} runs are first with the same score."
    behind = (
        f"{more} more {'is' if more == 1 else 'are'} not clearly behind" if more else "clearly ahead of all"
    )
    return f"{name}: {first[0]} is first, {behind}."


def score_table(
    scores: Scores, runs: Sequence[int], topics: Sequence[int], name: str, counting: Counting
) -> NDArray[np.float64]:
    """Return the scores of this name, shape (runs, topics), in the order of these keys.

    NaN for topics on which no run has a score, for runs without any, and for answers whose score is unknown.
    A run that has scores and does not answer a topic has 0 there, or NaN, as `counting` says; of
    contradicted, where 0 is best, always NaN.
    """
    table = np.full((len(runs), len(topics)), np.nan)
    unanswered = np.ones(table.shape, dtype=np.bool_)
    place = {topic: number for number, topic in enumerate(topics)}
    for row, run in enumerate(runs):
        for topic, score in scores.get(run, {}).items():
            if topic in place:
                table[row, place[topic]] = getattr(score, name)
                unanswered[row, place[topic]] = False
    if name == CONTRADICTED or not counting.lacking_is_zero:
        return table
    is_known = ~np.isnan(table)
    counts = np.outer(is_known.any(axis=1), is_known.any(axis=0))
    return np.where(unanswered & counts, 0.0, table)


def answered_topics(scores: Scores) -> list[int]:
    """Return the topics that some run answers."""
    return sorted({topic for of_run in scores.values() for topic in of_run})


def _means(table: NDArray[np.float64], ranked: RankIntervals | None) -> list[Mean]:
    """Return the mean of each row of a table (runs, topics), with its interval within 0 and 1."""
    intervals = mean_intervals(table)
    low, high = np.clip(intervals.low, 0.0, 1.0), np.clip(intervals.high, 0.0, 1.0)
    means = []
    for row, values in enumerate(table):
        defined = values[~np.isnan(values)]
        possible = ranked.possible(row) if ranked and ranked.can_tell and defined.size else None
        value = float(defined.mean()) if defined.size else float("nan")
        means.append(Mean(value, float(low[row]), float(high[row]), defined.size, possible))
    return means


def _row(run_id: int, run_tag: str, scores: list[SupportScore], means: Mapping[str, Mean]) -> SupportRow:
    return SupportRow(
        run_id=run_id,
        run_tag=run_tag,
        precision=means["precision"],
        recall=means["recall"],
        contradicted=means.get(CONTRADICTED),
        answers=len(scores),
        scored=sum(not np.isnan(score.recall) for score in scores),
        sentences=sum(score.sentences for score in scores),
        judged=sum(score.judged for score in scores),
        missing=sum(score.missing for score in scores),
        failed=sum(score.failed for score in scores),
        unjudged=sum(score.is_unjudged for score in scores),
    )


def _unreadable(collection: Collection, labels: PlacedLabels, counting: Counting) -> int:
    """Return how many citations the labels lack, apart from those of files, that nobody here can read."""
    answers = cited(collection)
    judged = JudgedCitations.FIRST if counting.rule.is_of_first else JudgedCitations.ALL
    readable = set(answers.readable_citations(judged))
    lacking = {
        citation
        for answer in answers.answers
        if counting.includes(answer.run_id) and not labels.is_imported(answer)
        for sentence in answer.citations(judged)
        for citation in sentence
    }
    return len(lacking - readable - labels.by_citation.keys())


class UnknownColumn(Exception):
    """No score of support has this name. The text says which there are."""


@dataclass(frozen=True, slots=True)
class SupportColumn:
    """A score of support."""

    name: str
    """`precision`, `recall` or `contradicted`."""
    rule: SupportRule
    rater: SupportRater

    @property
    def whose(self) -> str:
        return str(self.rater.judge or "people")

    @property
    def label(self) -> str:
        citations = {SupportRule.FIRST: "", SupportRule.ALL: ", all citations"}.get(
            self.rule, f", {self.rule}"
        )
        name = "Contradicted citations" if self.less_is_better else f"Support {self.name}"
        return f"{name}{citations} by {self.whose}{' (less is better)' if self.less_is_better else ''}"

    @property
    def less_is_better(self) -> bool:
        return self.name == CONTRADICTED

    @property
    def stated(self) -> str:
        """Return everything that it depends on, in words."""
        return f"labels of support by {self.whose}, {RULES[self.rule]}"

    @property
    def denominator(self) -> str:
        if self.less_is_better:
            return "contradicted / labelled citations"
        credit = "full 1" if self.rule is SupportRule.HARD else "full 1, partial 0.5"
        is_pooled = self.rule is SupportRule.POOLED and self.name == "precision"
        return f"credit ({credit}) / {'labelled citations' if is_pooled else DENOMINATORS[self.name]}"


def is_source(source: str) -> bool:
    """Return whether what stands before the slash names labels of support."""
    return source == SOURCE or source.startswith(f"{SOURCE}-")


def find(collection: Collection, source: str, name: str) -> SupportColumn:
    """Return the column of this name. Raises UnknownColumn."""
    if name not in SCORES:
        raise UnknownColumn(f"support has no {name!r}; there are {', '.join(SCORES)}")
    by_key = {rater.key: rater for rater in raters(collection)}
    key = source.removeprefix(SOURCE).removeprefix("-") or next(iter(by_key))
    if key not in by_key:
        there = ", ".join(f"{SOURCE}-{key} ({rater.name})" for key, rater in by_key.items())
        raise UnknownColumn(f"no {source} with labels here; there are {there}")
    score, rule = SCORES[name]
    rater = by_key[key]
    if score == CONTRADICTED and not may_contradict(collection, rater, placed_labels(collection, rater)):
        raise UnknownColumn(f"{rater.name} cannot have said that a passage contradicts a sentence")
    return SupportColumn(score, rule, rater)


def column_names(rater: SupportRater, rule: SupportRule, names: Sequence[str]) -> str:
    """Return the columns of the scores of these names, with a comma between."""
    columns = (name for name, (score, judged) in SCORES.items() if judged is rule and score in names)
    return ",".join(f"{SOURCE}-{rater.key}/{column}" for column in columns)


def score_column(
    collection: Collection, column: SupportColumn, runs: Sequence[int], topics: Sequence[int]
) -> NDArray[np.float64]:
    """Return `board.score_table` of a column, shape (runs, topics), in the order of these keys."""
    counting = Counting(column.rule)
    scores = scores_of(collection, column.rater, counting)
    return score_table(scores, runs, topics, column.name, counting)
