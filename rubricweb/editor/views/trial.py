"""Try items and weights on the leaderboard, and save them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from grading.measures.cover import WEIGHTED_COVER
from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.errors import Conflict
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.selectors import last_change
from rubricweb.banks.weighing import settle_items
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, after_post, form_response
from rubricweb.corpus.models import Topic
from rubricweb.editor.figures import rating_graders
from rubricweb.editor.forms import FiguresForm, board_graders
from rubricweb.editor.frame import PAGE, topic_frame
from rubricweb.editor.trial import Setting
from rubricweb.editor.trial import trial as tried
from rubricweb.editor.trial_forms import WeightTrialForm
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec

LOOK = "look"


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
    sent = request.POST if request.method == "POST" else request.GET
    is_change = request.method == "POST" and LOOK not in sent
    needed = roles.TO_EDIT_BANK if is_change else roles.TO_VIEW
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=needed)
    figures = FiguresForm(sent, rating_graders(bank))
    config = next(iter(board_graders(figures, bank.collection)), None)
    form = WeightTrialForm(sent, _items(bank, topic, config))
    weight_trial = WeightTrial(bank, topic, figures, config, form)
    if not is_change:
        return _shown(request, weight_trial, status=200)
    if not form.is_valid() or _refused(form):
        return _shown(request, weight_trial, status=422)
    try:
        return _saved(request, weight_trial)
    except Conflict as conflict:
        return _shown(request, weight_trial, conflict=conflict, status=409)


def _items(bank: Bank, topic: Topic, config: GraderConfig | None) -> list[Item]:
    """The items that the grader grades."""
    kinds = kinds_of(config) if config else tuple(ItemKind)
    rows = bank.items.active().for_topic(topic).of_kinds(kinds)
    return list(rows.select_related("revision").order_by("position", "pk"))


def _refused(form: WeightTrialForm) -> bool:
    """Saving a solo would retire all other items, which nobody intends."""
    if form.only is None:
        return False
    form.add_error("solo", gettext("Solo is only a preview. Turn it off, then save."))
    return True


def _saved(request: HtmxRequest, weight_trial: WeightTrial) -> HttpResponse:
    changed = settle_items(
        weight_trial.bank, weight_trial.topic, weights=weight_trial.form.weights(), by=request.user
    )
    messages.success(
        request,
        gettext("Saved: %(items)s changed.") % {"items": counted(changed, "item")},
    )
    to = reverse("editor:trial", args=[weight_trial.bank.pk, weight_trial.topic.pk])
    return after_post(
        request, f"{PAGE}#saved", {"bank": weight_trial.bank, "topic": weight_trial.topic}, to=to
    )


def _shown(
    request: HtmxRequest, weight_trial: WeightTrial, *, status: int, conflict: Conflict | None = None
) -> HttpResponse:
    latest = last_change(conflict.item) if conflict else None
    context = topic_frame(weight_trial.bank, weight_trial.topic, "try") | _board(weight_trial)
    context |= {"conflict": conflict, "theirs": latest}
    return form_response(request, PAGE, context, part="board", status=status)


def _board(weight_trial: WeightTrial) -> dict[str, object]:
    """The settings as sent, and the board if a grader has one."""
    form, config = weight_trial.form, weight_trial.config
    form.is_valid()
    settings = form.settings
    shown: dict[str, object] = {
        "figures": weight_trial.figures,
        "form": form,
        "config": config,
        "rows": _rows(form, settings),
    }
    if config is None:
        return shown
    measure = MeasureSpec(form.measure_name, min_grade=weight_trial.figures.measure_by(config).min_grade)
    board = tried(weight_trial.bank, weight_trial.topic, config, measure, settings)
    is_weighted = form.measure_name == WEIGHTED_COVER.name
    return {
        **shown,
        "measure": measure,
        "trial": board,
        "weighted": None if is_weighted else WEIGHTED_COVER,
        "weighted_at": form.address(measure=WEIGHTED_COVER.name),
    }


def _rows(form: WeightTrialForm, settings: dict[int, Setting]) -> list[TriedItem]:
    on = set(form.cleaned_data.get("on", ()))
    return [
        TriedItem(item, settings[item.pk], str(item.pk) in on, item.pk == form.only) for item in form.items
    ]
