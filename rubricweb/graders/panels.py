"""Panels on the graders' page: how many judges each is worth, its members beside people, and the form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from grading.graders.panel import MOST_MEMBERS, Panel, panel_of
from grading.measures import registry
from grading.statistics.panel import EffectiveJudges, PanelRule
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.campaigns.selectors import check_address
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import Context, HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import actions, visibility
from rubricweb.grades.configs import kinds_of, planned_configs, spec_of
from rubricweb.grades.engine.stages import stages
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.grades.panel_making import (
    RatedVotes,
    RepeatedGrader,
    panels_of,
    rated_votes,
    repeated,
)
from rubricweb.grades.panels import PanelChoice, is_panel, members, panel_members
from rubricweb.grades.raters import Rater, graded_raters, rater_choices

RULES = {
    PanelRule.MAJORITY: "Majority: the most frequent rating",
    PanelRule.MEDIAN: "Median, of an even number the lower",
    PanelRule.WEIGHTS: "Weighted median, by weights learned from people's ratings",
    PanelRule.FIRST: "One member decides; where it did not grade, the median of the others",
}
SHORT_RULES = {
    PanelRule.MAJORITY: "majority",
    PanelRule.MEDIAN: "the median",
    PanelRule.WEIGHTS: "a median weighted by agreement with people",
    PanelRule.FIRST: "its first member, else the median of the others",
}


class PanelForm(forms.Form):
    """The members of a new panel, and its rule."""

    members = forms.MultipleChoiceField(label="Members", widget=forms.CheckboxSelectMultiple)
    rule = forms.ChoiceField(
        label="Rule",
        choices=[(rule.value, label) for rule, label in RULES.items()],
        initial=PanelRule.MAJORITY.value,
        widget=forms.RadioSelect,
    )
    first = forms.ChoiceField(label="Deciding member", required=False, help_text="For the last rule only.")
    quorum = forms.IntegerField(
        label="Ratings needed",
        required=False,
        min_value=1,
        max_value=MOST_MEMBERS,
        help_text="Empty: more than half of the members.",
    )
    panel_name = forms.CharField(
        label="Name", required=False, max_length=120, help_text="Empty: the names of its members."
    )

    def offer(self, raters: tuple[Rater, ...]) -> None:
        self.raters = {str(rater.pk): rater for rater in raters}
        offer_choices(self, "members", rater_choices(raters))
        offer_choices(self, "first", [("", "The first ticked"), *rater_choices(raters)])

    def clean(self) -> dict[str, Any]:
        chosen = self.cleaned_data
        if chosen.get("rule") == PanelRule.FIRST and (first := chosen.get("first")):
            if first not in chosen.get("members", ()):
                raise forms.ValidationError("The deciding member must be ticked.")
            chosen["members"] = [first, *(pk for pk in chosen["members"] if pk != first)]
        return chosen

    @property
    def groups(self) -> list[tuple[GraderConfig, ...]]:
        return [self.raters[pk].configs for pk in self.cleaned_data["members"]]

    @property
    def choice(self) -> PanelChoice:
        chosen = self.cleaned_data
        return PanelChoice(PanelRule(chosen["rule"]), chosen["panel_name"], chosen["quorum"] or 0)


@dataclass(frozen=True, slots=True)
class PanelMember:
    """A member and its agreement, in words; empty where it is undefined."""

    config: GraderConfig
    same: str
    kappa: str
    weight: float | None
    """The mean of its weights over the folds; None without learned ones."""
    attempts: str
    """How far it agrees with other attempts of itself; empty without any."""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A panel in the list."""

    config: GraderConfig
    what: str
    """What it grades, by which rule, and from how many ratings on."""
    has_weights: bool
    effective: EffectiveJudges | None
    """None for readers who have pairs to rate blind."""
    same: str
    kappa: str
    """The panel's own agreement with people, on the same pairs; empty until all are combined."""
    members: list[PanelMember]
    to_combine: int
    board: str
    """The address of its board with a column for each member."""
    escalate: str
    """The address of what the chosen grader would take for the pairs on which its members disagree.

    Empty where that grader does other work, as one of items beside a panel of labels.
    """
    check: str
    """The address of a new campaign that checks it; empty for labels."""
    check_disagreeing: str
    """The same over the pairs on which its members disagree."""


def panels_context(collection: Collection) -> Context:
    """Return the panels of the collection, and the form of a new one."""
    form = new_panel_form(collection)
    return {
        "panels": [_row(collection, config) for config in panels_of(collection)],
        "panel_form": form,
        "can_form": len(form.raters) > 1,
    }


def panel_candidates(collection: Collection) -> tuple[Rater, ...]:
    """Return the graders that can be members of a panel: those that rated items or labelled passages here."""
    fitting = (Purpose.RATE, Purpose.DIRECT)
    return tuple(
        rater
        for rater in graded_raters(collection)
        if rater.purpose in fitting and not is_panel(rater.configs[0])
    )


def _row(collection: Collection, config: GraderConfig) -> PanelRow:
    panel, voters = panel_of(spec_of(config)), members(config)
    is_direct = config.purpose == Purpose.DIRECT
    is_hidden = bool(visibility.hidden_count(collection.pk))
    rated = None if is_hidden else rated_votes(collection, voters)
    to_combine = sum(part.cells for part in stages(collection, [config]).at_once)
    own = None if is_hidden or to_combine else rated_votes(collection, [*voters, config])
    means = [sum(column) / len(column) for column in zip(*panel.weights, strict=True)]
    rows = [
        PanelMember(
            voter,
            *_agreement(rated, number),
            means[number] if means else None,
            ", ".join(_attempt(each) for each in repeated(collection, voter)),
        )
        for number, voter in enumerate(voters)
        if voter
    ]
    return PanelRow(
        config,
        _what(config, panel),
        panel.rule == PanelRule.WEIGHTS,
        rated.effective if rated else None,
        *_agreement(own, len(voters)),
        rows,
        to_combine,
        board_address(collection, config),
        _escalation_address(collection, config),
        "" if is_direct else check_address(collection, config),
        "" if is_direct else check_address(collection, config, cells="disagreeing", order="disagreement"),
    )


def _what(config: GraderConfig, panel: Panel) -> str:
    kinds = " and ".join(f"{kind}s" for kind in sorted(kinds_of(config), reverse=True))
    does = "Labels passages" if config.purpose == Purpose.DIRECT else f"Rates {kinds}"
    needed = counted(panel.quorum, "rating")
    return f"{does} by {SHORT_RULES[panel.rule]}. A pair needs {needed} of its members."


def _agreement(rated: RatedVotes | None, member: int) -> tuple[str, str]:
    """Return the share of equal ratings and kappa."""
    same, kappa = (rated.same(member), rated.kappa(member)) if rated else (math.nan, math.nan)
    return "" if math.isnan(same) else f"{same:.0%}", "" if math.isnan(kappa) else f"{kappa:z.2f}"


def _attempt(each: RepeatedGrader) -> str:
    return f"{each.same:.0%} of {counted(each.cells, 'pair')}"


def board_address(collection: Collection, config: GraderConfig) -> str:
    """Return the address of the board by the panel, beside what each member alone would say."""
    is_direct = config.purpose == Purpose.DIRECT
    name = registry.DEFAULT_OF_LABELS if is_direct else registry.DEFAULT
    columns = " ".join(f"grader-{member.pk}/{name}" for member in panel_members(config))
    query = urlencode({"grader": config.pk, "columns": columns})
    return f"{reverse('leaderboards:board', args=[collection.slug])}?{query}"


def _escalation_address(collection: Collection, config: GraderConfig) -> str:
    if not any(chosen.purpose == config.purpose for chosen in planned_configs(collection)):
        return ""
    query = urlencode({"missing": 1, "unsure": config.pk})
    return f"{reverse('grades:jobs', args=[collection.slug])}?{query}"


def new_panel_form(collection: Collection, submitted: Any = None) -> PanelForm:
    """Return the form of a panel of those who graded here."""
    form = PanelForm(submitted)
    form.offer(panel_candidates(collection))
    return form


@require_POST
def combine(request: HtmxRequest, slug: str, panel_id: int) -> HttpResponse:
    """Combine what the members have graded since; it costs nothing."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    config = next((each for each in panels_of(collection) if each.pk == panel_id), None)
    if config is None:
        raise Http404("No such panel.")
    started = actions.start_grading(collection, by=request.user, configs=[config])
    messages.success(request, announced(started))
    return _back(slug)


def announced(started: list[GradingJob]) -> str:
    cells = sum(job.total for job in started)
    return f"Combining the ratings of {counted(cells, 'pair')}." if started else "Nothing is left to combine."


def _back(slug: str) -> HttpResponse:
    return redirect(f"{reverse('graders:graders', args=[slug])}#panels")
