"""Try items and weights on the leaderboard, and save them.

A weight trial: items switched on or off, alone or reweighted, and the board that results. Nothing is
saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from grading.measures import cover, registry
from grading.statistics import influence
from grading.types import GradeMatrix, Importance, ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import access, actions, changes, selectors
from rubricweb.banks.models import LEAST_WEIGHT, MOST_WEIGHT, Bank, Item
from rubricweb.core.formatting import counted, rank_span
from rubricweb.core.http import HtmxRequest, form_response, part_or_redirect
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.editor.bank import TOPIC_PAGE, topic_frame
from rubricweb.editor.forms import FiguresForm, board_graders, rating_graders
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import (
    MeasureSpec,
    RankIntervals,
    Scores,
    ScoreTable,
    Uids,
    Weights,
    item_scores,
    rank_intervals,
    score_table,
)

LOOK = "look"


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of an item in a trial."""

    is_on: bool
    weight: float


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A run, before and after."""

    run_tag: str
    rank_before: int
    rank: int
    score_before: float
    score: float
    possible: str
    """The rank interval before: "2-5"."""
    is_beyond: bool
    """The new rank lies outside of it."""

    @property
    def rose(self) -> int:
        return self.rank_before - self.rank

    @property
    def fell(self) -> int:
        return -self.rose


@dataclass(frozen=True, slots=True)
class Trial:
    """The whole board, best run first."""

    rows: tuple[TrialRow, ...]
    swapped_pairs: int
    is_as_now: bool
    """The settings are how the bank stands."""
    ignores_weights: bool
    """Weights were changed, and the measure scores as with the old ones."""

    @property
    def largest_change(self) -> float:
        """Return the largest change of a score."""
        return max((abs(row.score - row.score_before) for row in self.rows), default=0.0)

    @property
    def n_beyond(self) -> int:
        return sum(row.is_beyond for row in self.rows)

    @property
    def moved(self) -> list[TrialRow]:
        return [row for row in self.rows if row.rose]


@dataclass(frozen=True, slots=True)
class _BoardItem:
    pk: int
    uid: str
    importance: Importance
    weight: float


def trial_of(
    bank: Bank, topic: Topic, config: GraderConfig, measure: MeasureSpec, settings: Mapping[int, Setting]
) -> Trial:
    """Return the board with these settings of the topic's items, by pk; the others stay as they are.

    All other topics come from the cache, so only one topic is scored again.
    """
    pool = collection_pool(bank.collection)
    grades = matrices(config, pool)
    by_topic = _board_items(bank, config)
    items: dict[int, Uids] = {pk: tuple(item.uid for item in listed) for pk, listed in by_topic.items()}
    weights = {
        pk: tuple((item.importance, item.weight) for item in listed) for pk, listed in by_topic.items()
    }
    table = score_table(pool, grades, items, measure, weights)
    listed = by_topic.get(topic.pk, [])
    all_set = [(item, settings.get(item.pk) or Setting(is_on=True, weight=item.weight)) for item in listed]
    tried = [(item, setting) for item, setting in all_set if setting.is_on]
    matrix = grades[topic.pk].matrix.columns([item.uid for item, _ in tried])
    new = tuple((item.importance, setting.weight) for item, setting in tried)
    old = tuple((item.importance, item.weight) for item, _ in tried)
    column = _scores(matrix, grades[topic.pk].pool, measure, new)
    scores = table.scores.copy()
    scores[:, table.topic_ids.index(topic.pk)] = column
    return _compared(
        table,
        ScoreTable(table.run_tags, table.topic_ids, scores),
        measure,
        intervals=rank_intervals(measure.merits(table.scores)) if measure.bootstraps_by_topic else None,
        is_as_now=new == old and len(tried) == len(listed),
        ignores_weights=new != old and _same(column, _scores(matrix, grades[topic.pk].pool, measure, old)),
    )


def _same(scores: Scores, others: Scores) -> bool:
    return bool(np.allclose(scores, others, rtol=0, atol=1e-12, equal_nan=True))


def _board_items(bank: Bank, config: GraderConfig) -> dict[int, list[_BoardItem]]:
    """Return the graded items by topic; of two with the same wording the first counts."""
    rows = bank.all_items.active().of_kinds(kinds_of(config)).order_by("topic_id", "position", "pk")
    by_topic: dict[int, dict[str, _BoardItem]] = {}
    fields = ("topic_id", "pk", "revision__uid", "importance", "weight")
    for topic_id, pk, uid, importance, weight in rows.values_list(*fields):
        by_topic.setdefault(topic_id, {}).setdefault(uid, _BoardItem(pk, uid, Importance(importance), weight))
    return {topic_id: list(listed.values()) for topic_id, listed in by_topic.items()}


def _scores(matrix: GradeMatrix, pool: TopicPool, measure: MeasureSpec, weights: Weights) -> Scores:
    """Return scores, not cached: the same weights are rarely tried twice."""
    if not weights:
        return np.full(pool.n_runs, np.nan)
    return item_scores(pool, matrix, measure, weights)


def _compared(
    now: ScoreTable,
    tried: ScoreTable,
    measure: MeasureSpec,
    *,
    intervals: RankIntervals | None,
    is_as_now: bool,
    ignores_weights: bool,
) -> Trial:
    before, after = now.means(), tried.means()
    old, new = (influence.ranks(measure.merits(means)).tolist() for means in (before, after))
    rows = []
    for run, tag in enumerate(now.run_tags):
        first, last = intervals.possible(run) if intervals else (1, len(old))
        possible, is_beyond = rank_span(first, last), not first <= new[run] <= last
        scores = float(before[run]), float(after[run])
        rows.append(TrialRow(tag, old[run], new[run], *scores, possible, is_beyond))
    return Trial(
        tuple(sorted(rows, key=lambda row: (row.rank, row.rank_before))),
        len(influence.swapped_pairs(before, after)),
        is_as_now=is_as_now,
        ignores_weights=ignores_weights,
    )


class WeightTrialForm(forms.Form):
    """`on` names the items that are asked, `solo` the only one; each item has a weight and the version seen.

    Without `tried`, the address has no settings: everything stays as it is.
    """

    measure = forms.ChoiceField(
        choices=lambda: [(measure.name, measure.label) for measure in registry.item_measures()],
        required=False,
        widget=forms.Select({"form": "trial-items"}),
    )

    def __init__(self, address: QueryDict, items: list[Item]) -> None:
        super().__init__(address if "tried" in address else _standing(address, items), auto_id="trial-%s")
        self.items = items
        self._address = address
        listed = self.fields
        choices = [(str(item.pk), str(item)) for item in items]
        listed["on"] = forms.MultipleChoiceField(choices=choices, required=False)
        listed["solo"] = forms.ChoiceField(choices=[("", "none"), *choices], required=False)
        for item in items:
            listed[f"weight-{item.pk}"] = forms.FloatField(
                label=f"Weight of {item}", min_value=LEAST_WEIGHT, max_value=MOST_WEIGHT
            )
            listed[f"seen-{item.pk}"] = forms.IntegerField(min_value=1, required=False)

    @property
    def measure_name(self) -> str:
        return self.cleaned_data.get("measure") or registry.DEFAULT

    @property
    def only(self) -> int | None:
        return int(self.cleaned_data.get("solo") or 0) or None

    @property
    def settings(self) -> dict[int, Setting]:
        on = set(self.cleaned_data.get("on", ()))
        return {
            item.pk: Setting(
                is_on=str(item.pk) in on if self.only is None else item.pk == self.only,
                weight=self._weight(item),
            )
            for item in self.items
        }

    def address(self, *, measure: str) -> str:
        """Return the query string of these settings by another measure."""
        address = self._address.copy()
        for name in ("csrfmiddlewaretoken", "look"):
            address.pop(name, None)
        address["measure"] = measure
        return address.urlencode()

    def weights(self) -> dict[int, actions.ItemWeight]:
        """Return the changes to save. Solo is a preview only."""
        on = set(self.cleaned_data["on"])
        return {
            item.pk: actions.ItemWeight(
                self.cleaned_data[f"seen-{item.pk}"] or 0, str(item.pk) in on, self._weight(item)
            )
            for item in self.items
        }

    def _weight(self, item: Item) -> float:
        """Return the submitted weight; the item's own if that cannot be read."""
        weight: float | None = self.cleaned_data.get(f"weight-{item.pk}")
        return item.weight if weight is None else weight


def _standing(address: Mapping[str, str], items: list[Item]) -> dict[str, object]:
    return {
        "measure": address.get("measure", ""),
        "on": [str(item.pk) for item in items],
        "solo": "",
        **{f"weight-{item.pk}": item.weight for item in items},
        **{f"seen-{item.pk}": item.version for item in items},
    }


@dataclass(frozen=True, slots=True)
class WeightTrial:
    """The bank, topic and grader of a trial, with its form."""

    bank: Bank
    topic: Topic
    figures: FiguresForm
    config: GraderConfig | None
    form: WeightTrialForm


@dataclass(frozen=True, slots=True)
class TriedItem:
    """An item with its setting in the trial."""

    item: Item
    setting: Setting
    is_checked: bool
    is_solo: bool


@require_http_methods(["GET", "HEAD", "POST"])
def trial(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show the board with the settings of the form; POST saves them, unless it has `look`."""
    submitted = request.POST if request.method == "POST" else request.GET
    is_change = request.method == "POST" and LOOK not in submitted
    needed = roles.TO_EDIT_BANK if is_change else roles.TO_VIEW
    bank, topic = access.bank_topic_for(request.user, bank_id, topic_id, needed=needed)
    figures = FiguresForm(submitted, rating_graders(bank))
    config = next(iter(board_graders(figures, bank.collection)), None)
    form = WeightTrialForm(submitted, _items(bank, topic, config))
    weight_trial = WeightTrial(bank, topic, figures, config, form)
    if not is_change:
        return _trial_page(request, weight_trial, status=200)
    if not form.is_valid() or _refused(form):
        return _trial_page(request, weight_trial, status=422)
    try:
        return _saved(request, weight_trial)
    except changes.EditConflict as conflict:
        return _trial_page(request, weight_trial, conflict=conflict, status=409)


def _items(bank: Bank, topic: Topic, config: GraderConfig | None) -> list[Item]:
    """Return the items that the grader grades."""
    kinds = kinds_of(config) if config else tuple(ItemKind)
    rows = bank.items.active().for_topic(topic).of_kinds(kinds)
    return list(rows.select_related("revision").order_by("position", "pk"))


def _refused(form: WeightTrialForm) -> bool:
    """Refuse to save a solo, which would retire all other items."""
    if form.only is None:
        return False
    form.add_error("solo", "Solo is only a preview. Turn it off, then save.")
    return True


def _saved(request: HtmxRequest, weight_trial: WeightTrial) -> HttpResponse:
    changed = actions.settle_items(
        weight_trial.bank, weight_trial.topic, weights=weight_trial.form.weights(), by=request.user
    )
    messages.success(request, f"Saved: {counted(changed, 'item')} changed.")
    to = reverse("editor:trial", args=[weight_trial.bank.pk, weight_trial.topic.pk])
    return part_or_redirect(
        request, f"{TOPIC_PAGE}#saved", {"bank": weight_trial.bank, "topic": weight_trial.topic}, to=to
    )


def _trial_page(
    request: HtmxRequest,
    weight_trial: WeightTrial,
    *,
    status: int,
    conflict: changes.EditConflict | None = None,
) -> HttpResponse:
    latest = selectors.last_change(conflict.item) if conflict else None
    context = topic_frame(weight_trial.bank, weight_trial.topic, "try") | _board(weight_trial)
    context |= {"conflict": conflict, "theirs": latest}
    return form_response(request, TOPIC_PAGE, context, part="board", status=status)


def _board(weight_trial: WeightTrial) -> dict[str, object]:
    """Return the settings as sent, and the board if a grader has one."""
    form, config = weight_trial.form, weight_trial.config
    form.is_valid()
    settings = form.settings
    context: dict[str, object] = {
        "figures": weight_trial.figures,
        "form": form,
        "config": config,
        "rows": _rows(form, settings),
    }
    if config is None:
        return context
    measure = MeasureSpec(form.measure_name, min_grade=weight_trial.figures.measure_by(config).min_grade)
    board = trial_of(weight_trial.bank, weight_trial.topic, config, measure, settings)
    is_weighted = form.measure_name == cover.WEIGHTED_COVER.name
    return {
        **context,
        "measure": measure,
        "trial": board,
        "weighted": None if is_weighted else cover.WEIGHTED_COVER,
        "weighted_at": form.address(measure=cover.WEIGHTED_COVER.name),
    }


def _rows(form: WeightTrialForm, settings: dict[int, Setting]) -> list[TriedItem]:
    on = set(form.cleaned_data.get("on", ()))
    return [
        TriedItem(item, settings[item.pk], str(item.pk) in on, item.pk == form.only) for item in form.items
    ]
