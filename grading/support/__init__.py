"""Support of sentences by the passages that they cite: labels, and how a model is asked for them.

Thakur et al. 2025, "Support Evaluation for the TREC 2024 RAG Track" (arXiv 2504.15205), judge the first
citation of each sentence; TREC RAG 2026 judges up to three. `scores` has what labels make of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import TypeVar

from grading.errors import ParseFailure
from grading.parsing import parse_label
from grading.prompts.chat import WELL_KNOWN, ChatPrompt, Messages, chat_prompts, find_prompt
from grading.types import CONTRADICTS

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
