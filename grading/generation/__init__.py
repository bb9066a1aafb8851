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
from grading.generation.similarity import THRESHOLD, Nearest, SimilarText, near_duplicates, nearest

__all__ = [
    "THRESHOLD",
    "DraftPrompt",
    "DraftTask",
    "Drafts",
    "Importances",
    "Nearest",
    "SimilarText",
    "TextModel",
    "draft",
    "drafting_prompt",
    "drafting_prompts",
    "near_duplicates",
    "nearest",
    "parse_drafts",
    "weigh",
]
