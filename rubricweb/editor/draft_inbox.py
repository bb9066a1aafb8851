"""The inbox of a topic: its waiting drafts, and the forms that request drafts and decide about them."""

from __future__ import annotations

from collections.abc import Collection as Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import forms
from django.db.models import QuerySet, prefetch_related_objects

from grading.generation.models import drafting_backends
from grading.generation.similarity import SimilarText, near_duplicates
from grading.graders import registry
from grading.item_lint import LintMark, word_marks
from grading.types import ItemKind
from rubricweb.banks import drafting, secrecy
from rubricweb.banks.draft_models import KINDS, Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import Bank, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.writers import Writer, writer_choices, writer_of
from rubricweb.editor.forms import MAX_WORDING

if TYPE_CHECKING:
    from django.http import QueryDict

    from rubricweb.corpus.models import Collection, Topic


@dataclass(frozen=True, slots=True)
class RefusedDraft:
    """The text that could not be accepted, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A waiting draft as it is listed."""

    draft: Draft
    subtopic: str
    near: SimilarText | None
    """The item of the bank, or the earlier draft, that says much the same."""
    marks: tuple[LintMark, ...] = ()
    """What its words show to be wrong with it."""
    is_open: bool = False
    """Somebody edits it: a refreshed list leaves the row alone."""
    refused: RefusedDraft | None = None
    importance: str = ""
    """The importance that a model suggested; the item gets it if the draft is accepted unchanged."""

    @property
    def is_marked(self) -> bool:
        return bool(self.near or self.marks)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A request without drafts yet."""

    request: DraftRequest
    subtopic: str
    reply: str = ""
    """What the model wrote; empty for readers who may not see secret items, which it may quote."""

    @property
    def what(self) -> str:
        """Return what the model was asked, as the end of a sentence."""
        is_weighing = self.request.asks == "importance"
        purpose = "the importance of nuggets" if is_weighing else f"for {self.request.kind}s"
        return f"{purpose} on {self.subtopic}" if self.subtopic else purpose

    @property
    def tone(self) -> str:
        return "error" if self.request.state == "failed" else ""


@dataclass(frozen=True, slots=True)
class DraftInbox:
    """Everything that waits for a decision on one topic of a bank."""

    rows: tuple[DraftRow, ...]
    requests: tuple[RequestRow, ...]
    suggestions: tuple[ImportanceSuggestion, ...] = ()
    """Importances that a model suggested and that differ from the items'."""

    @property
    def is_asking(self) -> bool:
        """Return whether a model is being asked, or will be."""
        return any(row.request.is_live for row in self.requests)

    @property
    def marked(self) -> list[DraftRow]:
        """Return the rows that repeat another wording, or whose words show a fault."""
        return [row for row in self.rows if row.is_marked]

    @property
    def plain(self) -> list[DraftRow]:
        return [row for row in self.rows if not row.is_marked]

    @property
    def news(self) -> str:
        """Return what a refreshed inbox says aloud: the answers that came, not that one still waits."""
        failed = [_failure(row.request) for row in self.requests if row.request.state == "failed"]
        n = len(self.rows)
        waiting = f"{counted(n, 'draft')} {'waits' if n == 1 else 'wait'} for a decision."
        return " ".join([*failed, *([waiting] if n else [])])


def _failure(request: DraftRequest) -> str:
    return f"{request.llm} failed: {request.error}"


@compiled_once
def _of_topic(bank_pk: int, topic_pk: int) -> QuerySet[DraftRequest]:
    return DraftRequest.objects.filter(bank=bank_pk, topic=topic_pk).select_related("by")


def inbox(
    bank: Bank,
    topic: Topic,
    *,
    opened: Container[int] = (),
    refused: Mapping[int, RefusedDraft] | None = None,
) -> DraftInbox:
    """Return the rows of drafts; near-duplicates are computed anew, since decisions change them."""
    requests = _of_topic(bank.pk, topic.pk)
    if not requests:
        return DraftInbox((), (), ())
    prefetch_related_objects([topic], "subtopics")  # the form beside the inbox lists them too
    drafts = list(waiting(bank, topic))
    # Questions are compared with questions only, nuggets with nuggets.
    near: dict[int, SimilarText] = {}
    for kind in {draft.request.kind for draft in drafts}:
        same = [draft for draft in drafts if draft.request.kind == kind]
        items = bank.items.for_topic(topic).active().filter(kind=kind).exclude(revision__text="")
        existing = list(items.values_list("revision__text", flat=True))
        hits = near_duplicates([draft.text for draft in same], existing)
        for draft in reversed(same):  # of several with the same words, only the first may be like nothing
            if hits and hits[-1].text == draft.text:
                near[draft.pk] = hits.pop()
    names = {facet.facet_id: str(facet) for facet in topic.subtopics.all()}
    refusals = refused or {}
    suggestions, weighed = drafting.suggested(bank, topic)
    rows = (
        DraftRow(
            draft,
            names.get(draft.request.facet_id, draft.request.facet_id),
            near.get(draft.pk),
            _marks(draft, names),
            is_open=draft.pk in opened,
            refused=refusals.get(draft.pk),
            importance=weighed[draft.pk].importance if draft.pk in weighed else "",
        )
        for draft in drafts
    )
    return DraftInbox(tuple(rows), tuple(_requests(bank, requests, names)), tuple(suggestions))


def _marks(draft: Draft, names: Mapping[str, str]) -> tuple[LintMark, ...]:
    request = draft.request
    about = [request.topic.text, names.get(request.facet_id, "")]
    return tuple(word_marks(draft.text, ItemKind(request.kind), about))


def first_topic(bank: Bank) -> Topic | None:
    """Return the first topic with drafts that wait, else the first without items, else the first."""
    topics = bank.collection.topics.order_by("position", "pk")
    waiting = Draft.objects.filter(request__bank=bank, state=Draft.State.WAITING)
    items = Item.including_secret.active().filter(bank=bank)
    return (
        topics.filter(pk__in=waiting.values("request__topic")).first()
        or topics.exclude(pk__in=items.values("topic")).first()
        or topics.first()
    )


def topics_to_review(bank: Bank, topic: Topic) -> list[Topic]:
    """Return the other topics with drafts that wait: those after this one, then those before it."""
    requests = DraftRequest.objects.filter(bank=bank, drafts__state=Draft.State.WAITING)
    rows = bank.collection.topics.filter(pk__in=requests.values("topic")).exclude(pk=topic.pk)
    place = (topic.position, topic.pk)
    return sorted(rows, key=lambda row: ((row.position, row.pk) < place, row.position, row.pk))


def waiting(bank: Bank, topic: Topic) -> QuerySet[Draft]:
    """Return the undecided drafts, oldest first."""
    return (
        drafts_of(bank, topic)
        .filter(state=Draft.State.WAITING)
        .select_related("request__by", "request__topic")
    )


def drafts_of(bank: Bank, topic: Topic) -> QuerySet[Draft]:
    """Return every draft, decided or not, oldest first."""
    drafts = Draft.objects.filter(request__bank=bank, request__topic=topic)
    return drafts.select_related("request__bank__collection").order_by("pk")


def _requests(bank: Bank, requests: Iterable[DraftRequest], names: Mapping[str, str]) -> list[RequestRow]:
    """Return those that are still at work, and those that failed until somebody dismisses them."""
    state = DraftRequest.State
    shows_reply = secrecy.sees_secrets(bank.collection_id)
    return [
        RequestRow(
            row,
            names.get(row.facet_id, row.facet_id),
            reply=row.reply if shows_reply else "",
        )
        for row in requests
        if row.state in DraftRequest.LIVE
        or (row.state in (state.FAILED, state.CANCELLED) and not row.is_dismissed)
    ]


def draft_of(item: Item) -> Draft | None:
    """Return the draft that the item came from, with model, prompt and date; None if a person wrote it."""
    return Draft.objects.filter(item=item).select_related("request", "decided_by").first()


@dataclass(frozen=True, slots=True)
class DraftingModels:
    """The models that can write drafts in a collection."""

    grader: str
    """The collection's grader, by its label."""
    can_write: bool


def writers(collection: Collection) -> DraftingModels:
    grader = registry.BACKENDS.get(collection.grader_backend)
    label = grader.label if grader else collection.grader_backend
    return DraftingModels(label, grader in drafting_backends())


class DraftingForm(forms.Form):
    """The kind of items to draft, their subtopic and the model."""

    kind = forms.ChoiceField(choices=[(kind, f"{kind}s") for kind, _ in KINDS], label="Draft")
    facet_id = forms.ChoiceField(required=False, label="Subtopic")
    backend = forms.ChoiceField(choices=writer_choices, label="Kind of model")
    llm = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        help_text="Empty: the default one of its kind.",
    )

    def options(self) -> drafting.DraftOptions:
        fields = self.cleaned_data
        kind, llm = ItemKind(fields["kind"]), fields["llm"].strip()
        return drafting.DraftOptions(kind, fields["backend"], llm, fields["facet_id"])


class AcceptDraftsForm(forms.Form):
    """A draft with an edited text; without one it is accepted as it is."""

    text = forms.CharField(
        required=False,
        max_length=MAX_WORDING,
        error_messages={"max_length": f"Keep it under {MAX_WORDING:,} characters; this has %(show_value)d."},
    )


def drafting_form(
    topic: Topic, *, posted: QueryDict | None = None, after: DraftingForm | None = None
) -> DraftingForm:
    """Return the form empty, as sent, or `after` a request.

    The default model is the collection's grader; where that cannot write, the model that was asked last.
    """
    prefetch_related_objects([topic], "subtopics")
    subtopics = [(subtopic.facet_id, subtopic.text) for subtopic in topic.subtopics.all()]
    initial: dict[str, object] = {"facet_id": subtopics[0][0] if subtopics else ""}
    if writer := writer_of(topic.collection) or _asked_last(topic.collection):
        initial |= writer.initial
    form = DraftingForm(posted, initial=after.cleaned_data if after else initial, auto_id="drafting-%s")
    offer_choices(form, "facet_id", [*((pk, text or pk) for pk, text in subtopics), ("", "The whole topic")])
    if not subtopics:
        form.fields["facet_id"].widget = forms.HiddenInput()
    return form


@compiled_once
def _latest(collection_pk: int) -> QuerySet[DraftRequest]:
    return DraftRequest.objects.filter(bank__collection=collection_pk).order_by("-pk")[:1]


def _asked_last(collection: Collection) -> Writer | None:
    last = next(iter(_latest(collection.pk)), None)
    return Writer(last.backend, last.llm) if last else None
