"""The contents of a Workbench graded file."""

from __future__ import annotations

import msgspec

from grading.types import ItemKind, Outcome, Purpose

DEFAULT_PROMPT_CLASS = "QuestionPromptWithChoices"
"""The class of an entry without prompt information (the Workbench's own rule)."""

OptionPairs = tuple[tuple[str, bool | int | float | str], ...]
"""Options of the model, as sorted (name, value) pairs, without defaults."""

ConfigKey = tuple[str, str, Purpose, OptionPairs]
"""(llm, prompt class, purpose, options)."""

DIRECT_ITEM = "direct"
"""The item id of a direct grade; one per topic."""


class Judgment(msgspec.Struct, frozen=True, gc=False):
    """A human relevance label; `facet_id` is empty for a judgment of the whole topic."""

    query_id: str
    facet_id: str
    relevance: int


class PooledRank(msgspec.Struct, frozen=True, gc=False):
    """Where one run ranked the passage. Ranks are as the file has them: from 0 or 1, with or without gaps."""

    run_tag: str
    rank: int
    score: float


class GradedBy(msgspec.Struct, frozen=True):
    """Who graded, with which prompt, and what kind of items. The grades of an entry share one."""

    kind: ItemKind
    llm: str
    prompt_class: str
    purpose: Purpose
    options: OptionPairs = ()

    @property
    def config(self) -> ConfigKey:
        """What tells grader configs apart."""
        return self.llm, self.prompt_class, self.purpose, self.options


class ImportedGrade(msgspec.Struct, frozen=True, gc=False):
    """One item graded against one passage.

    `rating` is 0..5, or 1/0 (correct or not) for the purpose VERIFY, or None for EXTRACT and for
    Outcome.FAILED. `answer` is the extracted answer, or the raw reply to a rating prompt; `reason` is set for
    failures only.
    """

    item_id: str
    by: GradedBy
    rating: int | None
    answer: str
    outcome: Outcome
    reason: str = ""


class GradedPassage(msgspec.Struct, frozen=True):
    doc_id: str
    text: str
    judgments: list[Judgment]
    rankings: list[PooledRank]
    grades: list[ImportedGrade]


class GradedLine(msgspec.Struct, frozen=True):
    """One line of the file. A topic may take several lines, and a passage may be in several topics."""

    query_id: str
    line: int
    passages: list[GradedPassage]
    ignored_entries: int = 0
    """Entries left out because an earlier one of the passage has the same llm, options, prompt class and
    purpose.
    """
