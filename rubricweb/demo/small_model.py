"""Grade the demo with a language model: the very small one of a pip package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.conf import settings

from grading.graders.hf_model import SMOLLM2, SOURCE, copies_folder, gguf_file
from rubricweb.accounts.models import User
from rubricweb.corpus.actions import CollectionSettings, change_settings
from rubricweb.corpus.models import Collection
from rubricweb.grades.actions import start_grading
from rubricweb.grades.models import GradingJob

MODELS = {"smollm2": SMOLLM2}
"""The values of `make demo MODEL=...`."""
PROMPTS = ("QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt")
OPTIONS = {"constrained": True}
"""Asked openly, the model takes five times as long for a nugget, and nine ratings of ten stay the same
(`bench/demo_constrained.py`)."""
UNPACK = (
    "import sys, pathlib; from grading.graders import gguf, hf_model; "
    "gguf.keep_copies_in(pathlib.Path(sys.argv[2])); hf_model.load(sys.argv[1], hf_model.CAUSAL)"
)


def check_model(name: str) -> None:
    """Raise GraderUnavailable if the model is not installed."""
    gguf_file(MODELS[name])


@contextmanager
def unpacked_meanwhile(name: str) -> Iterator[None]:
    """Have another process unpack the model during the block, if it was not unpacked before.

    That takes as long as loading the demo collection; a worker that is quicker waits for it.
    """
    folder = copies_folder()
    if folder is None or any(folder.glob(f"{MODELS[name]}-*/{SOURCE}")):
        yield
        return
    command = [sys.executable, "-c", UNPACK, MODELS[name], str(folder)]
    process = subprocess.Popen(  # noqa: S603
        command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
        process.wait()
    finally:
        process.terminate()
        process.wait()


def grade_with_model(collection: Collection, name: str) -> list[GradingJob]:
    """Make the model the collection's grader, and start a job for each prompt with missing grades.

    The baseline's grades stay. The collection's name says how small the model is. What people ask for goes
    before these jobs.
    """
    by = User.objects.get(username="developer")
    chosen = CollectionSettings(
        name=collection.name,
        description=collection.description,
        min_relevant=collection.min_relevant,
        grader_backend="hf_causal",
        grader_llm=MODELS[name],
        grader_prompts=PROMPTS,
        grader_options=OPTIONS,
    )
    if collection.grader_llm != chosen.grader_llm:
        named = replace(chosen, name=f"{collection.name} (graded by a very small model)")
        change_settings(collection, named, by=by)
    return start_grading(collection, by=by, priority=GradingJob.Priority.LOW)
