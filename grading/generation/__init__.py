"""First drafts of a bank by a language model, for people to accept, edit or reject."""

from grading.generation.drafting import Drafts, DraftTask, TextModel, draft
from grading.generation.importance import Importances, weigh
from grading.generation.parsing import parse_drafts
from grading.generation.prompts import DraftPrompt, get, known
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
    "get",
    "known",
    "near_duplicates",
    "nearest",
    "parse_drafts",
    "weigh",
]
