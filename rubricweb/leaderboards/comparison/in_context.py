"""Compare > In context: a board by grades of passages alone and in context, and grading what that takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.formats.tables import PrintedTable, TextCell
from grading.in_context import WORDS, parts_of
from grading.statistics.mean_intervals import mean_intervals
from grading.types import MISSING
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.core.http import Context, HtmxRequest
from rubricweb.corpus.models import Passage
from rubricweb.grades import access, actions
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import over_limit, price
from rubricweb.grades.engine.stages import Stages
from rubricweb.grades.human_matrices import ratings_by
from rubricweb.grades.in_context import AnswersInContext, CannotGradeInContext, config_in_context
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import NOTHING, Basis, basis, score_units
from rubricweb.leaderboards.comparison import number
from rubricweb.leaderboards.comparison.changes import item_keys
from rubricweb.leaderboards.forms import AnalysisForm
from rubricweb.leaderboards.sheets import SheetColumn, sheet

SHOWN = 40
"""Pairs of the list of what changed most."""
SHOWN_RUNS = 5
SHOWN_CHARS = 160
NONE = "\N{EN DASH}"
METHOD = (
    "both scores count the pairs graded alone and in context; 95 %: bootstrap-t interval of the mean "
    "difference over topics, as the board's"
)


@dataclass(frozen=True, slots=True)
class RunInContext:
    """A run on both sides; NaN where no topic counts, or without an interval."""

    run_tag: str
    alone: float
    in_context: float
    low: float
    high: float
    n_topics: int

    @property
    def difference(self) -> float:
        return self.in_context - self.alone

    @property
    def is_clear(self) -> bool:
        """Return whether the interval of the difference is off 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ChangedPair:
    """A pair that is graded differently in context."""

    topic_id: int
    query_id: str
    uid: str
    row: int
    alone: int
    in_context: int
    is_crossing: bool
    """Whether it covers its item on one side only."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """A board alone and in context."""

    spec: BoardSpec
    base: Basis
    answers: AnswersInContext

    @classmethod
    def of(cls, spec: BoardSpec, max_words: int) -> Contexts:
        """Compare this board; raise CannotGradeInContext where its grader cannot be told what to rate."""
        if spec.bank is None:
            raise CannotGradeInContext("it labels whole passages")
        config_in_context(spec.config)
        base = basis(replace(spec, columns=()))
        return cls(spec, base, AnswersInContext(spec.collection, base.pool, max_words))

    @cached_property
    def sides(self) -> tuple[ScoredBoard, ScoredBoard]:
        """Return the board alone and in context, of the runs with answers."""
        pool, spec = self.answers.pool, self.base.spec
        alone = ratings_by(spec.source, spec.config, self.answers.alone)
        in_context = ratings_by(spec.source, config_in_context(spec.config), pool)
        pair = (
            Basis(spec, pool, grades, self.base.topic_items)
            for grades in self.answers.sides(alone, in_context)
        )
        first, second = (ScoredBoard(each, score_units(each, spec.measure)) for each in pair)
        return first, second

    @property
    def plan(self) -> Stages:
        """Return the pairs that lack a grade on either side."""
        bank, spec = self.spec.bank, self.spec
        if bank is None:  # `of` refuses it
            raise CannotGradeInContext("it labels whole passages")
        kinds = [str(kind) for kind in spec.kinds]
        return self.answers.plan(spec.config, bank.all_items.filter(kind__in=kinds))

    @property
    def pairs(self) -> tuple[int, int]:
        """Return how many pairs are graded on both sides, and how many there are."""
        alone = self.sides[0].base
        graded = total = 0
        for topic in alone.pool.topics:
            uids = alone.topic_items.get(topic.topic_id, NOTHING).uids
            ratings = alone.grades[topic.topic_id].matrix.columns(uids).ratings
            graded, total = graded + int((ratings != MISSING).sum()), total + ratings.size
        return graded, total

    @cached_property
    def rows(self) -> list[RunInContext]:
        """Return the runs, the largest gain first."""
        alone, in_context = (side.table.scores for side in self.sides)
        gains = in_context - alone
        has_interval = self.spec.measure.bootstraps_by_topic
        ends = mean_intervals(gains) if has_interval else None
        none = np.full(len(gains), np.nan)
        low, high = (none, none) if ends is None else (ends.low, ends.high)
        counts = ~np.isnan(gains)
        rows = [
            RunInContext(
                tag,
                _mean(alone[run], counts[run]),
                _mean(in_context[run], counts[run]),
                float(low[run]),
                float(high[run]),
                int(counts[run].sum()),
            )
            for run, tag in enumerate(self.sides[0].run_tags)
        ]
        return sorted(rows, key=lambda row: (-np.nan_to_num(row.difference), row.run_tag))

    @property
    def changed(self) -> list[ChangedPair]:
        """Return the pairs with another grade in context: first those that cover on one side only."""
        least = self.spec.measure.min_grade
        pairs: list[ChangedPair] = []
        alone, in_context = (side.base for side in self.sides)
        for topic in alone.pool.topics:
            uids = alone.topic_items.get(topic.topic_id, NOTHING).uids
            sides = (side.grades[topic.topic_id].matrix.columns(uids).ratings for side in (alone, in_context))
            before, after = sides
            for row, column in np.argwhere(before != after).tolist():
                ends = int(before[row, column]), int(after[row, column])
                crosses = (ends[0] >= least) != (ends[1] >= least)
                place = topic.topic_id, topic.query_id, uids[column], row
                pairs.append(ChangedPair(*place, *ends, crosses))
        return sorted(pairs, key=lambda pair: (not pair.is_crossing, -abs(pair.in_context - pair.alone)))

    def run_table(self) -> PrintedTable:
        columns: list[SheetColumn[RunInContext]] = [
            SheetColumn("Run", "run_tag", lambda row: row.run_tag),
            _score("Isolated", "isolated", lambda row: row.alone),
            _score("In context", "in_context", lambda row: row.in_context),
            SheetColumn(
                "Difference",
                "difference",
                lambda row: none_if_nan(row.difference),
                lambda row: TextCell(_three(row.difference, signed=True)),
            ),
            SheetColumn("95 %", "", _interval),
            SheetColumn("", "low", lambda row: none_if_nan(row.low)),
            SheetColumn("", "high", lambda row: none_if_nan(row.high)),
            SheetColumn("Topics", "topics", lambda row: row.n_topics),
        ]
        graded, total = self.pairs
        stated = [
            *provenance.scored_statements(self.sides[0]),
            ("prompt in context", config_in_context(self.spec.config).prompt_name),
            ("words before a passage, at most", str(self.answers.max_words or "all")),
            ("pairs on both sides", f"{graded} of {total}"),
            ("interval", METHOD),
        ]
        return sheet("Runs in context", columns, self.rows, stated, comments=(METHOD,))

    def pair_table(self) -> PrintedTable:
        """Return the pairs that changed most; each grade leads to its pair."""
        listed = self.changed[:SHOWN]
        texts = _PairTexts.of(self, listed)
        visible = [pair for pair in listed if (pair.topic_id, pair.uid) in texts.items]
        heads = ("Passage", "Item", "Topic", "Runs", "Isolated", "In context")
        lines = tuple(self._line(pair, texts) for pair in visible)
        return PrintedTable("Pairs that changed most", heads, lines, 4)

    def _line(self, pair: ChangedPair, texts: _PairTexts) -> tuple[TextCell, ...]:
        topic = self.answers.pool.by_topic[pair.topic_id]
        ranked = np.flatnonzero((topic.ranked_rows == pair.row).any(axis=1)).tolist()
        tags = [self.answers.pool.run_tags[run] for run in ranked]
        more = [f"and {len(tags) - SHOWN_RUNS} more"] if len(tags) > SHOWN_RUNS else []
        item = texts.keys.get((pair.topic_id, pair.uid))
        alone = self.answers.rows_alone(pair.topic_id)[pair.row]
        pks = self.answers.alone.by_topic[pair.topic_id].passage_pks[alone], topic.passage_pks[pair.row]
        links = ["", ""]
        if item and self.spec.bank:
            query = {"grader": self.spec.config.pk}
            places = ([self.spec.bank.pk, pair.topic_id, pk, item] for pk in pks)
            links = [reverse("review:cell", args=place, query=query) for place in places]
        text = texts.passages.get(pks[1], topic.doc_ids[pair.row])
        return (
            TextCell(text[:SHOWN_CHARS]),
            TextCell(texts.items[pair.topic_id, pair.uid]),
            TextCell(pair.query_id),
            TextCell(", ".join([*tags[:SHOWN_RUNS], *more])),
            TextCell(str(pair.alone), href=links[0]),
            TextCell(str(pair.in_context), href=links[1]),
        )


@dataclass(frozen=True, slots=True)
class _PairTexts:
    """The texts and keys of what a table of pairs shows, without secret items."""

    items: Mapping[tuple[int, str], str]
    keys: Mapping[tuple[int, str], int]
    passages: Mapping[int, str]

    @classmethod
    def of(cls, contexts: Contexts, pairs: list[ChangedPair]) -> _PairTexts:
        topics = {pair.topic_id for pair in pairs}
        wordings = ItemRevision.objects.filter(topic__in=topics).values_list("topic_id", "uid", "text")
        by_topic = contexts.answers.pool.by_topic
        pks = [by_topic[pair.topic_id].passage_pks[pair.row] for pair in pairs]
        texts = dict(Passage.objects.filter(pk__in=pks).values_list("pk", "text"))
        parts = {pk: parts_of(text) for pk, text in texts.items()}
        return cls(
            {(topic, uid): text or uid for topic, uid, text in wordings},
            item_keys(contexts.spec.bank),
            {pk: part.text if (part := parts[pk]) else text for pk, text in texts.items()},
        )


def _mean(scores: NDArray[np.float64], counts: NDArray[np.bool_]) -> float:
    return float(scores[counts].mean()) if counts.any() else float("nan")


def _score(head: str, name: str, of: Callable[[RunInContext], float]) -> SheetColumn[RunInContext]:
    return SheetColumn(head, name, lambda row: none_if_nan(of(row)), lambda row: TextCell(_three(of(row))))


def _interval(row: RunInContext) -> str:
    return "" if np.isnan(row.low) else f"{_three(row.low, signed=True)} to {_three(row.high, signed=True)}"


def _three(value: float, *, signed: bool = False) -> str:
    return NONE if np.isnan(value) else number(value, signed=signed)


MOST_WORDS = 2_000


class ContextForm(AnalysisForm):
    """A board, and how much of an answer a passage is read with."""

    own = ("max_words",)
    max_words = forms.IntegerField(
        min_value=0,
        max_value=MOST_WORDS,
        required=False,
        label="Words before",
    )

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        return super().default_values(given) | {"max_words": WORDS}

    @property
    def chosen_limit(self) -> int:
        limit: int | None = self.cleaned_data["max_words"]
        return WORDS if limit is None else limit


class CostForm(forms.Form):
    """Limits of what a click may cost; an empty one is none."""

    most_calls = forms.IntegerField(min_value=0, required=False, label="Calls, at most")
    most_dollars = forms.FloatField(min_value=0, required=False, label="Dollars, at most")


def context_of(form: ContextForm, request: HtmxRequest) -> Context:
    """Return what the page shows."""
    try:
        contexts = Contexts.of(form.spec, form.chosen_limit)
    except CannotGradeInContext as error:
        return {"cannot": f"{form.spec.config} cannot grade in context: {error}."}
    if not contexts.answers.pool.run_pks:
        return {"has_no_answers": True}
    collection = form.spec.collection
    plan, (graded, total) = contexts.plan, contexts.pairs
    live = sum(part.cells for part in plan.missing) - sum(part.cells for part in plan.at_once)
    return {
        "contexts": contexts,
        "graded": graded,
        "total": total,
        "live": live,
        "price": price(collection, plan.all, monitor.workers().beats),
        "may_start": roles.holds(request.user, collection, roles.role_to_grade(collection)),
        "cost_form": CostForm(auto_id="cost-%s"),
        "start_query": request.GET.urlencode(),
        "sheet": contexts.run_table(),
        "pairs": contexts.pair_table(),
        "n_changed": len(contexts.changed),
        "n_clear": sum(row.is_clear for row in contexts.rows),
    }


@require_POST
def start_in_context(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade what lacks on either side of the board of the address."""
    collection = access.collection_to_grade(request.user, slug)
    form, limits = ContextForm(request.GET, collection=collection), CostForm(request.POST)
    page = f"{reverse('leaderboards:compare', args=[slug])}?{request.GET.urlencode()}"
    if not form.is_valid() or not limits.is_valid():
        messages.error(request, "Not started: correct the limits.")
        return redirect(page)
    try:
        refusal = start_job(form.spec, form.chosen_limit, by=request.user, limits=limits.cleaned_data)
    except CannotGradeInContext as error:
        refusal = str(error)
    if refusal:
        messages.error(request, f"Not started. {refusal}")
    return redirect(page)


def start_job(spec: BoardSpec, max_words: int, *, by: User | None, limits: Mapping[str, Any]) -> str:
    """Start what lacks on either side, or return why it may not start. Raises CannotGradeInContext."""
    contexts = Contexts.of(spec, max_words)
    missing = contexts.plan.all
    if by is not None and (refusal := access.price_refusal(by, spec.collection, lambda: missing)):
        return refusal
    calls, dollars = limits.get("most_calls"), limits.get("most_dollars")
    if refusal := over_limit(spec.collection, missing, calls=calls, dollars=dollars):
        return refusal
    stored = replace(contexts, answers=contexts.answers.store())
    started = actions.start_plan(stored.plan, by=by)
    return "" if started else "Every pair is graded, or being graded."
