"""Assessments of whole answers by one author, as TREC DRAGUN's `score.py` reads them, and what they lack.

A line that came with a file is written in its place, with the label of now; answers that were graded here
follow in the collection's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from grading.formats.assessments import BY_MODEL, BY_PEOPLE, LABEL_KEYS, PROMPT_CLASS, csv_lines, label_of
from grading.formats.assignments import PEOPLE
from grading.formats.banks.dragun import DIALECT, answer_ids
from grading.measures.cover import partial_grade
from grading.segmentation import PassagesOf
from rubricweb.accounts import roles
from rubricweb.banks.convert import BankScope, KeptLine, kept_lines, secret_losses
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Response
from rubricweb.exports.assignments import WholeAnswer, authors, whole_answers
from rubricweb.exports.selectors import joined
from rubricweb.grades.configs import default_min_grade, scale_of
from rubricweb.grades.models import GraderConfig

Cells = dict[str, str]
SHOWN = 500
"""How many losses the page lists."""


@dataclass(frozen=True)
class AssessmentExport:
    """The assessments of a rubric by one author, before they are written."""

    scope: BankScope
    author: GraderConfig

    @property
    def file_name(self) -> str:
        bank = self.scope.bank
        return joined(bank.collection.slug, bank.name, self.author.llm, "assessments") + ".csv"

    @cached_property
    def losses(self) -> list[str]:
        """Return what the file will lack, an entry an answer or a sort of things."""
        return list(assessment_losses(self.scope, self.author))


def assessed_banks(collection: Collection) -> frozenset[int]:
    """Return the banks by which some grader rated nuggets, where runs have answers graded as a whole."""
    rows = Response.objects.filter(run__in=collection.runs.accepted(), passages_of=PassagesOf.WHOLE.value)
    return (
        frozenset(bank.pk for bank in collection.banks.all() if authors(bank))
        if rows.exists()
        else frozenset()
    )


class AssessmentForm(forms.Form):
    """Whose ratings of whole answers are written."""

    by = forms.ChoiceField(label="Assessments by")

    def __init__(self, address: QueryDict, bank: Bank) -> None:
        self.authors = {str(config.pk): config for config in authors(bank)}
        super().__init__(address or {"by": next(iter(self.authors), "")})
        offer_choices(self, "by", [(pk, str(config)) for pk, config in self.authors.items()])


@require_safe
def assessments_page(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Choose an author, and see what the format cannot say before downloading."""
    bank, form = _form(request, slug, bank_id)
    context = {
        "collection": bank.collection,
        "form": form,
        "title": f"Assessments by rubric {bank}",
        "intro": "A line for each run, topic and short answer, as DRAGUN's score.py reads them: CSV.",
        "shown": SHOWN,
    }
    if not form.is_valid():
        return form_response(request, "exports/file.html", context, part="file")
    context["export"] = AssessmentExport(BankScope(bank), form.authors[form.cleaned_data["by"]])
    file_address = reverse("exports:assessments-file", args=[slug, bank.pk])
    context["file_address"] = f"{file_address}?{urlencode(form.cleaned_data)}"
    return page_or_part(request, "exports/file.html", context, part="file")


@require_safe
def assessments_file(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    bank, form = _form(request, slug, bank_id)
    if not form.is_valid():
        return redirect("exports:assessments", slug, bank_id)
    export = AssessmentExport(BankScope(bank), form.authors[form.cleaned_data["by"]])
    text = "".join(f"{line}\n" for line in assessment_lines(export.scope, export.author))
    disposition = f'attachment; filename="{export.file_name}"'
    return HttpResponse(
        text, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": disposition}
    )


def _form(request: HtmxRequest, slug: str, bank_id: int) -> tuple[Bank, AssessmentForm]:
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    bank: Bank = get_object_or_404(collection.banks.select_related("collection"), pk=bank_id)
    return bank, AssessmentForm(request.GET, bank)


def assessment_losses(scope: BankScope, config: GraderConfig) -> Iterator[str]:
    """Yield what the file of assessments lacks: ratings without a place, and short answers without a line."""
    yield from map(str, secret_losses(scope))
    full, (_, highest) = default_min_grade(config), scale_of(config)
    if highest > full or full > 2:
        yield (
            f"which grade it was: {full} to {highest} are supports, from {partial_grade(full)} partial, and "
            "others none"
        )
    if config.llm != PEOPLE and config.prompt_class != PROMPT_CLASS:
        yield "the replies of the model"
    collection = scope.bank.collection
    parts = Response.objects.filter(run__in=collection.runs.accepted())
    if n_parts := parts.exclude(passages_of=PassagesOf.WHOLE.value).count():
        yield f"{n_parts:,} answers that were graded in parts, not as one passage"
    for answer in whole_answers(scope, config, DIALECT):
        lacking = [item for item in answer.items if item.item_id not in answer.ratings]
        if lacking:
            yield (
                f"topic {answer.topic.query_id}, run {answer.shown_tag}: no line for {len(lacking)} of "
                f"{len(answer.items)} short answers, which have no rating"
            )


def assessment_lines(scope: BankScope, config: GraderConfig) -> Iterator[str]:
    """Yield the header, and a line of CSV for each item that the grader rated of each whole answer."""
    answers = {(a.topic.pk, a.run_tag): a for a in whole_answers(scope, config, DIALECT)}
    kept = kept_lines(scope.bank, config.llm) if config.prompt_class == PROMPT_CLASS else []
    labels = {key: _labels(answer, config) for key, answer in answers.items()}
    placed: list[tuple[int, int, Cells]] = []
    files: dict[str, int] = {}
    for topic, line in kept:
        key = topic, line.run_tag
        if key in answers:
            rows = _as_read(line, answers[key], labels[key])
            placed += [(files.setdefault(file, len(files)), number, cells) for file, number, cells in rows]
    read = [cells for _, _, cells in sorted(placed, key=lambda row: row[:2])]
    label_key = next((key for cells in read for key in LABEL_KEYS if key in cells), _label_key(config))
    new = [
        {
            "topic_id": answer.topic.query_id,
            "run_tag": answer.shown_tag,
            "answer_id": identity,
            label_key: label,
        }
        for key, answer in answers.items()
        for identity, label in labels[key].items()
    ]
    yield from csv_lines([*read, *new])


def _label_key(config: GraderConfig) -> str:
    return BY_PEOPLE if config.llm == PEOPLE else BY_MODEL


def _labels(answer: WholeAnswer, config: GraderConfig) -> Cells:
    """Return the label of each short answer that has a rating, by its id."""
    full = default_min_grade(config)
    ids = answer_ids(answer.items)
    return {
        ids[item.item_id]: label_of(answer.ratings[item.item_id], full=full, partial=partial_grade(full))
        for item in answer.items
        if item.item_id in answer.ratings
    }


def _as_read(line: KeptLine, answer: WholeAnswer, labels: Cells) -> Iterator[tuple[str, int, Cells]]:
    """Yield (file, number of its line, cells) of an answer's assessments, and take them from `labels`."""
    rows: list[Mapping[str, Any]] = line.line.get("assessments", [])
    for row in rows:
        label = labels.pop(row["answer_id"], None)
        if label is None:
            continue
        stated = {"topic_id": answer.topic.query_id, "answer_id": row["answer_id"]}
        if answer.shown_tag != answer.run_tag:
            stated["run_tag"] = answer.shown_tag
        cells = row["cells"] | stated | dict.fromkeys(LABEL_KEYS, label)
        yield row["file"], row["line"], {name: cells[name] for name in row["columns"]}
