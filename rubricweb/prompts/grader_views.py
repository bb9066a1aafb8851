"""The graders in plain words, and one of them asked about one passage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from grading.prompts import Prompt
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, after_post, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import named, own_prompts
from rubricweb.grades.configs import config_draft
from rubricweb.grades.engine.price import price_of_all
from rubricweb.grades.engine.progress import measured_rate
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.progress import Price
from rubricweb.prompts import access, dry_runs, screens
from rubricweb.prompts.forms import why_not_ask
from rubricweb.prompts.grader_guide import GUIDES, Guide, example_of, guide_of
from rubricweb.prompts.models import DryRun
from rubricweb.prompts.samples import Sample, sample_of

PAGE = "prompts/graders.html"


class AskForm(forms.Form):
    """What one grader is asked; topic, item and passage are read by `samples.sample_of`."""

    prompt = forms.ChoiceField(label=gettext_lazy("Prompt"))
    llm = forms.CharField(label=gettext_lazy("Model"), required=False, max_length=200)


@require_safe
def graders(request: HtmxRequest, slug: str) -> HttpResponse:
    """One grader of the list; of the collection's own without `grader` in the address."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = _page(collection, request.GET.dict())
    return page_or_part(request, PAGE, context, part="ask")


@require_POST
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a worker ask about one passage."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = _page(collection, request.POST.dict(), is_sent=True)
    form, sample, guide = context["form"], context["sample"], context["guide"]
    if reason := _why_not(form, sample):
        return form_response(request, PAGE, context | {"reason": reason}, part="dry_run", status=422)
    prompt = _prompts(collection, guide)[form.cleaned_data["prompt"]]
    llm = form.cleaned_data.get("llm", "").strip()
    dry_run = dry_runs.start_dry_run(
        collection, prompt, sample, backend=guide.backend_name, llm=llm, by=request.user
    )
    to = reverse("prompts:asked", args=[slug, dry_run.pk])
    return after_post(request, "prompts/_dry_run.html", _asked(dry_run), to=to)


@require_safe
def asked(request: HtmxRequest, slug: str, dry_run_id: int) -> HttpResponse:
    dry_run = access.dry_run_for(request.user, slug, dry_run_id)
    sent = {
        "grader": dry_run.backend,
        "prompt": named(dry_run.prompt),
        "llm": dry_run.llm,
        "topic": str(dry_run.topic_id),
        "item": str(dry_run.revision_id or ""),
        "passage_1": dry_run.doc_ids[0],
    }
    context = _page(dry_run.collection, sent) | _asked(dry_run)
    return page_or_part(request, PAGE, context, part="dry_run")


def _why_not(form: AskForm, sample: Sample | None) -> str:
    """Return why nothing can be asked, or nothing."""
    if sample is None:
        return gettext("Import topics and passages first.")
    if not sample.doc_ids:
        return gettext("The pool of topic %(topic)s has no passages.") % {"topic": sample.topic.query_id}
    if not form.is_valid():
        return " ".join(str(error) for errors in form.errors.values() for error in errors)
    return why_not_ask(sample)


def _page(collection: Collection, sent: Mapping[str, str], *, is_sent: bool = False) -> dict[str, Any]:
    guide = guide_of(sent.get("grader", collection.grader_backend))
    offered = _prompts(collection, guide)
    form = _form(collection, guide, sent, is_sent=is_sent)
    prompt = offered.get(str(form["prompt"].value()), next(iter(offered.values())))
    return {
        "collection": collection,
        "section": "settings",
        "guides": GUIDES,
        "guide": guide,
        "example": example_of(guide),
        "form": form,
        "is_direct": prompt.purpose is Purpose.DIRECT,
        "sample": _one_passage(collection, prompt, sent),
    }


def _form(collection: Collection, guide: Guide, sent: Mapping[str, str], *, is_sent: bool) -> AskForm:
    is_own = guide.backend_name == collection.grader_backend
    llm = collection.grader_llm if is_own else guide.backend.default_llm
    form = AskForm(
        sent if is_sent else None, initial={"llm": llm, "prompt": named(guide.prompt)} | dict(sent)
    )
    offer_choices(
        form, "prompt", [(name, _titled(prompt)) for name, prompt in _prompts(collection, guide).items()]
    )
    if not guide.backend.needs_model:
        del form.fields["llm"]
    return form


def _prompts(collection: Collection, guide: Guide) -> dict[str, Prompt]:
    """By name: published and own ones, without those that ask about an extracted answer."""
    own = [prompt for prompt in own_prompts(collection) if guide.backend.asks(prompt)]
    return {named(prompt): prompt for prompt in (*guide.backend.choices, *own) if not prompt.needs_answer}


def _titled(prompt: Prompt) -> str:
    """What it asks, then its name."""
    return f"{prompt.summary} ({named(prompt)})" if prompt.summary else named(prompt)


def _one_passage(collection: Collection, prompt: Prompt, sent: Mapping[str, str]) -> Sample | None:
    sample = sample_of(collection, prompt.kinds, sent)
    return sample and Sample(sample.topic, sample.items, sample.passages, sample.revision, sample.doc_ids[:1])


def _asked(dry_run: DryRun) -> dict[str, Any]:
    """What came of it, and what all cells of the collection would cost."""
    rate = _measured_rate(dry_run)
    return screens.dry_run_context(dry_run) | {
        "collection": dry_run.collection,
        "again": reverse("prompts:asked", args=[dry_run.collection.slug, dry_run.pk]),
        "whole": _whole(dry_run, rate),
        "is_measured": rate is not None,
    }


def _measured_rate(dry_run: DryRun) -> float | None:
    """Cells a second in earlier jobs of the same grader; None where it had none."""
    config = GraderConfig.objects.filter(fingerprint=dry_runs.spec_of(dry_run).fingerprint).first()
    return measured_rate(config) if config else None


def _whole(dry_run: DryRun, rate: float | None) -> Price | None:
    """The price of every cell: at the measured rate, else one after the other; None until it is done."""
    if not dry_run.seconds:
        return None
    config = config_draft(dry_runs.spec_of(dry_run))
    return price_of_all(dry_run.collection, config, rate=rate or len(dry_run.doc_ids) / dry_run.seconds)
