"""A run that is being made, or was: its system, one chunk of work a topic, and every reply of the model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import models

from grading.systems import Answer, CitedSentence, Source, SystemStep
from grading.systems.pipeline import Answering, Made, SystemSpec
from grading.types import Ranking
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.jobs.models import AskingChunk, LimitedJob

Json = dict[str, Any]


def spec_as_json(spec: SystemSpec) -> Json:
    """Return the specification as JSON, without empty options, which earlier versions do not know."""
    stored = asdict(spec) | {"answering": spec.answering.value}
    return (
        stored
        if stored["model_options"]
        else {name: stored[name] for name in stored if name != "model_options"}
    )


def spec_from_json(stored: Json) -> SystemSpec:
    return SystemSpec(
        **{**stored, "answering": Answering(stored["answering"]), "runs": tuple(stored["runs"])}
    )


def made_as_json(made: Made) -> Json:
    """Return the result as JSON without the texts of sources, which the collection has."""
    answer = made.answer
    return {
        "doc_ids": made.ranking.doc_ids,
        "scores": made.ranking.scores,
        "sentences": None
        if answer is None
        else [[sentence.text, sentence.citations] for sentence in answer.sentences],
        "sources": None if answer is None else [source.passage_id for source in answer.sources],
        "steps": [asdict(step) for step in made.steps],
        "retrieved": made.retrieved,
    }


def made_from_json(stored: Json, run_tag: str, query_id: str) -> Made:
    ranking = Ranking(run_tag, query_id, tuple(stored["doc_ids"]), tuple(stored["scores"]))
    steps = tuple(SystemStep(**step) for step in stored["steps"])
    retrieved = tuple(stored.get("retrieved", ()))
    if stored["sentences"] is None:
        return Made(ranking, None, steps, retrieved)
    sentences = tuple(CitedSentence(text, tuple(places)) for text, places in stored["sentences"])
    sources = tuple(Source(doc_id, "") for doc_id in stored["sources"])
    return Made(ranking, Answer(sentences, sources), steps, retrieved)


class AnswerChunk(AskingChunk):
    """What a system makes of one topic."""

    result = models.JSONField(null=True, blank=True)
    """Written by `made_as_json`; None until the topic is done."""

    class Meta:
        abstract = True


class SystemJob(LimitedJob):
    """How a run of the workbench's own is made. The run counts from when all its topics are done."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="system_jobs")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="made_by")
    spec = models.JSONField()
    """A SystemSpec, written by `spec_as_json`."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"run {self.run.run_tag}"

    @property
    def system(self) -> SystemSpec:
        from rubricweb.systems.models import spec_from_json

        return spec_from_json(self.spec)


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
