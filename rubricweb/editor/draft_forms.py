"""Forms that request drafts and decide about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext_lazy

from grading.types import ItemKind
from rubricweb.banks.drafting.actions import DraftOptions
from rubricweb.banks.drafting.models import KINDS, DraftRequest
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.writers import Writer, writer_choices, writer_of
from rubricweb.editor.item_forms import MAX_WORDING

if TYPE_CHECKING:
    from django.http import QueryDict

    from rubricweb.corpus.models import Collection, Topic


class DraftingForm(forms.Form):
    """What to draft, and by which model."""

    kind = forms.ChoiceField(choices=[(kind, f"{kind}s") for kind, _ in KINDS], label=gettext_lazy("Draft"))
    facet_id = forms.ChoiceField(required=False, label=gettext_lazy("Subtopic"))
    backend = forms.ChoiceField(choices=writer_choices, label=gettext_lazy("Written by"))
    llm = forms.CharField(
        label=gettext_lazy("Model"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("A model that the worker can reach. Empty: the default."),
    )

    def options(self) -> DraftOptions:
        fields = self.cleaned_data
        kind, llm = ItemKind(fields["kind"]), fields["llm"].strip()
        return DraftOptions(kind, fields["backend"], llm, fields["facet_id"])


class AcceptForm(forms.Form):
    """A draft with an edited text; without one it is accepted as it is."""

    text = forms.CharField(
        required=False,
        max_length=MAX_WORDING,
        error_messages={"max_length": f"Keep it under {MAX_WORDING:,} characters; this has %(show_value)d."},
    )


def drafting_form(
    topic: Topic, *, sent: QueryDict | None = None, after: DraftingForm | None = None
) -> DraftingForm:
    """Return the form empty, as sent, or `after` a request.

    The default model is the collection's grader; where that cannot write, the model that was asked last.
    """
    prefetch_related_objects([topic], "subtopics")
    subtopics = [(subtopic.facet_id, subtopic.text) for subtopic in topic.subtopics.all()]
    initial: dict[str, object] = {"facet_id": subtopics[0][0] if subtopics else ""}
    if writer := writer_of(topic.collection) or _asked_last(topic.collection):
        initial |= writer.initial
    form = DraftingForm(sent, initial=after.cleaned_data if after else initial, auto_id="drafting-%s")
    offer_choices(form, "facet_id", [*((pk, text or pk) for pk, text in subtopics), ("", "The whole topic")])
    if not subtopics:
        form.fields["facet_id"].widget = forms.HiddenInput()
    return form


def _asked_last(collection: Collection) -> Writer | None:
    last = DraftRequest.objects.filter(bank__collection=collection).order_by("-pk").first()
    return Writer(last.backend, last.llm) if last else None
