"""The labels that a board or a file is made of: those of one model, or of people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from grading.support import JudgedCitations, majority
from grading.types import FAILED
from rubricweb.corpus.models import Collection
from rubricweb.support.cited import Citation, cited
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel

PEOPLE = "people"
KEY = ("topic_id", "sentence_md5", "doc_id")
Standing = Mapping[Citation, Mapping[int, SupportEvent]]
"""By citation and person, the event that counts."""


@dataclass(frozen=True, slots=True)
class SupportRater:
    """Whose labels count."""

    key: str
    """In addresses and file names."""
    name: str
    judge: SupportJudge | None = None
    """None for people."""


def raters(collection: Collection) -> list[SupportRater]:
    """The models that have labelled something, the latest first, then people, who are always offered."""
    judges = collection.support_judges.filter(labels__isnull=False).distinct().order_by("-pk")
    models = [SupportRater(f"judge-{judge.pk}", str(judge), judge) for judge in judges]
    return [*models, SupportRater(PEOPLE, "People")]


def labels_by(collection: Collection, rater: SupportRater) -> dict[Citation, int]:
    """Each label, FAILED where a model's reply has none; of several people the majority's."""
    if rater.judge:
        return judge_labels(rater.judge)
    by_person = standing_events(collection)
    return {
        citation: majority(int(event.label or 0) for event in events.values())
        for citation, events in by_person.items()
    }


def judge_labels(judge: SupportJudge) -> dict[Citation, int]:
    rows = SupportLabel.objects.filter(judge=judge).values_list(*KEY, "label")
    return {Citation(*key): FAILED if label is None else label for *key, label in rows.iterator()}


def missing(collection: Collection, judge: SupportJudge | None, rule: JudgedCitations) -> list[Citation]:
    """What has a text and no label of `judge` yet, by topic; all of it for a judge that is not saved yet."""
    known = set(judge_labels(judge)) if judge else set()
    return [one for one in cited(collection).readable_citations(rule) if one not in known]


def failed(collection: Collection, judge: SupportJudge) -> list[Citation]:
    """What has a text, and a reply of `judge` without a label; by topic."""
    without = {citation for citation, label in judge_labels(judge).items() if label == FAILED}
    return [one for one in cited(collection).readable_citations(JudgedCitations.ALL) if one in without]


def standing_events(collection: Collection) -> Standing:
    """By citation and person, the latest event, unless it took the label back."""
    found: dict[Citation, dict[int, SupportEvent]] = defaultdict(dict)
    for event in SupportEvent.objects.filter(topic__collection=collection).order_by("pk"):
        citation = citation_of(event)
        found[citation].pop(event.by_id, None)
        if event.label is not None:
            found[citation][event.by_id] = event
    return {citation: events for citation, events in found.items() if events}


def citation_of(row: SupportEvent | SupportLabel) -> Citation:
    return Citation(row.topic_id, row.sentence_md5, row.doc_id)
