"""Support of sentences by the passages that they cite: a model's labels, and scores of an answer's citations.

Thakur et al. 2025, "Support Evaluation for the TREC 2024 RAG Track" (arXiv 2504.15205): full support counts
1, partial support 0.5 and none 0. Weighted precision is the credit / the judged citations, weighted recall
the credit / the sentences of the answer. That paper judges the first citation of each sentence; TREC RAG 2026
judges up to three.

Ours, where these sources leave it open: with several judged citations a sentence earns the best credit of
them for recall, and a sentence that cites nothing earns 0. An answer that cites nothing scores 0 and 0. What
nobody judged, or where the judge's reply held no label, is counted apart and is in no denominator: precision
is over the citations that have a label, recall over the sentences whose credit is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypeVar

from grading.errors import ParseFailure, UnknownPrompt
from grading.parsing.rating import parse_label
from grading.prompts.chat import WELL_KNOWN, ChatPrompt, Messages, chat_prompts
from grading.types import FAILED, MISSING

MOST_CITATIONS = 3
"""That TREC RAG 2026 judges of one sentence."""

T = TypeVar("T")


PROMPT_ID = "SupportOfStatement@1"
"""The prompt that is used unless another one is named."""
AGAIN_ID = "SupportAgain@1"
"""The prompt that follows a reply without a label."""
LONGEST_REPLY = 32
"""Tokens: a label with a word or two around it."""


class Support(IntEnum):
    """How far a passage supports a statement that cites it."""

    NONE = 0
    PARTIAL = 1
    FULL = 2

    @property
    def credit(self) -> float:
        return self.value / 2


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


@dataclass(frozen=True, slots=True)
class SupportScore:
    """Precision and recall of one answer's citations."""

    precision: float
    """0..1; NaN where the answer cites something and none of it has a label."""
    recall: float
    """0..1; NaN where the answer cites something and none of it has a label, or the credit of no sentence is
    known.
    """
    sentences: int
    judged: int
    """Citations with a label."""
    missing: int
    """Citations that nobody judged."""
    failed: int
    """Citations whose judge gave no label."""


def support_score(labels: Sequence[Sequence[int]]) -> SupportScore:
    """Score an answer by the labels of the judged citations of each of its sentences.

    A label is a `Support`, MISSING or FAILED; a sentence without any cites nothing.

    Four sentences, the first citation of each judged: full, partial, none, and one that cites nothing. The
    credit is 1 + 0.5 + 0 = 1.5, of 3 citations and of 4 sentences:

    >>> one = support_score([[2], [1], [0], []])
    >>> one.precision, one.recall
    (0.5, 0.375)

    All citations judged: sentence 1 has full and none (credit 1, best 1), sentence 2 partial and partial
    (credit 1, best 0.5), sentence 3 cites nothing. Precision (1 + 1) / 4, recall (1 + 0.5 + 0) / 3:

    >>> one = support_score([[2, 0], [1, 1], []])
    >>> one.precision, one.recall
    (0.5, 0.5)

    A label is missing in sentence 1 and failed in sentence 2. The credit of sentence 1 is unknown, that of
    sentence 2 is 1 whatever its second citation says. Precision 1 / 1, recall 1 / 2 (sentences 2 and 3):

    >>> support_score([[MISSING], [2, FAILED], []])
    SupportScore(precision=1.0, recall=0.5, sentences=3, judged=1, missing=1, failed=1)

    Without any label nothing is known, although a sentence cites nothing:

    >>> one = support_score([[MISSING], []])
    >>> one.precision, one.recall
    (nan, nan)

    >>> one = support_score([[], []])
    >>> one.precision, one.recall
    (0.0, 0.0)
    """
    every = Counter(label for sentence in labels for label in sentence)
    given = [Support(label) for sentence in labels for label in sentence if label >= 0]
    best = [credit for sentence in labels if (credit := _best_credit(sentence)) is not None]
    unknown = 0.0 if labels and not every else float("nan")
    return SupportScore(
        precision=sum(each.credit for each in given) / len(given) if given else unknown,
        recall=sum(best) / len(best) if best and (given or not every) else float("nan"),
        sentences=len(labels),
        judged=len(given),
        missing=every[MISSING],
        failed=every[FAILED],
    )


def majority(labels: Iterable[int]) -> Support:
    """Return the label that most people gave; of several, the lowest. Raises ValueError without labels.

    >>> majority([2, 1, 2]), majority([2, 0])
    (<Support.FULL: 2>, <Support.NONE: 0>)
    """
    counted = Counter(labels)
    if not counted:
        raise ValueError("no labels")
    return Support(min(counted, key=lambda label: (-counted[label], label)))


def _best_credit(sentence: Sequence[int]) -> float | None:
    """Return the sentence's credit for recall, or None.

    It is None where a label that it lacks could raise it, or is all it has.
    """
    if not sentence:
        return 0.0
    best = max(sentence)
    is_known = best == Support.FULL or min(sentence) >= 0
    return Support(best).credit if is_known else None


def support_prompt(prompt_id: str = PROMPT_ID) -> ChatPrompt:
    """Return a prompt of prompts.toml by name and version.

    Raises UnknownPrompt, which lists the known ones.
    """
    by_id = {prompt.prompt_id: prompt for prompt in known_prompts()}
    try:
        return by_id[prompt_id]
    except KeyError:
        raise UnknownPrompt(
            f"no prompt about support is {prompt_id!r}; known are {', '.join(by_id)}"
        ) from None


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
    again = support_prompt(AGAIN_ID).messages()
    return [*question(statement, passage, prompt), ("assistant", WELL_KNOWN.broken(reply.strip())), *again]


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
