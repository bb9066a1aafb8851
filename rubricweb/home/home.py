"""Home by role: the way to the release, the next passages to rate, a run to submit, three ways to begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.invitations import invitations_for
from rubricweb.accounts.models import User
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.home.checklist import Checklist, checklists
from rubricweb.home.collections import CollectionCard, cards_of, collections_of
from rubricweb.home.todo import WaitingTask, waiting_for
from rubricweb.home.work import work_of
from rubricweb.leaderboards.board import provenance, selectors, sentences
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.plots.cells import DotRow, dot_rows
from rubricweb.review.models import Flag
from rubricweb.submissions.models import Call
from rubricweb.submissions.selectors import Track, tracks

ACTIVITIES = 6
BOARD_RUNS = 10
"""How many of the first runs the board of Home has."""
JOIN = "accounts:join"


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection in the list, with its way to the release where the reader organizes it."""

    card: CollectionCard
    checklist: Checklist | None
    tasks: tuple[WaitingTask, ...]


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
    held = roles.read_roles(request.user)
    seen = collections_of(request.user)
    teams = tracks(request.user) if roles.Role.PARTICIPANT in held.values() else []
    listed = cards_of([each for each in seen if not each.cold_at], held)
    invitations = invitations_for(request.user)
    if not (listed or invitations or roles.may_create(request.user)) and (only := _only_call(teams)):
        return redirect("submissions:submit", only.collection.slug)
    waiting = waiting_for(request.user, {card.collection: card.role for card in listed})
    organized = [card for card in listed if card.role.includes(roles.TO_ORGANIZE)]
    ways = checklists(organized, waiting.open)
    rows = [
        CollectionRow(
            card,
            ways.get(card.collection.pk),
            tuple(task for task in waiting.tasks if task.collection == card.collection),
        )
        for card in listed
    ]
    context = {
        "rows": rows,
        "tracks": teams,
        "invitations": invitations,
        "cold": [each for each in seen if each.cold_at],
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
    return {
        "collection": collection,
        "only": row,
        "others": _others(user, collection),
        "activity": _activity(collection.pk),
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
    left = {pk: (name, count) for pk, name, count in _open_turns(collection.pk)}
    assignees = _assignees(tuple(left)) if left else []
    assigned = Flag.objects.open().filter(bank__collection=collection).exclude(assignee=None)
    by_person = assigned.exclude(assignee=user).order_by().values_list("assignee")
    flags = dict(by_person.annotate(Count("pk")))
    user_pks = tuple({pk for _, pk in assignees} | flags.keys())
    names = {person.pk: str(person) for person in _users(user_pks)} if user_pks else {}
    rows = [
        OthersTask(
            count,
            f"to rate in {name}",
            ", ".join(names[person] for campaign, person in assignees if campaign == pk) or "every assessor",
        )
        for pk, (name, count) in left.items()
    ]
    return rows + [OthersTask(count, "flags to answer", names[pk]) for pk, count in flags.items()]


@compiled_once
def _open_turns(collection: int) -> QuerySet[Turn, tuple[int, str, int]]:
    """Return key and name of each open campaign with the ratings that it lacks."""
    states = (Turn.State.PENDING, Turn.State.LEASED)
    turns = Turn.objects.filter(campaign__collection=collection, campaign__closed_at=None, state__in=states)
    by_campaign = turns.order_by("campaign").values_list("campaign", "campaign__name")
    return by_campaign.annotate(Count("pk"))


@compiled_once
def _assignees(campaigns: tuple[int, ...]) -> QuerySet[Any, tuple[int, int]]:
    """Return the campaigns with each person who was named to rate in them."""
    rows = Campaign.assignees.through.objects.filter(campaign__in=campaigns)
    return rows.order_by("user").values_list("campaign", "user")


@compiled_once
def _users(pks: tuple[int, ...]) -> QuerySet[User]:
    return User.objects.filter(pk__in=pks)


@compiled_once
def _activity(collection: int) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(collection=collection).select_related("by")[:ACTIVITIES]
