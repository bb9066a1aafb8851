"""What the prompt pages show, as context of their templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from grading import prompts
from grading.prompts import Prompt
from grading.types import ItemKind, Outcome
from rubricweb.core.http import parse_id
from rubricweb.corpus.models import Collection, OwnPrompt
from rubricweb.corpus.prompts import active_prompts
from rubricweb.grades.models import Grade
from rubricweb.prompts import dry_runs
from rubricweb.prompts.dry_runs import DryRunReply
from rubricweb.prompts.forms import (
    ASKS,
    PromptForm,
    TrialForm,
    initial_of,
    model_form,
    passage_fields,
    why_not_ask,
)
from rubricweb.prompts.models import DryRun
from rubricweb.prompts.samples import Sample, pairs_of, sample_of, shown, spec_of_dry_run

HOW = dict(Grade.How.choices)


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A saved prompt as it is listed."""

    row: OwnPrompt
    prompt: Prompt
    is_asked: bool
    """Re-grade uses it."""

    @property
    def asks(self) -> str:
        return ASKS[initial_of(self.prompt)["asks"]][0]


@dataclass(frozen=True, slots=True)
class Read:
    """What a worker brought for one passage, and how the reply was read."""

    result: DryRunReply
    label: str
    """The rating's name, where it has one besides the number."""

    @property
    def is_failed(self) -> bool:
        return self.result.outcome == Outcome.FAILED

    @property
    def how(self) -> str:
        return str(HOW[self.result.outcome])

    @property
    def outcome(self) -> str:
        """In few words: "rating 3", "failed"."""
        if self.is_failed or self.result.rating is None:
            return self.how
        return gettext("rating %(rating)s") % {"rating": self.label or self.result.rating}


def listed(collection: Collection) -> dict[str, object]:
    """The saved prompts, and the published ones to start from."""
    asked = {prompt.prompt_id for prompt in active_prompts(collection)}
    rows = [
        PromptRow(row, row.prompt, row.prompt_id in asked)
        for row in collection.prompts.select_related("by").order_by("-pk")
    ]
    return {
        "prompt_rows": [row for row in rows if not row.row.is_put_away],
        "away": [row for row in rows if row.row.is_put_away],
        "published": [prompt for prompt in prompts.known() if prompt.placeholders],
    }


def tried(
    collection: Collection, form: PromptForm, said: Mapping[str, Any], dry_run: DryRun | None = None
) -> dict[str, object]:
    """Beside the form: the sample, the prompt as a model would be told it, and the last dry run."""
    _, kind, _ = ASKS.get(str(form["asks"].value()), ASKS["questions"])
    sample = dry_runs.sample_of_dry_run(dry_run) if dry_run else sample_of(collection, {kind}, said)
    model = (
        model_form(collection, initial={"backend": dry_run.backend, "llm": dry_run.llm})
        if dry_run
        else model_form(collection, said if form.is_bound else None)
    )
    context: dict[str, object] = {
        "sample": sample,
        "sample_problem": why_not_ask(sample) if sample else "",
        "passage_fields": passage_fields(sample) if sample else [],
        "model_form": model,
        "is_direct": kind is ItemKind.DIRECT,
        "shown": _shown(collection, form, sample, model),
    }
    return context | (dry_run_context(dry_run) if dry_run else {})


def dry_run_context(dry_run: DryRun) -> dict[str, object]:
    """A dry run with what was replied."""
    prompt = dry_run.prompt
    read = [Read(said, _label(prompt, said.rating)) for said in dry_runs.results(dry_run)]
    return {
        "dry_run": dry_run,
        "read": read,
        "news": _news(dry_run, read),
        "again": reverse("prompts:dry-run", args=[dry_run.collection.slug, dry_run.pk]),
    }


def _news(dry_run: DryRun, read: list[Read]) -> str:
    """Return the one sentence that is announced."""
    words = {"llm": dry_run.llm}
    if dry_run.is_live:
        return gettext("Asking %(llm)s…") % words
    if dry_run.state == DryRun.State.FAILED:
        return gettext("%(llm)s was not asked.") % words
    if not read:
        return gettext("You still have to rate this pair blind.")
    outcomes = "; ".join(each.outcome for each in read)
    return gettext("%(llm)s replied: %(outcomes)s.") % {**words, "outcomes": outcomes}


def start_from(collection: Collection, said: Mapping[str, str]) -> PromptForm:
    """Empty, or like the saved prompt `from` or the published class `like`; that then needs its own name."""
    row = collection.prompts.filter(pk=parse_id(said.get("from", ""))).first()
    published = next((one for one in prompts.known() if one.prompt_class == said.get("like")), None)
    if row:
        return PromptForm(initial=initial_of(row.prompt))
    if published and published.placeholders:
        return PromptForm(initial=initial_of(published) | {"name": f"My{published.prompt_class}"[:64]})
    return PromptForm()


def _shown(
    collection: Collection, form: PromptForm, sample: Sample | None, model: TrialForm
) -> list[object] | None:
    """None while the prompt cannot be asked."""
    bound = form if form.is_bound else PromptForm(form.initial)
    if sample is None or not bound.is_valid():
        return None
    backend, llm = str(model["backend"].value() or ""), str(model["llm"].value() or "")
    spec = spec_of_dry_run(collection, bound.prompt, backend, llm)
    return list(shown(bound.prompt, pairs_of(sample, bound.prompt, spec)))


def _label(prompt: Prompt, rating: int | None) -> str:
    name = "" if rating is None else prompt.label_of(rating)
    return "" if name == str(rating) else name
