"""Support of sentences by the passages that they cite: labels, how a model is asked for them, and scores.

Thakur et al. 2025, "Support Evaluation for the TREC 2024 RAG Track" (arXiv 2504.15205), judge the first
citation of each sentence; TREC RAG 2026 judges up to three.

The scores are weighted precision and recall of an answer's citations, by four rules. Full support counts 1,
partial support 0.5, none and contradicts 0. Precision is the credit of the sentences that have a judged
citation, over their number; recall the same credit over the sentences of the answer, where one that cites
nothing has 0. A sentence that cites something of which nothing is judged is in neither denominator.
Contradicted is the share of the judged citations whose passage contradicts the sentence: less is better.

`FIRST` is the official rule of TREC RAG 2024 and 2025 (Thakur et al. 2025). `ALL` and `HARD` are those of the
coordinators' code (castorini/RAGDoll, `support/metrics.py`). `POOLED` is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypeVar

from grading.errors import ParseFailure
from grading.parsing import parse_label
from grading.prompts.chat import WELL_KNOWN, ChatPrompt, Messages, chat_prompts, find_prompt
from grading.types import CONTRADICTS, FAILED, MISSING

MOST_CITATIONS = 3
"""That TREC RAG 2026 judges of one sentence."""

T = TypeVar("T")


PROMPT_ID = "SupportOfStatement@1"
"""The prompt that is used unless another one is named."""
STANCE_PROMPT_ID = "SupportOrContradiction@1"
"""The prompt of which a reply may also be that the passage contradicts the statement."""
CLAIM_PROMPT_ID = "SupportOfClaim@1"
"""The prompt about a claim of a grader's rationale: see `claims`."""
AGAIN_ID = "SupportAgain@1"
"""The prompt that follows a reply without a label."""
STANCE_AGAIN_ID = "SupportOrContradictionAgain@1"
"""The one that follows such a reply to `STANCE_PROMPT_ID`."""
LONGEST_REPLY = 32
"""Tokens: a label with a word or two around it."""


class Support(IntEnum):
    """How far a passage supports a statement that cites it."""

    CONTRADICTS = CONTRADICTS
    """The passage says the opposite. No score counts it as support; tracks call it none."""
    NONE = 0
    PARTIAL = 1
    FULL = 2

    @property
    def credit(self) -> float:
        """Return what it adds to weighted scores, 0..1."""
        return max(self.value, 0) / 2


TRACK_LABELS = tuple(label for label in Support if label is not Support.CONTRADICTS)
"""Those of the TREC RAG tracks."""


class JudgedCitations(StrEnum):
    """The citations of a sentence that are judged."""

    FIRST = "first"
    ALL = "all"
    """The first `MOST_CITATIONS`."""

    def of(self, citations: Iterable[T]) -> tuple[T, ...]:
        """Return the judged ones of a sentence's citations, which are in their order; repeated ones are one.

        >>> JudgedCitations.FIRST.of(["d7", "d2"]), JudgedCitations.ALL.of(["d7", "d2", "d7", "d1", "d9"])
        (('d7',), ('d7', 'd2', 'd1'))
        """
        distinct = tuple(dict.fromkeys(citations))
        return distinct[: 1 if self is JudgedCitations.FIRST else MOST_CITATIONS]


def is_label(value: int) -> bool:
    """Return whether this is a label, and neither MISSING nor FAILED.

    >>> [is_label(value) for value in (2, 0, -5, -1, -2)]
    [True, True, True, False, False]
    """
    return value >= 0 or value == CONTRADICTS


def majority(labels: Iterable[int]) -> Support:
    """Return the label that most people gave; of several, the lowest. Raises ValueError without labels.

    >>> majority([2, 1, 2]), majority([2, 0]), majority([0, -5])
    (<Support.FULL: 2>, <Support.NONE: 0>, <Support.CONTRADICTS: -5>)
    """
    counted = Counter(labels)
    if not counted:
        raise ValueError("no labels")
    return Support(min(counted, key=lambda label: (-counted[label], label)))


def support_prompt(prompt_id: str = PROMPT_ID) -> ChatPrompt:
    """Return a prompt of prompts.toml by name and version.

    Raises UnknownPrompt, which lists the known ones.
    """
    by_id = {prompt.prompt_id: prompt for prompt in known_prompts()}
    return find_prompt(by_id, prompt_id, problem="no prompt about support is")


def known_prompts() -> tuple[ChatPrompt, ...]:
    """Return every prompt about support, in the order of the file."""
    return tuple(chat_prompts("grading.support").values())


def question(statement: str, passage: str, prompt: ChatPrompt) -> Messages:
    """Return the messages that ask about one statement and one passage.

    >>> [(role, text)] = question("Tides follow the moon.", "The moon pulls the sea.", support_prompt())
    >>> "Statement: Tides follow the moon." in text, "Passage: The moon pulls the sea." in text
    (True, True)
    """
    return prompt.messages(statement=statement.strip(), passage=passage.strip())


def question_again(statement: str, passage: str, prompt: ChatPrompt, reply: str) -> Messages:
    """Return the same question, the reply that named no label, and that it named none.

    >>> asked = question_again("Bread rises.", "Yeast makes gas.", support_prompt(), "It may well be.")
    >>> [role for role, _ in asked], asked[1][1]
    (['user', 'assistant', 'user'], 'It may well be.')
    """
    again = support_prompt(again_id(prompt.prompt_id)).messages()
    return [*question(statement, passage, prompt), ("assistant", WELL_KNOWN.broken(reply.strip())), *again]


def again_id(prompt_id: str) -> str:
    """Return the prompt that follows a reply without a label to the prompt of this id."""
    return STANCE_AGAIN_ID if prompt_id == STANCE_PROMPT_ID else AGAIN_ID


def knows_contradiction(prompt_id: str) -> bool:
    """Return whether a reply to the prompt of this id may name a contradiction; False for an unknown one."""
    by_id = {prompt.prompt_id: prompt for prompt in known_prompts()}
    return prompt_id in by_id and CONTRADICTS in dict(by_id[prompt_id].labels).values()


def label_of(reply: str, prompt: ChatPrompt) -> Support | None:
    """Return the one label that a reply names; None where it names none, or several.

    >>> replies = "**Partial support**", "no_support", "It may well be."
    >>> [label_of(reply, support_prompt()) for reply in replies]
    [<Support.PARTIAL: 1>, <Support.NONE: 0>, None]
    """
    try:
        return Support(parse_label(reply, dict(prompt.labels)).rating)
    except ParseFailure:
        return None


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

    Of four citations, the passage of one says the opposite, which counts as no support:

    >>> one = support_score([[2], [Support.CONTRADICTS], [1], [0]])
    >>> one.precision, one.recall, one.contradicted
    (0.375, 0.375, 0.25)
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
