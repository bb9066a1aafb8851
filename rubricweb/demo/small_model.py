"""Grade the demo with a language model: the very small one of a pip package."""

from __future__ import annotations

from dataclasses import replace

from grading.graders.gguf import SMOLLM2, gguf_file
from rubricweb.accounts.models import User
from rubricweb.corpus.actions import CollectionSettings, change_settings
from rubricweb.corpus.models import Collection
from rubricweb.grades.actions import start_grading
from rubricweb.grades.models import GradingJob

MODELS = {"smollm2": SMOLLM2}
"""The values of `make demo MODEL=...`."""
PROMPTS = ("QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt")


def check_model(name: str) -> None:
    """Raises GraderUnavailable if the model is not installed."""
    gguf_file(MODELS[name])


def grade_with_model(collection: Collection, name: str) -> list[GradingJob]:
    """Make the model the collection's grader, and start a job for each prompt with missing grades.

    The baseline's grades stay. The collection's name says how small the model is.
    """
    by = User.objects.get(username="developer")
    settings = CollectionSettings(
        name=collection.name,
        description=collection.description,
        min_relevant=collection.min_relevant,
        grader_backend="hf_causal",
        grader_llm=MODELS[name],
        grader_prompts=PROMPTS,
    )
    if collection.grader_llm != settings.grader_llm:
        named = replace(settings, name=f"{collection.name} (graded by a very small model)")
        change_settings(collection, named, by=by)
    return start_grading(collection, by=by)
