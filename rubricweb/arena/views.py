"""Battles, the vote board, and the rubric beside people's votes."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.arena import access, actions, files, selectors
from rubricweb.arena.board import VoteBoard, vote_board
from rubricweb.arena.errors import ArenaError, NothingToDraw
from rubricweb.arena.forms import (
    ArenaForm,
    BallotForm,
    BoardForm,
    EventForm,
    PairForm,
    ReasonForm,
    RubricForm,
)
from rubricweb.arena.fresh.views import waiting
from rubricweb.arena.models import Arena, Battle
from rubricweb.arena.rubric import rubric_and_votes
from rubricweb.arena.selectors import BattleView
from rubricweb.core import spreadsheets
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import naming
from rubricweb.grades import defaults
from rubricweb.grades.raters import raters
from rubricweb.leaderboards import score_axis

PLACE = {"section": "review", "tab": "arena"}
FILE_KINDS = ("csv", "tsv", "json")
EVENTS = "jsonl"
"""Of votes only: what an import reads again."""


@require_safe
def arena(request: HtmxRequest, slug: str) -> HttpResponse:
    """What there is to vote on, how it is drawn, and the person's own battles."""
    shown = access.arena_for(request.user, slug)
    context = _context(request, shown) | {"view": selectors.arena_view(shown, request.user)}
    context["form"] = ArenaForm(instance=shown)
    return page_or_part(request, "arena/arena.html", context, part="battles")


@require_POST
def next_battle(request: HtmxRequest, slug: str) -> HttpResponse:
    """Open the battle that waits, or draw one."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    try:
        return redirect(actions.next_battle(collection, by=request.user))
    except NothingToDraw as refusal:
        messages.info(request, str(refusal))
        return redirect("arena:arena", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def by_name(request: HtmxRequest, slug: str) -> HttpResponse:
    """The unblinded tab: choose two runs and a topic; POST opens their answers."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    form = PairForm(request.POST or None)
    form.offer(collection)
    if form.is_bound and form.is_valid():
        try:
            return redirect(_chosen(request, form, slug))
        except ArenaError as refusal:
            form.add_error(None, str(refusal))
    context = _context(request, access.arena_of(collection)) | {"form": form, "page": "by-name"}
    return form_response(request, "arena/by_name.html", context)


@require_safe
def battle(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Two answers side by side; whose they are, and what a rubric sees in them, only after the vote."""
    shown = access.battle_for(request.user, slug, battle_id)
    return _battle_page(request, shown)


@require_POST
def vote(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Add the vote."""
    voted = access.battle_for(request.user, slug, battle_id)
    view, form = selectors.battle_view(voted), BallotForm(request.POST)
    form.require_evidence(is_asked=view.asks_evidence)
    if not view.sides:
        raise Http404("An answer was replaced since.")
    if not form.is_valid():
        return _battle_page(request, voted, form)
    try:
        actions.vote(voted, form.ballot, by=request.user, seen=form.cleaned_data["seen"])
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return redirect(voted)


@require_POST
def take_back(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Withdraw the vote; the event stays."""
    voted = access.battle_for(request.user, slug, battle_id)
    form = EventForm(request.POST)
    if form.is_valid():
        try:
            actions.take_back(voted, by=request.user, uid=form.sent_uid, seen=form.cleaned_data["seen"])
        except ArenaError as refusal:
            messages.warning(request, str(refusal))
    return redirect(voted)


@require_POST
def reason(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Say why."""
    voted = access.battle_for(request.user, slug, battle_id)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _battle_page(request, voted, reason_form=form)
    try:
        actions.give_reason(voted, form.said, by=request.user)
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return redirect(voted)


@require_POST
def skip(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Give up the battle, and go on to the next one."""
    actions.skip(access.battle_for(request.user, slug, battle_id))
    return next_battle(request, slug)


@require_safe
def battle_json(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """The battle as JSON, once the names are shown."""
    shown = access.battle_for(request.user, slug, battle_id)
    if shown.is_blind:
        raise PermissionDenied("The names are part of it: vote first.")
    document = files.battle_document(selectors.battle_view(shown))
    return JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False})


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Strengths with intervals, wins between runs, and how far voters agree."""
    shown, form = access.arena_for_board(request.user, slug), BoardForm(request.GET)
    context = _context(request, shown) | {"form": form, "page": "board"}
    found = _board(shown.collection, form)
    context |= {"board": found, "file_kinds": FILE_KINDS, **_whiskers(found)}
    return page_or_part(request, "arena/board.html", context, part="board")


@require_safe
def board_file(request: HtmxRequest, slug: str, form: str) -> HttpResponse:
    """The vote board as csv, tsv or json."""
    shown, chosen = access.arena_for_board(request.user, slug), BoardForm(request.GET)
    board = _board(shown.collection, chosen)
    name = f"{slug}-votes-{board.verdict}"
    return _file(name, form, files.board_rows(board), lambda: files.board_document(board, slug))


@require_safe
def votes_file(request: HtmxRequest, slug: str, form: str) -> HttpResponse:
    """The votes that count, each with its reason, as csv, tsv or json; or every event of all as jsonl."""
    shown, chosen = access.arena_for_board(request.user, slug), BoardForm(request.GET)
    if form == EVENTS:
        may_see = roles.holds(request.user, shown.collection, roles.TO_EDIT_BANK)
        name = naming(shown.collection, with_names=may_see and "names" in request.GET)
        lines = [f"{line}\n" for line in files.vote_events(shown.collection, name)]
        response = HttpResponse("".join(lines), content_type="application/jsonl; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{slug}-votes.jsonl"'
        return response
    rows = list(files.vote_rows(shown.collection, with_named=chosen.with_named))
    return _file(f"{slug}-votes", form, rows, lambda: files.vote_documents(rows))


def _board(collection: Collection, form: BoardForm) -> VoteBoard:
    return vote_board(
        collection, form.chosen, with_named=form.with_named, at_equal_length=form.at_equal_length
    )


def _file(
    name: str, form: str, rows: Iterable[tuple[object, ...]], document: Callable[[], object]
) -> HttpResponse:
    if form not in FILE_KINDS:
        raise Http404(f"{', '.join(FILE_KINDS)}.")
    if form == "json":
        response: HttpResponse = JsonResponse(document(), safe=False, json_dumps_params={"indent": 2})
    else:
        lines = spreadsheets.lines(rows, form)
        response = HttpResponse("".join(lines), content_type=spreadsheets.CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


@require_POST
def keep_board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Keep the vote board of this moment as an official board, which others can be compared with."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = BoardForm(request.POST)
    found = vote_board(collection, form.chosen, at_equal_length=form.at_equal_length)
    if found.rows:
        name = actions.keep_board(collection, found, by=request.user)
        messages.success(request, gettext("Kept as the official board “%(name)s”.") % {"name": name})
    return redirect("leaderboards:sure", slug)


@require_safe
def rubric(request: HtmxRequest, slug: str) -> HttpResponse:
    """How far a rubric explains the votes, and where it prefers the other answer."""
    shown, form = access.arena_for_board(request.user, slug), RubricForm(request.GET)
    context = _context(request, shown) | {"form": form, "page": "rubric"}
    if banks := defaults.banks(shown.collection):
        bank = form.offer_banks(banks)
        rater = form.offer(raters(bank))
        min_grade = form.value("min_grade", form.default_min_grade)
        context |= {"rater": rater, "min_grade": min_grade, "banks": banks, "of_bank": bank}
        context["found"] = rubric_and_votes(bank, rater, min_grade, verdict=form.chosen)
    return page_or_part(request, "arena/rubric.html", context, part="rubric")


@require_POST
def settings(request: HtmxRequest, slug: str) -> HttpResponse:
    """How battles are drawn, and whether everybody sees the board."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = ArenaForm(request.POST)
    if form.is_valid():
        chosen = {"drawing": Arena.Drawing(form.cleaned_data["drawing"])}
        actions.change_arena(
            collection, **chosen, is_board_open=form.cleaned_data["is_board_open"], by=request.user
        )
        messages.success(request, gettext("Saved."))
    return redirect("arena:arena", slug)


def _context(request: HtmxRequest, shown: Arena) -> dict[str, object]:
    """What every page of the arena has."""
    may_see_board = access.may_see_board(request.user, shown)
    return PLACE | {"collection": shown.collection, "arena": shown, "may_see_board": may_see_board}


def _whiskers(found: VoteBoard) -> dict[str, object]:
    """The rows with what is drawn of them, all on one axis."""
    ends = [value for row in found.rows for value in (row.low, row.high) if row.has_interval]
    axis = score_axis.axis_of(ends)
    return {
        "axis": axis,
        "axis_width": score_axis.WIDTH,
        "axis_height": score_axis.HEIGHT,
        "duels": list(zip(found.rows, found.duels, strict=True)),
        "whiskers": [
            (row, axis.whisker_of(row.strength, row.low, row.high) if axis and row.has_interval else None)
            for row in found.rows
        ],
    }


def _chosen(request: HtmxRequest, form: PairForm, slug: str) -> Battle:
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    topic = collection.topics.get(pk=form.chosen("topic"))
    runs = collection.runs.in_bulk([form.chosen("left"), form.chosen("right")])
    left, right = (runs[form.chosen(side)] for side in ("left", "right"))
    return actions.choose_battle(topic, left, right, by=request.user)


def _battle_page(
    request: HtmxRequest,
    shown: Battle,
    form: BallotForm | None = None,
    reason_form: ReasonForm | None = None,
) -> HttpResponse:
    view = selectors.battle_view(shown)
    is_refused = bool(form or reason_form)
    if form is None:
        form = BallotForm(initial={"uid": uuid.uuid4(), "seen": view.seen})
        form.require_evidence(is_asked=view.asks_evidence)
    context = _context(request, access.arena_of(shown.collection))
    context |= {"battle": shown, "view": view, "form": form, "page": "battle"}
    context |= waiting(shown.question)
    context["reason_form"] = reason_form or ReasonForm(initial={"uid": uuid.uuid4()})
    if not shown.is_blind:
        context |= _rubric_context(view)
    response = page_or_part(request, "arena/battle.html", context, part="battle")
    response.status_code = 422 if is_refused else 200
    return response


def _rubric_context(view: BattleView) -> Context:
    """What the default bank and grader see in the two answers."""
    bank = next(iter(defaults.banks(view.battle.collection)), None)
    if bank is None or view.battle.question or not view.sides:
        return {}
    rater = raters(bank)[0]
    if not rater.grades_items:
        return {}
    rubric = selectors.rubric_view(view.battle, bank, rater, rater.min_grade)
    context = {"rubric": rubric, "rater": rater, "of_bank": bank}
    return context | ({"preferences": selectors.preferences(view, rubric)} if rubric else {})
