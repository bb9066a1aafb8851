"""The impact of saving an item: its cost, a bound on what it could change, and items that are similar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_POST
from numpy.typing import NDArray

from grading.generation.similarity import nearest
from grading.statistics import influence
from grading.types import MISSING, ItemKind, Purpose, item_id
from rubricweb.banks import access
from rubricweb.banks.models import AnswerKey, Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.formatting import counted, number
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.editor.forms import MAX_WORDING
from rubricweb.editor.items import PAGE
from rubricweb.grades.configs import default_min_grade, kinds_of, planned_configs
from rubricweb.grades.engine import monitor, price
from rubricweb.grades.matrices import TopicGrades, matrices, topic_grades
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec, Scores, Uids, score_table
from rubricweb.grades.selectors import ON_ITEMS, graded_items
from rubricweb.jobs.progress import Price, in_words

Mask = NDArray[np.bool_]
LEAST_SIMILAR = 0.25
"""Texts below this cosine of their rare words share little."""
MOST_SIMILAR = 3
"""Shown while somebody writes."""


@dataclass(frozen=True, slots=True)
class UnsavedItem:
    """The text of a new item, or (with `item`) of the rewording of one, not saved yet."""

    bank: Bank
    topic: Topic
    kind: ItemKind
    text: str
    facet_id: str = ""
    item: Item | None = None

    @property
    def uid(self) -> str:
        return item_id(self.topic.query_id, self.text, self.facet_id)


@dataclass(frozen=True, slots=True)
class Impact:
    """The price of grading it, and how far its grades could reach."""

    passages: int
    already_graded: int
    """Passages that are graded for this wording already."""
    time: price.ExpectedTime | None
    """The expected time with all of the grader's prompts; None if unknown."""
    dollars: float | None
    """The estimated cost with all of them; None without a price."""
    runs: int
    could_move: tuple[str, ...]
    """Runs whose rank on the default board some outcome of the grading changes."""
    is_twin: bool
    """The bank has this item already."""

    @property
    def to_grade(self) -> int:
        return self.passages - self.already_graded

    @property
    def seconds(self) -> float | None:
        """Return the expected time, with loading the models; None without a measured rate."""
        return None if self.time is None or self.time.is_guess else self.time.loading + self.time.grading

    @property
    def time_words(self) -> str:
        return in_words(self.time.range) if self.time else ""

    @property
    def in_words(self) -> str:
        """Return one sentence to announce."""
        moving = "no run"
        if self.could_move:
            moving = f"up to {number(len(self.could_move))} of {counted(self.runs, 'run')}"
        graded = f"{counted(self.to_grade, 'passage')} to grade, {number(self.already_graded)} already graded"
        return f"{graded}; {moving} could move."

    @property
    def dollars_words(self) -> str:
        return "" if self.dollars is None else Price(self.to_grade, None, None, self.dollars).dollars_words


def impact_of(draft: UnsavedItem) -> Impact:
    """Return the impact of a draft for the graders that Re-grade runs."""
    pool = collection_pool(draft.bank.collection)
    configs = [config for config in planned_configs(draft.bank.collection) if _grades(config, draft)]
    rating = [config for config in configs if config.purpose in ON_ITEMS]
    passages = len(pool.by_topic[draft.topic.pk].doc_ids)
    already_graded = passages - max(
        (len(_to_grade(config, draft, pool)) for config in rating), default=passages
    )
    others = (
        draft.bank.items.active().for_topic(draft.topic).exclude(pk=draft.item.pk if draft.item else None)
    )
    work = [(config, len(_to_grade(config, draft, pool))) for config in configs]
    prices = [
        price.dollars_of_wording(config, draft.topic, draft.text, _to_grade(config, draft, pool))
        for config in configs
    ]
    priced = [dollars for dollars in prices if dollars is not None]
    return Impact(
        passages=passages,
        already_graded=already_graded,
        time=price.expected_time(
            [(config, cells) for config, cells in work if cells], monitor.workers().beats
        ),
        dollars=sum(priced) if priced else None,
        runs=len(pool.run_tags),
        could_move=could_move(draft, rating[0], pool) if rating else (),
        is_twin=others.filter(revision__uid=draft.uid, kind=draft.kind).exists(),
    )


def _grades(config: GraderConfig, draft: UnsavedItem) -> bool:
    """Return whether the config grades this kind; one that compares with accepted answers needs some."""
    if draft.kind not in kinds_of(config):
        return False
    keys = AnswerKey.objects.filter(revision__topic=draft.topic, revision__uid=draft.uid)
    return config.purpose != Purpose.VERIFY or keys.exists()


def _to_grade(config: GraderConfig, draft: UnsavedItem, pool: CollectionPool) -> list[int]:
    """Return the keys of the passages without a grade, failed ones aside."""
    pooled = pool.by_topic[draft.topic.pk].passage_pks
    column = topic_grades(config, pool, draft.topic.pk).matrix.columns((draft.uid,)).ratings[:, 0]
    return [pk for pk, rating in zip(pooled, column.tolist(), strict=True) if rating == MISSING]


def could_move(draft: UnsavedItem, config: GraderConfig, pool: CollectionPool) -> tuple[str, ...]:
    """Return runs whose rank can change, whatever the missing grades of the draft turn out to be.

    Exact for each pair of runs: with c_i = 1 if run i covers the draft, (c_i, c_j) takes every value that
    some outcome of the cells in their first k passages gives.
    """
    measure = MeasureSpec(min_grade=default_min_grade(config))
    grades = matrices(config, pool)
    now = graded_items(config, draft.bank, draft.bank.collection)
    items = draft.bank.all_items.active().of_kinds(kinds_of(config)).for_topic(draft.topic)
    if draft.item:
        items = items.exclude(pk=draft.item.pk)
    rest = tuple(dict.fromkeys(items.values_list("revision__uid", flat=True)))
    if draft.uid in rest or not pool.run_tags:
        return ()
    uids: Uids = (*rest, draft.uid)
    today = score_table(pool, grades, now, measure).means()
    floor = score_table(pool, grades, {**now, draft.topic.pk: uids}, measure).means()
    topics = len({topic_id for topic_id, items in now.items() if items} | {draft.topic.pk})
    certain, open_cells = _cells_in_reach(grades[draft.topic.pk], draft.uid, measure)
    moving = _undecided(today, floor, 1 / (len(uids) * topics), certain, open_cells)
    return tuple(tag for tag, moves in zip(pool.run_tags, moving, strict=True) if moves)


def _cells_in_reach(grades: TopicGrades, uid: str, measure: MeasureSpec) -> tuple[Mask, Mask]:
    """Return whether each run covers the item, shape (runs,), and its missing cells, (runs, passages)."""
    column = grades.matrix.columns((uid,)).ratings[:, 0]
    in_reach = grades.pool.top(measure.cutoff)
    certain: Mask = np.asarray((in_reach & (column >= measure.min_grade)).any(axis=1))
    return certain, in_reach & (column == MISSING)


def _undecided(today: Scores, floor: Scores, step: float, certain: Mask, open_cells: Mask) -> Mask:
    """Return whether the order of each run and some other can differ from today, shape (runs,).

    `floor` is each run's mean if no missing cell covers; covering the item adds `step`. A run that covers it
    already has that in its floor.
    """
    cells = open_cells.astype(np.int32)
    can = ~certain & open_cells.any(axis=1)
    alone = (cells.sum(axis=1)[:, np.newaxis] - cells @ cells.T) > 0  # i has an open cell that j lacks
    ahead = _ahead(today, today)
    moves = np.zeros((len(today), len(today)), dtype=np.bool_)
    neither = np.ones_like(moves)
    both = can[:, np.newaxis] & can[np.newaxis, :]
    only_first = can[:, np.newaxis] & (alone | ~can[np.newaxis, :])
    for feasible, first, second in ((neither, 0, 0), (both, 1, 1), (only_first, 1, 0), (only_first.T, 0, 1)):
        then = _ahead(floor + first * step, floor + second * step)
        moves |= feasible & (then != ahead)
    return np.asarray(moves.any(axis=0))


def _ahead(first: Scores, second: Scores) -> Mask:
    """Return whether run i, scored by `first`, is ahead of run j, scored by `second`, shape (runs, runs)."""
    i, j = (
        np.round(np.nan_to_num(scores, nan=-np.inf), influence.TIED_DECIMALS) for scores in (first, second)
    )
    ahead: Mask = i[:, np.newaxis] > j[np.newaxis, :]
    return ahead


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """An item and the cosine of its rare words with those of a text, 0 to 1."""

    item: Item
    score: float


def items_by_closeness(bank: Bank, topic: Topic, text: str) -> list[SimilarItem]:
    """Return the topic's active items that have text, most alike first."""
    items = _worded(bank.collection_id, bank.pk, topic.pk)
    scores = {hit.place: hit.score for hit in nearest(text, [str(item) for item in items], most=len(items))}
    near = [SimilarItem(item, scores.get(place, 0.0)) for place, item in enumerate(items)]
    return sorted(near, key=lambda row: -row.score)


@compiled_readable
def _worded(bank: int, topic: int) -> QuerySet[Item]:
    active = Item.including_secret.active().filter(bank=bank, topic=topic).exclude(revision__text="")
    worded: QuerySet[Item] = active.select_related("revision", "topic", "bank__collection")
    return worded


class DraftForm(forms.Form):
    """An item being written; an empty text has no impact."""

    kind = forms.ChoiceField(choices=Item.Kind.choices)
    facet_id = forms.CharField(required=False)
    text = forms.CharField(required=False)
    item = forms.IntegerField(required=False)

    def draft(self, bank: Bank, topic: Topic) -> UnsavedItem | None:
        """Return None without a text. Raises ValidationError for a text that cannot be saved."""
        fields = self.cleaned_data
        item = bank.items.for_topic(topic).select_related("revision").filter(pk=fields["item"]).first()
        if not fields["text"] or (item and item.revision.text == fields["text"]):
            return None
        if len(fields["text"]) > MAX_WORDING:
            raise ValidationError(
                f"Keep it under {number(MAX_WORDING)} characters; this has {number(len(fields['text']))}."
            )
        kind, facet_id = (item.kind, item.facet_id) if item else (fields["kind"], fields["facet_id"])
        return UnsavedItem(bank, topic, ItemKind(kind), fields["text"], facet_id, item)


@require_POST
def impact(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show the impact of the text typed so far, and the items that are similar to it."""
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = DraftForm(request.POST)
    context: dict[str, object] = {"bank": bank, "topic": topic, "collection": bank.collection}
    context |= {"panel": "editor/_impact.html", "title": "If you save this"}
    context["note"] = "Nothing has been saved. Go back in your browser to continue writing or to save."
    context |= _impact_context(form, bank, topic)
    return page_or_part(request, PAGE, context, part="form")


def _impact_context(form: DraftForm, bank: Bank, topic: Topic) -> Context:
    if not form.is_valid():
        return {"problem": " ".join(str(error) for errors in form.errors.values() for error in errors)}
    try:
        draft = form.draft(bank, topic)
    except ValidationError as error:
        return {"problem": " ".join(error.messages)}
    if draft is None:
        return {"draft": None}
    near = [row for row in items_by_closeness(bank, topic, draft.text) if row.item != draft.item]
    similar = [row for row in near if row.score >= LEAST_SIMILAR][:MOST_SIMILAR]
    return {"draft": draft, "impact": impact_of(draft), "similar": similar}
