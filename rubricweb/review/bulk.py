"""Many cells at once: select them, see what would happen, and do it."""

from __future__ import annotations

from collections.abc import Collection as Some
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from grading.types import FAILED, MISSING
from rubricweb.accounts import roles
from rubricweb.accounts.models import Membership, User
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank
from rubricweb.campaigns.actions import assign_cells
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_rows
from rubricweb.core.http import HtmxRequest, form_response, page_or_part, parse_ids
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades import actions as grading, human_ratings, raters
from rubricweb.grades.engine import monitor, stages
from rubricweb.grades.engine.gaps import gaps_of
from rubricweb.grades.engine.missing import Missing
from rubricweb.grades.engine.price import price
from rubricweb.grades.human_ratings import Cell, ShownRating
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.progress import Price
from rubricweb.review.grid import INSET, GridForm, inset_frame, kept_fields
from rubricweb.review.selectors import GridQuery
from rubricweb.review.selectors.columns import GridColumn
from rubricweb.review.selectors.grid import TopicGrid, topic_grid

MOST_CELLS = 5_000
"""How many cells may be found right or assigned at once; nobody looks at more."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The ticked passages and items; where none is ticked, all that the filters show are selected."""

    passages: frozenset[int]
    items: frozenset[int]


@dataclass(frozen=True, eq=False)
class BulkPlan:
    """The selected cells."""

    rows: tuple[int, ...]
    """Rows of the pool."""
    columns: tuple[GridColumn, ...]
    selection: Selection
    cells: tuple[Cell, ...]
    unchecked: tuple[tuple[Cell, ShownRating], ...]
    """Cells that the grader rated, the reader has not, and the reader need not rate blind."""
    missing: tuple[Missing, ...]
    failed: tuple[Missing, ...]
    price: Price | None
    """The price of the missing and failed cells together; None without any."""

    @property
    def wordless(self) -> int:
        """Return selected items without text; their cells cannot be rated."""
        return sum(not column.text for column in self.columns)

    @property
    def to_grade(self) -> int:
        return sum(missing.cells for missing in (*self.missing, *self.failed))

    @property
    def is_too_large(self) -> bool:
        return len(self.cells) > MOST_CELLS


def plan(
    bank: Bank, topic: Topic, rater: raters.Rater, query: GridQuery, selection: Selection, *, reader: User
) -> BulkPlan:
    grid = topic_grid(bank, topic, rater, query, reader)
    pks = grid.pool.passage_pks
    rows = [row for row in grid.rows if not selection.passages or pks[row] in selection.passages]
    columns = [column for column in grid.chosen if not selection.items or column.pk in selection.items]
    worded = [column for column in columns if column.text]
    cells = tuple(Cell(topic.pk, column.revision_pk, pks[row]) for row in rows for column in worded)
    missing, failed = (_to_grade(grid, rows, columns, value) for value in (MISSING, FAILED))
    gaps = [*missing, *failed]
    living = monitor.workers() if gaps else None
    return BulkPlan(
        rows=tuple(rows),
        columns=tuple(columns),
        selection=selection,
        cells=cells,
        unchecked=tuple(_unchecked(grid, rows, worded)),
        missing=tuple(missing),
        failed=tuple(failed),
        price=price(bank.collection, gaps, living.beats) if living else None,
    )


def _to_grade(grid: TopicGrid, rows: Some[int], columns: Some[GridColumn], value: int) -> list[Missing]:
    """Return the selected cells with this value that can be graded and are in no live job."""
    cells: dict[GraderConfig, list[tuple[int, int]]] = {}
    for column in columns:
        config = grid.rater.by_kind.get(column.kind)
        if config is None or not grid.rater.can_grade(column.column) or not stages.can_ask(config):
            continue
        of_column = [row for row in rows if grid.sheet.graded[row, column.at] == value]
        pairs = [(column.revision_pk, grid.pool.passage_pks[row]) for row in of_column]
        cells.setdefault(config, []).extend(pairs)
    topic_id = grid.pool.topic_id
    sought = [
        Missing(missing, gaps_of({topic_id: pairs}), frozenset()) for missing, pairs in cells.items() if pairs
    ]
    (topic,) = Topic.objects.filter(pk=topic_id).select_related("collection")
    return [missing for missing in stages.left_to_start(topic.collection, sought) if missing.cells]


def _unchecked(grid: TopicGrid, rows: Some[int], columns: Some[GridColumn]) -> list[tuple[Cell, ShownRating]]:
    pairs, closed = [], grid.own.keys() | grid.hidden.graders
    if grid.rater.verifies:  # answers are checked one by one, beside their keys
        return []
    for column in columns:
        config = grid.rater.by_kind.get(column.kind)
        for row in rows if config is not None else ():
            rating, passage = int(grid.sheet.graded[row, column.at]), grid.pool.passage_pks[row]
            if config and rating >= 0 and (column.revision_pk, passage) not in closed:
                cell = Cell(grid.pool.topic_id, column.revision_pk, passage)
                pairs.append((cell, ShownRating(config, rating)))
    return pairs


class BulkAction(TextChoices):
    GRADE = "grade"
    RIGHT = "right"
    TAKE_BACK = "take-back"
    ASSIGN = "assign"


class BulkForm(forms.Form):
    """`cells` counts the cells of the plan that was shown; if it has changed, the plan is shown again."""

    deed = forms.ChoiceField(choices=BulkAction.choices)
    cells = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    person = forms.ModelChoiceField(User.objects.none(), required=False, empty_label="choose…")

    def offer(self, collection: Collection) -> None:
        """Offer the people who may rate these cells."""
        able = [role for role in roles.Role if role.includes(roles.TO_RATE)]
        members = Membership.objects.filter(collection=collection, role__in=able)
        users = User.objects.filter(pk__in=members.values("user"), is_active=True).order_by("username")
        offer_rows(self, "person", users)

    @property
    def chosen_uid(self) -> UUID:
        uid: UUID = self.cleaned_data["uid"]
        return uid


def selection(data: QueryDict) -> Selection:
    """Parse the ticked rows and columns."""
    return Selection(parse_ids(data.getlist("passage")), parse_ids(data.getlist("item")))


@require_http_methods(["GET", "HEAD", "POST"])
def bulk(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show the selected cells, their count and price; POST grades, finds right or assigns them."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_RATE)
    address = request.POST if request.method == "POST" else request.GET
    rater, plan = _plan(request, bank, topic, address)
    form = BulkForm(request.POST or None, initial={"uid": uuid4()})
    form.offer(bank.collection)
    context = inset_frame(request, bank, topic) | {"inset": "Selected pairs"}
    context |= {"plan": plan, "form": form, "rater": rater, "kept": kept_fields(address)}
    if request.method != "POST":
        return page_or_part(request, INSET, context, part="plan")
    if not form.is_valid() or not _is_done(request, bank, plan, form):
        return form_response(request, INSET, context, part="plan")
    if request.htmx:
        done = {"is_done": True, "deed": request.POST["deed"], "uid": request.POST["uid"]}
        return page_or_part(request, INSET, context | done, part="plan")
    kept = [pair for pair in kept_fields(request.POST) if pair[0] not in {"passage", "item"}]
    query = urlencode([("view", "grid"), *kept])
    return redirect(f"{reverse('review:topic', args=[bank.pk, topic.pk])}?{query}")


def _plan(
    request: HtmxRequest, bank: Bank, topic: Topic, address: QueryDict
) -> tuple[raters.Rater, BulkPlan]:
    form = GridForm(address)
    rater = form.offer_bank(bank)
    return rater, plan(bank, topic, rater, form.query(), selection(address), reader=request.user)


def _is_done(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    cleaned = form.cleaned_data
    if cleaned["deed"] == BulkAction.TAKE_BACK:
        count = human_ratings.undo_confirmations(plan.cells, by=request.user, uid=form.chosen_uid)
        messages.info(request, f"{counted(count, 'verdict')} undone.")
        return True
    if cleaned["cells"] != len(plan.cells):
        messages.error(
            request,
            "Nothing was changed, because the selected pairs are no longer the same. Check them again.",
        )
        return False
    if plan.is_too_large and cleaned["deed"] != BulkAction.GRADE:
        messages.error(request, "Nothing was changed: too many pairs are selected. Select fewer.")
        return False
    return ACTIONS[cleaned["deed"]](request, bank, plan, form)


def _grade(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    if not roles.require(request.user, bank.collection, roles.TO_VIEW).includes(roles.TO_GRADE):
        raise PermissionDenied("This needs the role topic developer.")
    missing, failed = list(plan.missing), list(plan.failed)
    jobs = grading.grade_cells(bank.collection, missing=missing, failed=failed, by=request.user)
    if cells := sum(job.total for job in jobs):
        messages.success(request, f"Grading {counted(cells, 'pair')}.")
    else:
        messages.success(request, "Nothing to grade here.")
    return True


def _confirm(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    roles.require(request.user, bank.collection, roles.TO_VERIFY)
    events = human_ratings.confirm_grades(plan.unchecked, by=request.user, uid=form.chosen_uid)
    messages.success(request, f"{counted(len(events), 'rating')} marked as verified.")
    return True


def _assign(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    person = form.cleaned_data["person"]
    if person is None:
        messages.error(request, "Nothing was changed. Choose who is to rate these pairs.")
        return False
    held = roles.require(request.user, bank.collection, roles.TO_VIEW)
    if person != request.user and not held.includes(roles.TO_ASSIGN):
        raise PermissionDenied(
            "Only topic developers assign pairs to others; you can assign them to yourself."
        )
    new = assign_cells(bank, plan.cells, to=person, by=request.user)
    messages.success(request, f"Added to the queue of {person}: {counted(new, 'pair')}.")
    return True


ACTIONS = {BulkAction.GRADE: _grade, BulkAction.RIGHT: _confirm, BulkAction.ASSIGN: _assign}
