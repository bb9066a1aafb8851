"""Work > Label: one citation, a key a label, without a word of the run that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.support import TRACK_LABELS, JudgedCitations, Support
from rubricweb.accounts import roles
from rubricweb.accounts.keys import keys_of
from rubricweb.accounts.models import User
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import MAX_ID, Context, HtmxRequest, page_or_part, part_or_redirect
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.support import actions
from rubricweb.support.labels import CitationKey, Statement, citation_of, cited, statements_of, texts_of
from rubricweb.support.models import SupportEvent, SupportLabel, SupportSettings

CARDS = 6
"""The one that shows, and those that are ready: so many labels need no connection."""
PAGE = "support/label.html"
MEANINGS = {
    Support.FULL: "everything that the sentence says",
    Support.PARTIAL: "part of it",
    Support.NONE: "no support, or contradicts it",
}
MEANINGS_OF_FOUR = MEANINGS | {Support.NONE: "nothing of it", Support.CONTRADICTS: "says the opposite"}


class RequestForm(forms.Form):
    """What a script says of its request."""

    uid = forms.RegexField(r"^[0-9a-f]{32}$", required=False)


class CitationLabelForm(RequestForm):
    """One decision."""

    topic = forms.IntegerField(min_value=1, max_value=MAX_ID)
    sentence = forms.RegexField(r"^[0-9a-f]{32}$")
    doc = forms.CharField(max_length=300)
    label = forms.TypedChoiceField(
        coerce=lambda value: Support(int(value)),
    )
    seen = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    """The key of the judge whose label the page showed."""

    def offer(self, collection: Collection) -> None:
        """Offer the labels that people give in the collection."""
        offer_choices(self, "label", [(str(label.value), label.name) for label in offered_labels(collection)])

    @property
    def citation(self) -> CitationKey:
        fields = self.cleaned_data
        return CitationKey(fields["topic"], fields["sentence"], fields["doc"])


@dataclass(frozen=True, slots=True)
class CitationCard:
    """A sentence, and a passage that it cites."""

    citation: CitationKey
    topic: Topic
    statement: Statement
    passage: Passage
    """Not saved where only a response brought its text along."""
    model_label: SupportLabel | None
    """What a model said, where the collection's organizers let people see it first."""
    mine: SupportEvent | None
    """What this person said of it."""

    @property
    def place(self) -> str:
        """Return the name of the citation in the page."""
        return f"{self.citation.topic_id} {self.citation.sentence_md5} {self.citation.doc_id}"


@dataclass(frozen=True, slots=True)
class LabellingProgress:
    """How many citations a person has labelled."""

    done: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.done


def settings_of(collection: Collection) -> SupportSettings:
    """Return what the organizers chose; not saved where they chose nothing."""
    return next(iter(_settings(collection.pk)), None) or SupportSettings(collection=collection)


@compiled_once
def _settings(collection: int) -> QuerySet[SupportSettings, SupportSettings]:
    return SupportSettings.objects.filter(collection=collection)


def offered_labels(collection: Collection) -> tuple[Support, ...]:
    """Return the labels that people give: with contradicts where the organizers chose so."""
    return tuple(Support) if settings_of(collection).contradicts else TRACK_LABELS


def to_label(collection: Collection) -> list[CitationKey]:
    """Return what people are asked about, in the order in which they are."""
    chosen = settings_of(collection)
    order = cited(collection).in_random_order(JudgedCitations(chosen.citations))
    return list(order[: chosen.sample])


def is_known(collection: Collection, citation: CitationKey) -> bool:
    """Return whether people may label it: also what organizers had them asked about before."""
    return citation in cited(collection).in_random_order(JudgedCitations.ALL)


def mine(collection: Collection, person: User) -> dict[CitationKey, SupportEvent]:
    """Return what the person said and did not take back."""
    latest: dict[CitationKey, SupportEvent] = {}
    for event in _events(collection.pk, person.pk):
        latest[citation_of(event)] = event
    return {citation: event for citation, event in latest.items() if event.label is not None}


@compiled_once
def _events(collection: int, person: int) -> QuerySet[SupportEvent, SupportEvent]:
    return SupportEvent.objects.filter(topic__collection=collection, by=person).order_by("pk")


def progress(collection: Collection, person: User) -> LabellingProgress:
    every, own = to_label(collection), mine(collection, person)
    return LabellingProgress(sum(citation in own for citation in every), len(every))


def next_cards(
    collection: Collection, person: User, *, first: CitationKey | None = None
) -> list[CitationCard]:
    """Return the first citations that the person has not labelled, after `first`, if that is given."""
    own = mine(collection, person)
    left = (citation for citation in to_label(collection) if citation not in own and citation != first)
    chosen = [*([first] if first else []), *islice(left, CARDS)][:CARDS]
    return cards(collection, chosen, own)


def cards(
    collection: Collection, citations: Sequence[CitationKey], own: Mapping[CitationKey, SupportEvent]
) -> list[CitationCard]:
    """Return the cards in order. Raises KeyError where no accepted run makes one, or its text is gone."""
    topics = Topic.objects.select_related("collection").in_bulk({citation.topic_id for citation in citations})
    statements_by_topic = {pk: statements_of(topic) for pk, topic in topics.items()}
    doc_ids = {citation.doc_id for citation in citations}
    passages = {
        citation.doc_id: citation
        for citation in Passage.objects.filter(collection=collection, doc_id__in=doc_ids)
    }
    judge_id = settings_of(collection).shown_judge_id
    return [
        CitationCard(
            citation,
            topics[citation.topic_id],
            statements_by_topic[citation.topic_id][citation.sentence_md5],
            passages.get(citation.doc_id) or _brought(topics[citation.topic_id], citation.doc_id),
            label_of_judge(collection, citation, judge_id) if judge_id else None,
            own.get(citation),
        )
        for citation in citations
    ]


def _brought(topic: Topic, doc_id: str) -> Passage:
    """Return the passage as a response brought it along."""
    return Passage(collection=topic.collection, doc_id=doc_id, text=texts_of(topic, [doc_id])[doc_id])


def label_of_judge(
    collection: Collection, citation: CitationKey, judge_id: int | None
) -> SupportLabel | None:
    """Return the judge's label; None without such a judge, or where its reply named no label."""
    labels = SupportLabel.objects.select_related("judge").filter(label__isnull=False)
    return labels.filter(judge=judge_id, judge__collection=collection, **citation._asdict()).first()


@require_http_methods(["GET", "HEAD", "POST"])
def label(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show what this person has not labelled yet (GET); save a label and show the next (POST)."""
    collection = collection_for(request.user, slug, needed=roles.TO_LABEL)
    if request.method == "POST":
        _save(request, collection)
        return _answer(request, collection)
    return page_or_part(request, PAGE, _context(request, collection), part="labelling")


@require_POST
def take_back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Withdraw this person's latest label, and show its citation again if somebody still makes it."""
    collection = collection_for(request.user, slug, needed=roles.TO_LABEL)
    form = RequestForm(request.POST)
    uid = form.cleaned_data["uid"] if form.is_valid() else ""
    taken = actions.take_back(collection, by=request.user, uid=uid)
    place = citation_of(taken) if taken else None
    return _answer(request, collection, place if place in to_label(collection) else None)


def _save(request: HtmxRequest, collection: Collection) -> None:
    """Save the label. Raises Http404 for a citation that nobody is to label."""
    form = CitationLabelForm(request.POST)
    form.offer(collection)
    if not form.is_valid() or not is_known(collection, form.citation):
        raise Http404("No such citation.")
    fields = form.cleaned_data
    seen = label_of_judge(collection, form.citation, fields["seen"])
    actions.label_citation(
        form.citation, label=fields["label"], by=request.user, seen=seen, uid=fields["uid"]
    )


def _answer(request: HtmxRequest, collection: Collection, first: CitationKey | None = None) -> HttpResponse:
    context = _context(request, collection, first)
    to = reverse("support:label", args=[collection.slug])
    return part_or_redirect(request, f"{PAGE}#labelling", context, to=to)


def _context(request: HtmxRequest, collection: Collection, first: CitationKey | None = None) -> Context:
    keys = {row.action.name: row.sign for row in keys_of(request.user)}
    meanings = MEANINGS_OF_FOUR if settings_of(collection).contradicts else MEANINGS
    choices = [
        (label.value, label.name.lower(), meaning, keys[f"rate-{label.value}"])
        for label, meaning in meanings.items()
    ]
    return {
        "collection": collection,
        "cards": next_cards(collection, request.user, first=first),
        "progress": progress(collection, request.user),
        "choices": choices,
        "undo_key": keys["undo"],
    }
