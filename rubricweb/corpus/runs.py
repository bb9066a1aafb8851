"""The runs of a collection, for organizers: which of them count, what describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import (
    HtmxRequest,
    form_response,
    offer_undo,
    page_or_part,
    parse_id,
    part_or_redirect,
)
from rubricweb.corpus import access, actions
from rubricweb.corpus.models import Collection, Ranking, Response, Run, Topic

PAGE = "corpus/runs.html"
MOST_TAGS, TAG_CHARS = 20, 40


@dataclass(frozen=True, slots=True)
class ListedRun:
    run: Run
    topics: int
    """Topics that the run has a ranking for."""
    responses: int
    """Topics that it generated an answer to."""


@dataclass(frozen=True, slots=True)
class RunList:
    rows: tuple[ListedRun, ...]
    topics: int
    """Topics of the collection."""

    @property
    def accepted(self) -> int:
        return sum(row.run.is_accepted for row in self.rows)

    @property
    def has_teams(self) -> bool:
        return any(row.run.team for row in self.rows)

    @property
    def has_tasks(self) -> bool:
        return any(row.run.task or row.run.type for row in self.rows)


def run_list(collection: Collection) -> RunList:
    """Return all runs, whatever their state, by team and tag."""
    rankings, responses = dict(_rankings(collection.pk)), dict(_responses(collection.pk))
    listed = []
    for run in _runs(collection.pk):
        run.collection = collection
        listed.append(ListedRun(run, rankings.get(run.pk, 0), responses.get(run.pk, 0)))
    return RunList(tuple(listed), sum(_topics(collection.pk)))


@compiled_once
def _rankings(collection: int) -> QuerySet[Ranking, tuple[int, int]]:
    """Return the number of topics that each run ranks passages for."""
    rankings = Ranking.objects.filter(run__collection=collection).order_by()
    return rankings.values_list("run").annotate(Count("pk"))


@compiled_once
def _responses(collection: int) -> QuerySet[Response, tuple[int, int]]:
    """Return the number of responses of each run."""
    responses = Response.objects.filter(run__collection=collection).order_by()
    return responses.values_list("run").annotate(Count("pk"))


@compiled_once
def _runs(collection: int) -> QuerySet[Run, Run]:
    runs = Run.objects.filter(collection=collection).select_related("submitted_by")
    return runs.order_by("team", "run_tag")


@compiled_once
def _topics(collection: int) -> QuerySet[Topic, Any]:
    """Return how many topics there are; no row where there is none."""
    topics: QuerySet[Topic, Any] = Topic.objects.filter(collection=collection).order_by().values("collection")
    return topics.annotate(number=Count("pk")).values_list("number", flat=True)


class RunForm(forms.Form):
    """`seen` is the version that the writer started from."""

    team = forms.CharField(max_length=100, required=False, widget=forms.TextInput(attrs={"autofocus": True}))
    task = forms.CharField(max_length=100, required=False)
    type = forms.ChoiceField(choices=Run.Type.choices, required=False)
    priority = forms.IntegerField(
        min_value=1, max_value=1_000, required=False, help_text="1 is the team's most important run."
    )
    tags = forms.CharField(
        max_length=MOST_TAGS * (TAG_CHARS + 2),
        required=False,
        help_text="Words to group runs by, separated by commas.",
    )
    llm = forms.CharField(
        label="Language model",
        max_length=200,
        required=False,
        help_text="The model that wrote its answers, if any. A board graded by the same model says so.",
    )
    description = forms.CharField(max_length=5_000, required=False, widget=forms.Textarea(attrs={"rows": 2}))
    is_closed_book = forms.BooleanField(
        label="Answers without retrieval, from what the model knows",
        required=False,
        help_text="Boards show it with a star.",
    )
    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    def clean_tags(self) -> list[str]:
        tags = [" ".join(tag.split()) for tag in self.cleaned_data["tags"].split(",")]
        tags = list(dict.fromkeys(filter(None, tags)))
        if len(tags) > MOST_TAGS or any(len(tag) > TAG_CHARS for tag in tags):
            raise forms.ValidationError(f"At most {MOST_TAGS} tags of {TAG_CHARS} characters.")
        return tags

    @property
    def described(self) -> dict[str, Any]:
        """Return what the valid form says, by field of the run."""
        return {name: value for name, value in self.cleaned_data.items() if name != "seen"}


def run_form(
    run: Run, posted: QueryDict | None = None, described: Mapping[str, Any] | None = None
) -> RunForm:
    """Return the form of the run, or of what a writer has `described` over the version that it has now."""
    initial = described or {name: getattr(run, name) for name in RunForm.base_fields if name != "seen"}
    initial = {**initial, "tags": ", ".join(initial["tags"]), "seen": run.version}
    return RunForm(posted, initial=initial, auto_id="run-%s")


@require_safe
def runs(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the runs; the address says which one is being edited or removed."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    listed = run_list(collection)
    context: dict[str, object] = {"collection": collection, "runs": listed}
    opened = parse_id(request.GET.get("edit") or request.GET.get("remove", ""))
    run = next((row.run for row in listed.rows if row.run.pk == opened), None)
    if run and "edit" in request.GET:
        context |= {"edited": run, "form": run_form(run)}
    elif run and not run.is_accepted:
        context["removed"] = run
    return page_or_part(request, PAGE, context, part="runs")


@require_POST
def run_accept(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    run = access.run_for_organizer(request.user, slug, run_id)
    if actions.is_empty(run):
        messages.error(request, f"{run} was not finished. Make it again.")
        return redirect("corpus:runs", slug)
    undo = "run-withdraw" if run.state == Run.State.WITHDRAWN else ""
    actions.accept_run(run, by=request.user)
    done = f"{run} is accepted. It now counts on boards, in pools and in files."
    return _changed(request, run, done, undo=undo)


@require_POST
def run_withdraw(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    run = access.run_for_organizer(request.user, slug, run_id)
    undo = "" if run.is_unfinished else "run-accept"
    actions.withdraw_run(run, by=request.user)
    return _changed(request, run, f"{run} is withdrawn. Nothing was deleted.", undo=undo)


@require_POST
def run_edit(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Describe a run anew. Where somebody else did meanwhile, the form shows both."""
    run = access.run_for_organizer(request.user, slug, run_id)
    form = run_form(run, request.POST)
    if not form.is_valid():
        context = _listed(run.collection) | {"edited": run, "form": form}
        return form_response(request, PAGE, context, part="runs")
    try:
        actions.describe_run(run, form.described, seen=form.cleaned_data["seen"], by=request.user)
    except actions.RunConflict as conflict:
        mine = run_form(conflict.run, described=form.described)
        forms_of_both = {"form": mine, "theirs": run_form(conflict.run)}
        context = _listed(run.collection) | {"edited": conflict.run, **forms_of_both}
        return form_response(request, PAGE, context, part="runs", status=409)
    return _changed(request, run, f"{run} saved.", undo="")


def _changed(request: HtmxRequest, run: Run, done: str, *, undo: str) -> HttpResponse:
    if undo:
        offer_undo(request, done, reverse(f"corpus:{undo}", args=[run.collection.slug, run.pk]))
    else:
        messages.success(request, done)
    to = reverse("corpus:runs", args=[run.collection.slug])
    return part_or_redirect(request, f"{PAGE}#runs", _listed(run.collection), to=to)


def _listed(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "runs": run_list(collection)}
