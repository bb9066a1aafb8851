"""A run that is being made, or was: one chunk of work a topic, with every reply of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.jobs.models import Chunk, LimitedJob

if TYPE_CHECKING:
    from grading.systems.pipeline import SystemSpec


class AnswerChunk(Chunk):
    """What a system makes of one topic."""

    replies = models.JSONField(default=dict, blank=True)
    """Prompt digest -> replies in their order: what was paid for is not asked again."""
    result = models.JSONField(null=True, blank=True)
    """As `specs.made_as_json` writes it; None until the topic is done."""

    class Meta:
        abstract = True

    @property
    def limited_job(self) -> LimitedJob:
        job: LimitedJob = self.job  # type: ignore[attr-defined]  # the subclass's
        return job


class SystemJob(LimitedJob):
    """How a run of the workbench's own is made. The run counts from when all its topics are done."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="system_jobs")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="made_by")
    spec = models.JSONField()
    """As `specs.as_json` writes a SystemSpec."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"run {self.run.run_tag}"

    @property
    def system(self) -> SystemSpec:
        from rubricweb.systems.specs import from_json

        return from_json(self.spec)


class SystemChunk(AnswerChunk):
    """One topic of a job."""

    job = models.ForeignKey(SystemJob, on_delete=models.CASCADE, related_name="chunks")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="system_chunk_number_once_a_job"),
        )
        indexes = (models.Index(fields=("state", "lease_until"), name="system_chunks_by_state"),)

    def __str__(self) -> str:
        return f"topic {self.topic.query_id} of {self.job}"
