"""A question that somebody asks in the arena, and the two answers that are made for it.

It is no topic: nothing of it is in pools, on boards or in files of the collection, until somebody adopts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.models import Job, LimitedJob
from rubricweb.systems.models import AnswerChunk

if TYPE_CHECKING:
    from grading.systems.pipeline import SystemSpec

SIDES = ("left", "right")


class Question(LimitedJob):
    """A question and the job that has it answered twice."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="arena_questions")
    topic = models.ForeignKey(
        Topic, null=True, blank=True, on_delete=models.CASCADE, related_name="arena_questions"
    )
    """The topic whose query it is; None for a question that was typed in."""
    text = models.CharField(max_length=1_000)
    is_drawn = models.BooleanField()
    """The two systems were drawn; else the person chose them, and only the sides were drawn."""
    adopted_as = models.ForeignKey(Topic, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    """The topic that it became."""
    adopted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.text

    @property
    def query_id(self) -> str:
        return self.topic.query_id if self.topic else ""

    @property
    def is_ready(self) -> bool:
        return self.state == Job.State.DONE


class FreshAnswer(AnswerChunk):
    """One of the two answers; number 0 stands left."""

    job = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="chunks")
    system = models.CharField(max_length=40)
    """Of `systems.SYSTEMS`."""
    spec = models.JSONField()
    """As `specs.as_json` writes a SystemSpec."""

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="fresh_answer_number_once_a_question"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="fresh_answers_by_state"),)

    def __str__(self) -> str:
        return f"{self.side} answer to question {self.job_id}"

    @property
    def side(self) -> str:
        return SIDES[self.number]

    @property
    def made_by(self) -> SystemSpec:
        from rubricweb.systems.specs import from_json

        return from_json(self.spec)
