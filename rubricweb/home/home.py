"""Home by role: the way to the release, the next passages to rate, a run to submit, three ways to begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import CharField, Count, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.invitations import invitations_for
from rubricweb.accounts.models import User
from rubricweb.banks.models import DIRECT_UID, Item
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanGrade
from rubricweb.home.collections import CollectionCard, cards, cards_of
from rubricweb.home.todo import OpenWork, WaitingTask, open_work, waiting_for
from rubricweb.home.work import work_of
from rubricweb.leaderboards.board import provenance, selectors, sentences
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.plots.cells import DotRow, dot_rows
from rubricweb.review.models import Flag
from rubricweb.submissions.models import Call
from rubricweb.submissions.selectors import Track, tracks

PUBLISH, RELEASE = ("releases:share", "Publish the board"), ("releases:share", "Make a release")
ACTIVITIES = 6
BOARD_RUNS = 10
"""How many of the first runs the board of Home has."""
JOIN = "accounts:join"


class StepState(StrEnum):
    DONE = "done"
    OPEN = "open"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    name: str
    state: StepState
    detail: str
    """The numbers behind it."""
    address: str
    verb: str
    """What the link of an open step says."""

    @property
    def is_done(self) -> bool:
        return self.state is StepState.DONE


@dataclass(frozen=True, slots=True)
class Checklist:
    collection: Collection
    steps: tuple[ChecklistStep, ...]

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.steps)

    @property
    def is_done(self) -> bool:
        return self.done == len(self.steps)

    @property
    def open(self) -> list[ChecklistStep]:
        return [step for step in self.steps if not step.is_done]

    @property
    def next(self) -> ChecklistStep | None:
        """Return the first step that is open."""
        return next(iter(self.open), None)


def _counting_ratings() -> QuerySet[HumanGrade]:
    """Return each person's latest rating of a cell, of the wordings that rubrics have now."""
    active = Item.including_secret.active().filter(revision=OuterRef("revision"))
    counting = Exists(active) | Q(revision__uid=DIRECT_UID)
    return HumanGrade.objects.standing().filter(counting)


@compiled_once
def _cells_rated(collections: tuple[int, ...]) -> QuerySet[Any, Any]:
    """Count the cells by collection that people rated."""
    place = Concat(Cast("revision", CharField()), Value(" "), Cast("passage", CharField()))
    rated = _counting_ratings().filter(topic__collection__in=collections).order_by()
    return rated.values_list("topic__collection").annotate(cells=Count(place, distinct=True))


def checklists(cards: Iterable[CollectionCard], work: OpenWork) -> list[Checklist]:
    """Return those of the collections that the reader organizes, in the order of `cards`."""
    organized = [card for card in cards if card.role.includes(roles.TO_ORGANIZE)]
    covered = dict(_topics_with_items(tuple(card.collection.pk for card in organized)))
    return [_checklist(card, work, covered.get(card.collection.pk, 0)) for card in organized]


def ways_to_release(cards: Iterable[CollectionCard], work: OpenWork) -> dict[int, tuple[ChecklistStep, ...]]:
    """Return the seven stations of each collection that the reader organizes, by its primary key."""
    organized = {card.collection.pk: card for card in cards if card.role.includes(roles.TO_ORGANIZE)}
    checked = dict(_cells_rated(tuple(organized)))
    here = Collection.objects.filter(pk__in=organized)
    rows = here.values_list("pk", "public_boards", "releases")
    published, released = ({row[0] for row in rows if row[at]} for at in (1, 2))
    return {
        checklist.collection.pk: _stations(
            checklist, organized[checklist.collection.pk], checked, published, released
        )
        for checklist in checklists(organized.values(), work)
    }


def _stations(
    checklist: Checklist,
    card: CollectionCard,
    checked: Mapping[int, int],
    published: Set[int],
    released: Set[int],
) -> tuple[ChecklistStep, ...]:
    topics, items, runs, grades, *by_people, teams = checklist.steps
    pk = card.collection.pk
    return (
        replace(topics, name="Topics"),
        replace(items, name="Rubric"),
        replace(runs if teams.is_done else teams, name="Runs"),
        grades,
        _checked(card, by_people, checked.get(pk, 0)),
        _step("Board", "public" if pk in published else "not public yet", card, PUBLISH, pk not in published),
        _step("Release", "made" if pk in released else "not made yet", card, RELEASE, pk not in released),
    )


def _checked(card: CollectionCard, by_people: Sequence[ChecklistStep], rated: int) -> ChecklistStep:
    """Return the steps of people: campaigns, conflicts and flags, and a first check of grades."""
    detail = f"people rated {_count(rated, 'pair')}" + (f" of {intcomma(card.cells)}" if card.cells else "")
    if waiting := next((step for step in by_people if not step.is_done), None):
        return replace(waiting, name="Checked", detail=f"{waiting.name}: {waiting.detail}; {detail}")
    return _step("Checked", detail, card, ("campaigns:campaign-new", "Check 400 random pairs"), not rated)


def checklist_of(collection: Collection) -> Checklist:
    """Return the one of a collection, for its organizers."""
    (card,) = cards_of([collection], {})
    work = open_work(None, [collection], [collection])
    return _checklist(card, work, dict(_topics_with_items((collection.pk,))).get(collection.pk, 0))


@compiled_once
def _topics_with_items(collections: tuple[int, ...]) -> QuerySet[Any, Any]:
    """Return, by collection, how many of its topics have an item in some bank."""
    items = Item.including_secret.active().filter(bank__collection__in=collections).order_by()
    rows = items.values_list("bank__collection")
    counts: QuerySet[Any, Any] = rows.annotate(Count("topic", distinct=True))
    return counts


def _checklist(card: CollectionCard, work: OpenWork, covered: int) -> Checklist:
    pk = card.collection.pk
    teams = work.submitted.get(pk, 0) + work.late.get(pk, 0)
    turns, cells = work.turns.get(card.collection.pk, 0), work.left_out.get(card.collection.pk, 0)
    left = []
    if turns:
        left.append(f"{_count(turns, 'rating')} left")
    if cells:
        is_left = (
            "is left out until its campaign is" if cells == 1 else "are left out until their campaigns are"
        )
        left.append(f"{_count(cells, 'pair')} {is_left} closed")
    link = ("campaigns:campaigns", "See the campaigns")
    campaigns = _step("Campaigns", "; ".join(left) or "none open", card, link, left)
    human_work = (
        campaigns,
        _left("Conflicts between assessors", work.conflicts.get(pk, 0), card, ("campaigns:decide", "Decide")),
        _left("Flags", work.flags.get(pk, 0), card, ("review:flags", "Answer")),
        _left("Submitted runs and late files", teams, card, ("submissions:desk", "Decide")),
    )
    steps = (*_material(card, covered), _grades(card), *human_work)
    return Checklist(card.collection, steps)


def _material(card: CollectionCard, covered: int) -> tuple[ChecklistStep, ...]:
    without = card.topics - covered
    material = f"{_count(card.topics, 'topic')}, {_count(card.passages, 'passage')}"
    items = f"{_count(without, 'topic')} without items" if without else _count(card.items, "item")
    runs = _count(card.runs, "run")
    return (
        _step("Topics and passages", material, card, ("imports:imports", "Import"), not card.passages),
        _step(
            "Items for every topic",
            items,
            card,
            ("home:collection", "Write items"),
            without or not card.items,
        ),
        _step("Runs accepted", runs, card, ("corpus:runs", "View"), not card.runs),
    )


def _grades(card: CollectionCard) -> ChecklistStep:
    missing = f"{_count(card.missing, 'pair')} left" if card.missing else _count(card.cells, "pair")
    if card.running_jobs:
        address = reverse("grades:jobs", args=[card.collection.slug])
        return ChecklistStep("Grades", StepState.RUNNING, missing, address, "View")
    is_open = not card.cells or (card.missing and not card.is_imported)
    return _step("Grades", missing, card, ("home:collection", "Grade"), is_open)


def _left(name: str, count: int, card: CollectionCard, link: tuple[str, str]) -> ChecklistStep:
    return _step(name, f"{intcomma(count)} left" if count else "none open", card, link, count)


def _step(name: str, detail: str, card: CollectionCard, link: tuple[str, str], todo: object) -> ChecklistStep:
    """Return a step that is done if nothing is `todo`; `link` is a route and its label."""
    state = StepState.OPEN if todo else StepState.DONE
    return ChecklistStep(name, state, detail, reverse(link[0], args=[card.collection.slug]), link[1])


def _count(number: int, noun: str) -> str:
    return f"{intcomma(number)} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection in the list, with its way to the release where the reader organizes it."""

    card: CollectionCard
    stations: tuple[ChecklistStep, ...]
    tasks: tuple[WaitingTask, ...]

    @property
    def next(self) -> ChecklistStep | None:
        """Return the first station that is not done."""
        return next((step for step in self.stations if not step.is_done), None)

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.stations)


@dataclass(frozen=True, slots=True)
class OthersTask:
    """Something that waits for somebody else."""

    count: int
    what: str
    who: str


@require_safe
def home(request: HtmxRequest) -> HttpResponse:
    """Show what waits for the user, and their collections; the only one with all that its role has to do.

    A participant with a single open call comes to where runs are submitted for it.
    """
    listed, teams = cards(request.user), tracks(request.user)
    invitations = invitations_for(request.user)
    if not (listed or invitations or roles.may_create(request.user)) and (only := _only_call(teams)):
        return redirect("submissions:submit", only.collection.slug)
    waiting = waiting_for(request.user, {card.collection: card.role for card in listed})
    stations = ways_to_release(listed, waiting.open)
    rows = [
        CollectionRow(
            card,
            stations.get(card.collection.pk, ()),
            tuple(task for task in waiting.tasks if task.collection == card.collection),
        )
        for card in listed
    ]
    context = {
        "rows": rows,
        "tracks": teams,
        "invitations": invitations,
        "cold": Collection.objects.visible_to(request.user).exclude(cold_at=None),
        "waiting": waiting,
        **(_of_only(request.user, rows[0]) if len(rows) == 1 else {}),
    }
    return page_or_part(request, "home/home.html", context, part="collections")


@require_POST
def follow_link(request: HtmxRequest) -> HttpResponse:
    """Open the invitation whose link was pasted."""
    path = urlsplit(request.POST.get("link", "").strip()).path
    try:
        if resolve(path).view_name == JOIN:
            return redirect(path)
    except Resolver404:
        pass
    messages.error(request, "That is no invitation link. It contains /accounts/join/.")
    return redirect("home:home")


def _only_call(teams: Sequence[Track]) -> Call | None:
    calls = [card.call for track in teams for card in track.calls if card.call.is_open]
    return calls[0] if len(teams) == len(calls) == 1 else None


def _of_only(user: User, row: CollectionRow) -> Context:
    """Return the parts for a person's only collection: what others have to do there, or their own work."""
    collection, role = row.card.collection, row.card.role
    if not role.includes(roles.TO_ORGANIZE):
        return {"collection": collection, "work": work_of(user, collection, role), "only": row}
    entries = AuditEntry.objects.filter(collection=collection).select_related("by")
    return {
        "collection": collection,
        "only": row,
        "others": _others(user, collection),
        "activity": entries[:ACTIVITIES],
        **_first_runs(collection),
    }


def _first_runs(collection: Collection) -> Context:
    """Return the head of the leaderboard with its dots; nothing before there are grades and runs."""
    form = BoardForm({}, collection=collection)
    if not form.graders or not form.is_valid():
        return {}
    first_board = selectors.board(form.spec)
    if not first_board.rows:
        return {}
    sentence = sentences.headline(first_board.top, first_board.n_topics)
    compare = reverse("leaderboards:compare", args=[collection.slug])
    first = first_board.top.first if first_board.top else ()
    rows = [
        DotRow(
            row.run_tag,
            row.score,
            row.low,
            row.high,
            href=f"{compare}?a={row.run_id}",
            kind="lead" if row.run_tag in first else "",
        )
        for row in first_board.rows[:BOARD_RUNS]
    ]
    plot = dot_rows(
        rows,
        name="first-runs",
        sentence=f"The first {counted(len(rows), 'run')}",
        axis=provenance.measure_name(form.spec),
    )
    return {"first_runs": plot, "headline": sentence, "n_further": len(first_board.rows) - len(rows)}


def _others(user: User, collection: Collection) -> list[OthersTask]:
    """Return what waits for others than the organizer, by campaign and by who was asked to answer flags."""
    open_turns = Turn.objects.filter(
        campaign__collection=collection,
        campaign__closed_at=None,
        state__in=(Turn.State.PENDING, Turn.State.LEASED),
    )
    left = dict(open_turns.order_by().values_list("campaign").annotate(Count("pk")))
    rows = []
    for campaign in Campaign.objects.filter(pk__in=left).prefetch_related("people").order_by("pk"):
        names = ", ".join(str(person) for person in campaign.people.all()) or "every assessor"
        rows.append(OthersTask(left[campaign.pk], f"to rate in {campaign.name}", names))
    flags = Flag.objects.open().filter(bank__collection=collection).exclude(assignee=None)
    assignees = flags.exclude(assignee=user).order_by().values_list("assignee")
    counts = dict(assignees.annotate(Count("pk")))
    users = User.objects.in_bulk(counts)
    return rows + [OthersTask(count, "flags to answer", str(users[pk])) for pk, count in counts.items()]
