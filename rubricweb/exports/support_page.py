"""Choose a file of labels of support, and see what its format cannot say before downloading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django import forms
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from grading.types import FAILED
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import hides_names
from rubricweb.exports.support import labelled_responses, support_file_name
from rubricweb.support.labels import SupportRater, cited, imported, labels_by, placed_labels, raters
from rubricweb.support.models import SupportEvent

SHOWN = 500
"""How many losses the page lists."""
FORMATS = {
    "answers": "by answer, as NIST and RAGDoll have them (JSON Lines)",
    "qrels": "by sentence and document, as qrels",
    "jsonl": "every label made here, of models and people (JSON Lines)",
}


@dataclass(frozen=True)
class SupportExport:
    """Labels of support in one format, before they are written."""

    collection: Collection
    rater: SupportRater
    file: str

    @property
    def file_name(self) -> str:
        return support_file_name(self.collection, self.file, self.rater)

    @cached_property
    def losses(self) -> list[str]:
        """Return what the file will lack, an entry a sort of things."""
        lost = {"answers": _lost_by_answer, "qrels": _lost_by_qrels, "jsonl": _lost_by_event}
        return list(lost[self.file](self.collection, self.rater))


class SupportFileForm(forms.Form):
    """Whose labels are written, and how."""

    rater = forms.ChoiceField(label="Labels of")
    file = forms.ChoiceField(label="Format", choices=list(FORMATS.items()))

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        self.raters = {rater.key: rater for rater in raters(collection)}
        chosen = {"rater": address.get("rater", next(iter(self.raters)))}
        super().__init__(chosen | {"file": address.get("file", "answers")})
        offer_choices(self, "rater", [(key, rater.name) for key, rater in self.raters.items()])


@require_safe
def support_page(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug)
    form = SupportFileForm(request.GET, collection)
    context = {
        "collection": collection,
        "form": form,
        "title": "Labels of support",
        "intro": "Whether passages that answers cite support their sentences, by one author.",
        "shown": SHOWN,
    }
    if not form.is_valid():
        return form_response(request, "exports/file.html", context, part="file")
    chosen = form.cleaned_data
    context["export"] = SupportExport(collection, form.raters[chosen["rater"]], chosen["file"])
    file_address = reverse("exports:support", args=[slug, chosen["file"]])
    context["file_address"] = f"{file_address}?{urlencode({'rater': chosen['rater']})}"
    return page_or_part(request, "exports/file.html", context, part="file")


def _lost_by_answer(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what answers with their labels, -1 for none, do not say."""
    labels = labels_by(collection, rater)
    if failed := sum(label == FAILED for label in labels.values()):
        yield f"that {failed:,} labels failed: they are -1, as if nobody had been asked"
    yield from _lost_of_people(collection, rater, "which label each person gave: theirs is the majority's")
    if rater.judge and any(label >= 0 for label in labels.values()):
        yield "the replies of the model"
    answers = cited(collection)
    if unsaid := answers.unsaid.total():
        yield f"{unsaid:,} answers whose file does not say what they cite"
    placed = placed_labels(collection, rater)
    if unfitting := placed.unfitting.total():
        yield f"the labels of {unfitting:,} answers that have changed since"
    if lacking := len(answers.answers) - len(labelled_responses(collection, rater)):
        yield f"{lacking:,} answers without a label of {rater.name}"
    if hides_names(collection.pk):
        yield "the names of runs, and what a file had beside the labels: you know runs by pseudonyms"


def _lost_by_qrels(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what lines of topic, sentence, document and label do not say."""
    yield "the text of a sentence, of which a line has the md5, and the run: equal sentences have one label"
    if failed := sum(label == FAILED for label in labels_by(collection, rater).values()):
        yield f"{failed:,} labels that failed: they have no line"
    of_files = imported(collection).filter(judge=rater.judge).count() if rater.is_imported else 0
    if of_files:
        yield f"the labels of {of_files:,} answers that came by file, each at its place in one run"
    yield from _lost_of_people(collection, rater, "which label each person gave: theirs is the majority's")
    yield "whose labels they are"


def _lost_by_event(collection: Collection, rater: SupportRater) -> Iterator[str]:
    """Yield what the labels made here leave out, which are everybody's, whoever is chosen."""
    if of_files := imported(collection).count():
        yield f"the labels of {of_files:,} answers that came by file: these are written by answer"
    if SupportEvent.objects.filter(topic__collection=collection).exists():
        yield "the names of people, who have pseudonyms"


def _lost_of_people(collection: Collection, rater: SupportRater, text: str) -> Iterator[str]:
    if rater.judge is None and SupportEvent.objects.filter(topic__collection=collection).exists():
        yield f"{text}, nor when, nor which label of a model they saw first"
