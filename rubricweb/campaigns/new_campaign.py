"""A new campaign: three questions and a live preview; everything else has an answer, under Details."""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from grading.statistics.max_t import ALPHA, pairwise_p
from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.campaigns import actions, ordering, selectors
from rubricweb.campaigns.actions import UnfitCampaign
from rubricweb.campaigns.forms import CampaignForm, members_who_rate
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice, ChoiceInputs, ChosenCells, drawn_from
from rubricweb.campaigns.selectors import rating_pace
from rubricweb.core.formatting import counted, number
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.selectors import banks

if TYPE_CHECKING:
    from django.http import QueryDict


SURE = NormalDist().inv_cdf(0.975)
"""A pair is settled if its difference is larger than so many standard deviations of what is not rated."""


@dataclass(frozen=True, slots=True)
class ClosePair:
    """Two neighbouring runs whose order the grader's errors could turn."""

    upper: str
    lower: str
    chance: float
    """The chance that the grader's errors cannot turn their order, once the campaign's cells are rated."""
    is_clear: bool
    """Whether the topics tell the two apart by the grader, as leaderboards decide it."""

    @property
    def is_likely(self) -> bool:
        """Return whether the leaderboard will probably call their order clear."""
        return self.is_clear and self.chance >= 0.5


@dataclass(frozen=True, slots=True)
class PlanPreview:
    cells: int
    population: int
    """How many cells match the choice."""
    passages: int
    items: int
    assessors: int
    """Assessors per cell."""
    raters: int
    """Who may rate."""
    seconds: float
    """Seconds per rating."""
    is_measured: bool
    """The pace is that of people who rated here."""
    pairs: tuple[ClosePair, ...]
    """Close pairs, from the top of the leaderboard."""
    cutoff: int
    half_width: float | None = None
    """Half the width of a middling run's interval; None where that is not known before."""
    more: tuple[int, float] | None = None
    """The number of cells of a sample twice as large, and its half-width."""
    textless: int = 0
    """Pairs that are left out, since their passages have no text."""
    is_of_sums: bool = False
    """A sample for scores that are sums, of which no pairs of Rubric-Cover are told."""

    @property
    def ratings(self) -> int:
        return self.cells * self.assessors

    @property
    def total(self) -> float:
        """Return the seconds of everybody together."""
        return self.ratings * self.seconds

    @property
    def hours(self) -> float:
        return self.total / 3_600

    @property
    def summary(self) -> str:
        counts = f"{counted(self.cells, 'pair')}, {number(round(self.hours, 1), 1)} hours in total."
        return f"{counts} {self.too_few}".strip()

    @property
    def too_few(self) -> str:
        """Return why the campaign could not be finished, as a sentence: a person rates a cell once."""
        if self.raters >= self.assessors:
            return ""
        who = "1 can" if self.raters == 1 else f"{self.raters} can"
        return f"Each pair needs {self.assessors} people, and only {who} rate: no pair would be finished."

    @property
    def each(self) -> float:
        """Return seconds of one person, if they share alike."""
        return self.total / self.raters if self.raters else self.total

    @property
    def once_more(self) -> float:
        """Return seconds of one more assessor per cell."""
        return self.cells * self.seconds

    @property
    def likely(self) -> int:
        return sum(pair.is_likely for pair in self.pairs)

    @property
    def clear_pairs(self) -> tuple[ClosePair, ...]:
        """Return the close pairs that the topics tell apart."""
        return tuple(pair for pair in self.pairs if pair.is_clear)


def preview_of(
    choice: CellChoice, plan: actions.CampaignPlan, *, everybody: int, seconds: float | None
) -> PlanPreview:
    """Return what the campaign would ask of people, and which close pairs of runs it would settle.

    `everybody` is the number of assessors, `seconds` what the organizer expects of one rating.

    Random cells are drawn once, by a fixed seed; the campaign will draw others.
    """
    inputs = ChoiceInputs(choice)
    drawn = drawn_from(inputs, seed=1)
    is_of_sums = choice.cells in (Campaign.Cells.ANSWERS, Campaign.Cells.PASSAGES)
    pace = rating_pace(choice.bank.collection)
    return PlanPreview(
        cells=len(drawn.cells),
        population=drawn.population,
        passages=len({(cell.topic, cell.passage) for cell in drawn.cells}),
        items=len({cell.item for cell in drawn.cells}),
        assessors=plan.assessors,
        raters=len(plan.assignees) or everybody,
        seconds=seconds or pace.seconds,
        is_measured=pace.is_measured and not seconds,
        pairs=() if is_of_sums else close_pairs(inputs, drawn),
        cutoff=choice.cutoff,
        half_width=drawn.half_width,
        more=_with_more(inputs, drawn),
        textless=drawn.textless,
        is_of_sums=is_of_sums,
    )


def _with_more(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[int, float] | None:
    """Return the number of cells, and the half-width, of a sample of twice the size, if there are more."""
    if not drawn.half_width or len(drawn.cells) >= drawn.population:
        return None
    twice = copy(inputs)
    twice.choice = replace(inputs.choice, size=2 * len(drawn.cells))
    larger = drawn_from(twice, seed=1)
    return None if larger.half_width is None else (len(larger.cells), larger.half_width)


def close_pairs(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[ClosePair, ...]:
    """Return the neighbouring runs by Rubric-Cover@k that errors of the grader could swap.

    Each cell that nobody rated may change sides of the threshold with `ordering.flip_chances`, independently;
    the variance of a pair's difference is the sum over the cells that alone decide it for one of the two. A
    pair is close if the difference is below `SURE` standard deviations. Rating the drawn cells takes their
    variance away and moves the difference by as much; the chance is that what then remains is too little to
    turn it. Whether the topics tell the two apart is another question, which `max_t` answers for all pairs of
    runs together, as on the leaderboard.
    """
    means = inputs.means
    if len(means) < 2:
        return ()
    before, after = _variances(inputs, drawn)
    order = np.argsort(-means, kind="stable")
    gaps = -np.diff(means[order])
    names = [inputs.pool.run_tags[at] for at in order]
    chances = settling_chances(gaps, before, after)
    is_close = gaps < SURE * np.sqrt(before)
    p = pairwise_p(inputs.scores)[order[:-1], order[1:]] if is_close.any() else np.ones(len(gaps))
    return tuple(
        ClosePair(names[at], names[at + 1], float(chances[at]), bool(p[at] <= ALPHA))
        for at in np.flatnonzero(is_close).tolist()
    )


def _variances(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[ordering.Floats, ordering.Floats]:
    """Return the variances of each neighbouring pair's difference: before and after the campaign."""
    human = human_matrices(inputs.pool)
    chosen: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for cell in drawn.cells:
        chosen[cell.topic].add((cell.passage, cell.revision))
    before = np.zeros(max(len(inputs.means) - 1, 0))
    after = before.copy()
    for sheet in inputs.sheets:
        uids = [column.item_column.uid for column in sheet.columns]
        rated = human[sheet.pool.topic_id].matrix.columns(uids).ratings >= 0
        chances = np.where(rated, 0.0, ordering.flip_chances(sheet.cells, inputs.checked))
        doubts = ordering.pair_doubts(sheet.cells, chances, inputs.means, len(inputs.sheets))
        places = chosen[sheet.pool.topic_id]
        is_drawn = np.array(
            [[(pk, column.revision) in places for column in sheet.columns] for pk in sheet.pool.passage_pks]
        )
        before += doubts.sum(axis=(1, 2))
        after += (doubts * ~is_drawn).sum(axis=(1, 2))
    return before, after


def settling_chances(
    gaps: ordering.Floats, before: ordering.Floats, after: ordering.Floats
) -> ordering.Floats:
    """Return each pair's probability to end beyond `SURE` standard deviations of what remains.

    A difference of 0.1 that half of a variance of 0.01 may still move:

    >>> two = settling_chances(np.full(2, 0.1), np.full(2, 0.01), np.array([0.005, 0.0]))
    >>> two.round(2).tolist()
    [0.29, 1.0]
    """
    from scipy.special import ndtr  # a tenth of a second that commands start without

    margin, moved = SURE * np.sqrt(after), np.sqrt(np.maximum(before - after, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        within = ndtr((margin - gaps) / moved) - ndtr((-margin - gaps) / moved)
    chances = np.where(moved > 0, 1 - within, gaps > margin)
    return np.asarray(np.where(after > 0, chances, 1.0), dtype=np.float64)


PAGE = "campaigns/queue/campaign_new.html"
SAMPLE, SAMPLES = 400, (100, 200, 400, 800)
QUESTIONS = {
    "right": "Is the grader right? A random sample over all grades and topics.",
    "runs": "Settle close runs: first the grades whose errors could swap neighbouring runs.",
    "gaps": "Fill gaps: pairs where the grader failed or was unsure.",
}
PRESETS: dict[str, dict[str, Any]] = {
    "right": {"cells": Campaign.Cells.ALL, "order": Campaign.Order.RANDOM, "random_percent": 100},
    "runs": {"cells": Campaign.Cells.ALL, "order": Campaign.Order.LEADERBOARD, "random_percent": 20},
    "gaps": {"cells": Campaign.Cells.UNSURE, "order": Campaign.DEFAULT_ORDER, "random_percent": 20},
}
"""The fields that each question fills; those under Details may say otherwise."""
MODES = {
    Campaign.Mode.BLIND: "Blind: people see the grade only after their own. Needed to judge the grader.",
    Campaign.Mode.ASSISTED: "Assisted: people see the grade. A third faster, but they tend to follow it.",
    Campaign.Mode.MIXED: "Mixed: half and half at random. Measures how far the grade sways people.",
}
FROM_QUESTION = ("", "as chosen in question 1")


def _sample_label(cells: int, seconds: float) -> str:
    """Say the time at `seconds` a rating, and the widest 95 % interval of a share of so many cells."""
    minutes, points = cells * seconds / 60, 98 / cells**0.5
    time = f"{minutes:.0f} min" if minutes < 60 else f"{minutes / 60:.1f} h"
    return f"{counted(cells, 'pair')}: {time}, shares to within {points:.0f} points"


class NewCampaignForm(CampaignForm):
    """The three questions; what is left empty under Details follows from them."""

    question = forms.ChoiceField(
        label="What do you want to know?",
        choices=list(QUESTIONS.items()),
        initial="right",
        required=False,
        widget=forms.RadioSelect,
    )
    sample = forms.TypedChoiceField(
        label="Sample",
        coerce=int,
        empty_value=None,
        initial=SAMPLE,
        required=False,
        widget=forms.RadioSelect,
    )
    hours = forms.FloatField(
        label="Hours each",
        min_value=0.1,
        max_value=1_000,
        required=False,
    )

    def __init__(self, collection: Collection, banks: list[Bank], data: QueryDict | None = None) -> None:
        super().__init__(collection, banks, data)
        self.collection = collection
        self.pace = rating_pace(collection).seconds
        samples = [(cells, _sample_label(cells, self.pace)) for cells in SAMPLES]
        self.fields["sample"].choices = samples  # type: ignore[attr-defined]
        fits = f"Optional. The sample shrinks to what fits, at {self.pace:.0f} s a rating."
        self.fields["hours"].help_text = fits
        for name in ("cells", "order", "random_percent"):
            self.fields[name].required = False
        for name in ("cells", "order"):
            field = self.fields[name]
            field.choices = [FROM_QUESTION, *field.choices]  # type: ignore[attr-defined]
            field.widget = forms.Select(choices=field.choices)  # type: ignore[attr-defined]
        for name in ("cells", "order", "random_percent", "size"):
            self.fields[name].initial = None
        if data is None:
            base = f"Check of {timezone.localdate():%-d %B}"
            taken = set(self.collection.campaigns.values_list("name", flat=True))
            names = (base, *(f"{base} ({number})" for number in range(2, len(taken) + 3)))
            self.fields["name"].initial = next(name for name in names if name not in taken)
        self.fields["size"].help_text = "Instead of the sample above."
        self.fields["mode"].label = "Blind or not?"
        self.fields["mode"].choices = list(MODES.items())  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        question = cleaned.get("question") or "right"
        for name, value in PRESETS[question].items():
            if name not in self.errors and cleaned.get(name) in (None, ""):
                cleaned[name] = value
        if not set(self.errors) - {"name"}:
            cleaned["size"] = self._size(cleaned)
        return super().clean()

    def _size(self, cleaned: dict[str, Any]) -> int | None:
        size: int | None = cleaned["size"] or cleaned["sample"]
        if not cleaned["hours"]:
            return size
        raters = len(cleaned["assignees"]) or members_who_rate(self.collection).count()
        seconds = cleaned.get("seconds") or self.pace
        fits = int(cleaned["hours"] * 3_600 / seconds * raters / cleaned["assessors"])
        return max(1, min(size or fits, fits))


@require_http_methods(["GET", "HEAD", "POST"])
def campaign_new(request: HtmxRequest, slug: str) -> HttpResponse:
    """Ask the three questions; POST opens the campaign."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = NewCampaignForm(collection, banks(collection), request.POST if request.method == "POST" else None)
    form.suggest(request.GET)
    if form.is_valid():
        try:
            campaign = actions.open_campaign(form.choice, form.plan, by=request.user)
        except UnfitCampaign as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Campaign opened: {counted(campaign.cells.count(), 'pair')}.")
            return redirect("campaigns:campaign", slug, campaign.pk)
    return form_response(request, PAGE, {"collection": collection, "form": form})


@require_POST
def campaign_preview(request: HtmxRequest, slug: str) -> HttpResponse:
    """Say what the campaign would ask of people and settle, as far as its form is filled in."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = NewCampaignForm(collection, banks(collection), request.POST)
    context: dict[str, Any] = {"collection": collection, "form": form}
    if form.can_preview():
        everybody = members_who_rate(collection).count()
        seconds = form.cleaned_data.get("seconds")
        context |= {
            "preview": preview_of(form.choice, form.plan, everybody=everybody, seconds=seconds),
            "drawn": selectors.drawn_rows(collection, form.drawn_topics()),
            "follows_grader": form.cleaned_data["question"] == "right"
            and form.cleaned_data["mode"] != Campaign.Mode.BLIND,
        }
    return render(request, "campaigns/queue/_preview.html" if request.htmx else PAGE, context)
