"""A stored request in the words of `grading`."""

from __future__ import annotations

from dataclasses import dataclass

from grading import generation
from grading.types import ItemKind
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.corpus import convert


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """What a person asks to be drafted, and by which model; no model is the back-end's default one."""

    kind: ItemKind
    backend: str
    llm: str = ""
    facet_id: str = ""


def request_of(row: DraftRequest) -> generation.DraftTask:
    subtopic = row.topic.subtopics.filter(facet_id=row.facet_id).first() if row.facet_id else None
    words = (subtopic.text or subtopic.facet_id) if subtopic else row.facet_id
    return generation.DraftTask(convert.topic(row.topic), ItemKind(row.kind), words)
