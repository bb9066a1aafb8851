"""Weighted precision and recall of an answer's citations, by four rules.

Full support counts 1, partial support 0.5, none and contradicts 0. Precision is the credit of the sentences
that have a judged citation, over their number; recall the same credit over the sentences of the answer, where
one that cites nothing has 0. A sentence that cites something of which nothing is judged is in neither
denominator. Contradicted is the share of the judged citations whose passage contradicts the sentence: less
is better.

`FIRST` is the official rule of TREC RAG 2024 and 2025 (Thakur et al. 2025, arXiv 2504.15205). `ALL` and
`HARD` are those of the coordinators' code (castorini/RAGDoll, `support/metrics.py`). `POOLED` is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from grading.support import MOST_CITATIONS, Support, is_label
from grading.types import FAILED, MISSING

UNKNOWN = float("nan")


class SupportRule(StrEnum):
    """Which labels of a sentence count, and as what."""

    FIRST = "first"
    """The credit of its first citation."""
    ALL = "all"
    """The mean credit of its judged citations."""
    HARD = "hard"
    """1 where its first citation has full support, else 0."""
    POOLED = "pooled"
    """Of its first three citations: each counts by itself in precision, the best of them in recall."""

    @property
    def is_of_first(self) -> bool:
        return self in (SupportRule.FIRST, SupportRule.HARD)

    def credit(self, label: int) -> float:
        """Return what a label adds, 0..1. Raises ValueError for what is no label."""
        support = Support(label)
        return float(support is Support.FULL) if self is SupportRule.HARD else support.credit

    def considered(self, citations: Sequence[int]) -> Sequence[int]:
        """Return the labels of a sentence at which the rule looks."""
        if self is SupportRule.ALL:
            return citations
        return citations[: 1 if self.is_of_first else MOST_CITATIONS]


@dataclass(frozen=True, slots=True)
class Denominators:
    """What the scores of an answer are divided by."""

    judged: tuple[tuple[int, ...], ...]
    """By sentence: the places of its citations that count."""
    precision: int
    recall: int
    is_unjudged: bool
    """The answer cites something, and nothing of that counts."""


def denominators(labels: Sequence[Sequence[int]], rule: SupportRule) -> Denominators:
    """Return the denominators of an answer whose citations have these labels; MISSING and FAILED are none."""
    judged = tuple(
        tuple(place for place, label in enumerate(rule.considered(sentence)) if is_label(label))
        for sentence in labels
    )
    with_label = sum(map(bool, judged))
    left_out = sum(1 for sentence, places in zip(labels, judged, strict=True) if sentence and not places)
    return Denominators(
        judged,
        precision=sum(map(len, judged)) if rule is SupportRule.POOLED else with_label,
        recall=len(labels) - left_out,
        is_unjudged=bool(left_out) and not with_label,
    )


@dataclass(frozen=True, slots=True)
class SupportScore:
    """Precision and recall of one answer's citations."""

    precision: float
    """0..1; NaN for an unjudged answer whose score is unknown."""
    recall: float
    """0..1; NaN as `precision`."""
    contradicted: float
    """0..1; NaN where no citation is judged."""
    sentences: int
    judged: int
    """Citations that the rule considers and that have a label."""
    missing: int
    """Those that nobody judged."""
    failed: int
    """Those whose judge gave no label."""
    is_unjudged: bool
    """The answer cites something, and nothing of that is judged."""


def support_score(
    labels: Sequence[Sequence[int]], rule: SupportRule = SupportRule.FIRST, *, unjudged: float = 0.0
) -> SupportScore:
    """Score an answer by the labels of the citations of each of its sentences, in their order.

    A label is a `Support`, MISSING or FAILED; a sentence without any cites nothing. An answer without
    sentences, or one that cites nothing, has 0 and 0. One that cites something of which nothing is judged has
    `unjudged` for both: 0 in the coordinators' code; UNKNOWN leaves it out of means.

    Four sentences, the first citation of each judged. The credit is 1 + 0.5 + 0 = 1.5, of 3 sentences that
    cite and of 4:

    >>> one = support_score([[2], [1], [0], []])
    >>> one.precision, one.recall
    (0.5, 0.375)

    Sentence 1 has full and none, sentence 2 partial and partial, sentence 3 cites nothing:

    >>> def both(labels, rule):
    ...     score = support_score(labels, rule)
    ...     return round(score.precision, 3), round(score.recall, 3)
    >>> [both([[2, 0], [1, 1], []], rule) for rule in SupportRule]
    [(0.75, 0.5), (0.5, 0.333), (0.5, 0.333), (0.5, 0.5)]

    The first citation of sentence 1 is not judged, so `first` leaves the sentence out:

    >>> [both([[MISSING, 2], [0]], rule) for rule in SupportRule]
    [(0.0, 0.0), (0.5, 0.5), (0.0, 0.0), (0.5, 0.5)]

    >>> support_score([[MISSING], [2], []])  # doctest: +NORMALIZE_WHITESPACE
    SupportScore(precision=1.0, recall=0.5, contradicted=0.0, sentences=3, judged=1, missing=1, failed=0,
                 is_unjudged=False)

    Of four citations, the passage of one says the opposite, which counts as no support:

    >>> one = support_score([[2], [Support.CONTRADICTS], [1], [0]])
    >>> one.precision, one.recall, one.contradicted
    (0.375, 0.375, 0.25)

    >>> one = support_score([[FAILED], []], unjudged=UNKNOWN)
    >>> one.precision, one.recall
    (nan, nan)
    """
    counts = denominators(labels, rule)
    of_sentences = [
        [rule.credit(sentence[place]) for place in places]
        for sentence, places in zip(labels, counts.judged, strict=True)
        if places
    ]
    if rule is SupportRule.POOLED:
        precision, recall = sum(map(sum, of_sentences)), sum(map(max, of_sentences))
    else:
        precision = recall = sum(sum(of_sentence) / len(of_sentence) for of_sentence in of_sentences)
    without = unjudged if counts.is_unjudged else 0.0
    states = Counter(label for sentence in labels for label in rule.considered(sentence))
    judged = sum(map(len, of_sentences))
    return SupportScore(
        precision=precision / counts.precision if of_sentences else without,
        recall=recall / counts.recall if of_sentences else without,
        contradicted=states[Support.CONTRADICTS] / judged if judged else UNKNOWN,
        sentences=len(labels),
        judged=judged,
        missing=states[MISSING],
        failed=states[FAILED],
        is_unjudged=counts.is_unjudged,
    )
