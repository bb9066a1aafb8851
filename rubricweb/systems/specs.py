"""What is stored of a system and of what it made, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from grading.systems.base import Answer, CitedSentence, Source, Step
from grading.systems.pipeline import Answering, Made, SystemSpec
from grading.types import Ranking

Json = dict[str, Any]


def as_json(spec: SystemSpec) -> Json:
    """Without options where there are none: workers of an earlier version know none."""
    stored = asdict(spec) | {"answering": spec.answering.value}
    return (
        stored
        if stored["model_options"]
        else {name: stored[name] for name in stored if name != "model_options"}
    )


def from_json(stored: Json) -> SystemSpec:
    return SystemSpec(
        **{**stored, "answering": Answering(stored["answering"]), "runs": tuple(stored["runs"])}
    )


def made_as_json(made: Made) -> Json:
    """Without the texts of sources, which the collection has."""
    answer = made.answer
    return {
        "doc_ids": made.ranking.doc_ids,
        "scores": made.ranking.scores,
        "sentences": None if answer is None else [[one.text, one.citations] for one in answer.sentences],
        "sources": None if answer is None else [one.passage_id for one in answer.sources],
        "steps": [asdict(step) for step in made.steps],
        "retrieved": made.retrieved,
    }


def made_from_json(stored: Json, run_tag: str, query_id: str) -> Made:
    ranking = Ranking(run_tag, query_id, tuple(stored["doc_ids"]), tuple(stored["scores"]))
    steps = tuple(Step(**step) for step in stored["steps"])
    retrieved = tuple(stored.get("retrieved", ()))
    if stored["sentences"] is None:
        return Made(ranking, None, steps, retrieved)
    sentences = tuple(CitedSentence(text, tuple(places)) for text, places in stored["sentences"])
    sources = tuple(Source(doc_id, "") for doc_id in stored["sources"])
    return Made(ranking, Answer(sentences, sources), steps, retrieved)
