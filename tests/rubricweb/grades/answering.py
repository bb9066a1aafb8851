"""A collection whose grader extracts answers and then verifies them, and workers that do as they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from grading.graders import registry
from grading.types import CellToGrade, Grade, GradeFailure, Outcome
from rubricweb.banks.actions import set_answer_keys
from rubricweb.corpus.models import Collection
from rubricweb.grades import actions
from rubricweb.grades.engine import chunks
from rubricweb.grades.models import GradingJob
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import counting, scripted

EXTRACTING = "QuestionCompleteConciseUnanswerablePromptWithChoices"
VERIFYING = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"


@contextmanager
def answering(collection: Collection, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """5 passages and 2 questions, one of which has an answer key; chunks of 2 passages at most."""
    backend = registry.Backend(
        "scripted", "Scripted", f"{scripted.__name__}:ScriptedGrader", (EXTRACTING,), True, "paper", True
    )
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setitem(registry.BACKENDS, "counting", counting.BACKEND)
    monkeypatch.setattr(scripted, "SCRIPT", [graded])
    chunks.close_until(0)
    settings.CHUNK_CELLS = 4
    item = gradable(collection, topics=1, passages=5, items=2).items.first()
    set_answer_keys(item, texts=["anthocyanin"], seen=item.version, by=None)
    asking(collection, "scripted", EXTRACTING, VERIFYING)
    yield
    chunks.close_until(0)


def asking(collection: Collection, backend: str, *prompts: str) -> None:
    collection.grader_backend, collection.grader_llm = backend, "paper"
    collection.grader_prompts = list(prompts)
    collection.save()


def graded(number: int, pair: CellToGrade) -> Iterator[scripted.Result]:
    """Extracts where it is told no answer, else verifies."""
    cell = (pair.item.item_id, pair.passage.passage_id)
    if pair.answer is None:
        yield Grade(*cell, None, Outcome.EXTRACTED, "anthocyanin")
    else:
        yield Grade(*cell, 1, Outcome.NUMERIC, pair.answer)


def silent(number: int, pair: CellToGrade) -> Iterator[scripted.Result]:
    yield GradeFailure(pair.item.item_id, pair.passage.passage_id, "No reply.")


def press(collection: Collection, **scope: Any) -> list[GradingJob]:
    return actions.start_grading(collection, by=None, **scope)


def work(job: GradingJob, *, chunks: int | None = None) -> GradingJob:
    """As workers do that find nothing but its chunks."""
    for pk in list(job.chunks.values_list("pk", flat=True))[:chunks]:
        work_on("chunk", pk)
    job.refresh_from_db()
    return job


def again(job: GradingJob) -> GradingJob:
    return GradingJob.objects.get(pk=job.pk)
