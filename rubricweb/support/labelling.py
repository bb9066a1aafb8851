"""What the labelling screen shows: one citation at a time, without a word of the run that made it."""

from __future__ import annotations

from dataclasses import dataclass

from grading.support.scores import JudgedCitations
from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.support.cited import Citation, Statement, cited, statements_of, texts_of
from rubricweb.support.labels import citation_of
from rubricweb.support.models import SupportEvent, SupportLabel, SupportSettings


@dataclass(frozen=True, slots=True)
class Card:
    """A sentence, and a passage that it cites."""

    citation: Citation
    topic: Topic
    statement: Statement
    passage: Passage
    """Not saved where only a response brought its text along."""
    shown: SupportLabel | None
    """What a model said, where the collection's organizers let people see it first."""
    mine: SupportEvent | None
    """What this person said of it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many citations a person has labelled."""

    done: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.done


def settings_of(collection: Collection) -> SupportSettings:
    """What the organizers chose; not saved where they chose nothing."""
    chosen = SupportSettings.objects.select_related("shown_judge").filter(collection=collection).first()
    return chosen or SupportSettings(collection=collection)


def asked(collection: Collection) -> list[Citation]:
    """What people are asked about, in the order in which they are."""
    rule = JudgedCitations(settings_of(collection).citations)
    return cited(collection).readable_citations(rule)


def mine(collection: Collection, person: User) -> dict[Citation, SupportEvent]:
    """What the person said and did not take back."""
    found: dict[Citation, SupportEvent] = {}
    for event in SupportEvent.objects.filter(topic__collection=collection, by=person).order_by("pk"):
        found[citation_of(event)] = event
    return {citation: event for citation, event in found.items() if event.label is not None}


def next_card(collection: Collection, person: User) -> tuple[Card | None, Progress]:
    """The first citation that the person has not labelled; None where none is left."""
    every, known = asked(collection), mine(collection, person)
    left = [one for one in every if one not in known]
    progress = Progress(len(every) - len(left), len(every))
    return (card(collection, left[0], person) if left else None), progress


def card(collection: Collection, citation: Citation, person: User) -> Card:
    """Raises KeyError where no accepted run makes this citation any more, or its text is gone."""
    topic = Topic.objects.select_related("collection").get(pk=citation.topic_id)
    statement = statements_of(topic)[citation.sentence_md5]
    passage = Passage.objects.filter(collection=collection, doc_id=citation.doc_id).first()
    if passage is None:
        text = texts_of(topic, [citation.doc_id])[citation.doc_id]
        passage = Passage(collection=collection, doc_id=citation.doc_id, text=text)
    return Card(
        citation,
        topic,
        statement,
        passage,
        shown(collection, citation),
        mine(collection, person).get(citation),
    )


def shown(collection: Collection, citation: Citation) -> SupportLabel | None:
    """The label that people see before they decide; None where they label from scratch."""
    return label_of_judge(collection, citation, settings_of(collection).shown_judge_id)


def label_of_judge(collection: Collection, citation: Citation, judge_id: int | None) -> SupportLabel | None:
    """None without such a judge in the collection, and where its reply named no label."""
    labels = SupportLabel.objects.select_related("judge").filter(label__isnull=False)
    return labels.filter(judge=judge_id, judge__collection=collection, **citation._asdict()).first()
