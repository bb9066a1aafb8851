"""First drafts of a bank by a language model, for people to accept, edit or reject."""

from grading.generation.drafting import (
    DraftPrompt,
    Drafts,
    DraftTask,
    Importances,
    TextModel,
    draft,
    drafting_prompt,
    drafting_prompts,
    parse_drafts,
    weigh,
)
from grading.generation.similarity import THRESHOLD, NearDuplicate, Nearest, near_duplicates, nearest

__all__ = [
    "THRESHOLD",
    "DraftPrompt",
    "DraftTask",
    "Drafts",
    "Importances",
    "NearDuplicate",
    "Nearest",
    "TextModel",
    "draft",
    "drafting_prompt",
    "drafting_prompts",
    "near_duplicates",
    "nearest",
    "parse_drafts",
    "weigh",
]
