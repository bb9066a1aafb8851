"""Results > Votes: strengths of runs from people's votes, and the rubric beside these votes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django import forms
from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from grading.formats.battles import csv_lines
from grading.statistics.rank_correlation import Correlation, kendall
from rubricweb.accounts import roles
from rubricweb.arena import access, actions, battle_files, files
from rubricweb.arena.answers import NOUNS, CountedVerdict, Place, counted_votes, paired_topics, stored_answers
from rubricweb.arena.board import Duel, VoteBoard, vote_board
from rubricweb.arena.judges import JudgeVotes, judge_names, votes_of
from rubricweb.arena.models import Arena, JudgeJob
from rubricweb.arena.rubric import rubric_and_votes
from rubricweb.arena.selectors import modules_of_runs
from rubricweb.banks.models import Bank
from rubricweb.core import formatting
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import Context, HtmxRequest, download, page_or_part
from rubricweb.core.tags import fill, joined
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import naming
from rubricweb.grades import selectors
from rubricweb.grades.raters import AddressForm, GraderForm, covered_from, raters
from rubricweb.plots import Picture
from rubricweb.plots.cells import DotRow, dot_rows


@dataclass(frozen=True, slots=True)
class WinRate:
    """A run's votes against its answers' coverage."""

    run_id: int
    run_tag: str
    modules: str
    """How it was made here; empty for other runs, and where the reader knows it by a pseudonym."""
    votes: int
    rate: float
    """The share of its votes that it won, a tie as half."""
    cover: float | None
    """Mean share of items that its answers cover, on the topics of its votes; None without grades."""
    topics: int
    """Topics with grades, over which `cover` is a mean."""


@dataclass(frozen=True, slots=True)
class WinRates:
    rows: tuple[WinRate, ...]
    """The highest rate first."""
    tau: Correlation
    """Kendall's, of win rates with coverage, over the runs that have both."""


def win_rates(collection: Collection, board: VoteBoard, scores: Mapping[Place, float]) -> WinRates:
    """Set win rates against coverage: `scores` has the share of items that each graded answer covers."""
    made = modules_of_runs(collection.pk, [row.run_id for row in board.rows])
    covers: dict[int, list[float]] = {}
    for (run, _), score in scores.items():
        covers.setdefault(run, []).append(score)
    rows = [
        WinRate(
            row.run_id,
            row.run_tag,
            made.get(row.run_id, ""),
            row.votes,
            rate=(row.wins + row.ties / 2) / row.votes,
            cover=float(np.mean(covers[row.run_id])) if row.run_id in covers else None,
            topics=len(covers.get(row.run_id, ())),
        )
        for row in board.rows
    ]
    rows.sort(key=lambda row: (-row.rate, row.run_tag))
    both = [(row.rate, row.cover) for row in rows if row.cover is not None]
    return WinRates(tuple(rows), kendall([rate for rate, _ in both], [cover for _, cover in both]))


VERDICTS = [(verdict.value, noun) for verdict, noun in NOUNS.items()]
FILE_KINDS = ("csv", "tsv", "json")
PICTURE = "svg"
PEOPLE = "people"
CELL = '<td class="num">{content}</td>'
NO_DUEL = SafeString('<span class="muted">·</span>')
NO_VOTES = SafeString('<span class="muted">none</span>')
BATTLES = "battles"
"""The format of votes that other arenas read."""
EVENTS = "jsonl"
"""The format of votes that an import reads again; boards have none."""


class ArenaForm(forms.ModelForm):  # type: ignore[type-arg]  # of Arena
    """What organizers set."""

    class Meta:
        model = Arena
        fields = ("drawing", "is_board_open")
        labels = {
            "drawing": "How battles are drawn",
            "is_board_open": "Assessors and viewers see the vote board",
        }
        help_texts = {"is_board_open": "Open it when blind voting is over, because it shows who leads."}


class VoteBoardForm(ChipForm, AddressForm):
    """Which votes a board counts."""

    in_toolbar: tuple[str, ...] = ("verdict", "voters", "named", "length")

    voters = forms.ChoiceField(label="Votes of", choices=[("", PEOPLE)], required=False)
    verdict = forms.ChoiceField(
        label="Votes on",
        choices=VERDICTS,
        required=False,
        initial=CountedVerdict.ANSWER.value,
    )
    named = forms.BooleanField(
        label="Votes of people who knew the names",
        required=False,
        widget=forms.Select(choices=[("", "left out"), ("on", "counted")]),
    )
    length = forms.BooleanField(
        label="Length of answers",
        required=False,
        widget=forms.Select(choices=[("", "as written"), ("on", "held equal")]),
    )

    def offer_judges(self, collection: Collection) -> None:
        """Offer people, and each model that voted; call this before the form is read."""
        offer_choices(self, "voters", [("", PEOPLE), *((name, name) for name in judge_names(collection))])

    def judge(self, collection: Collection) -> JudgeVotes | None:
        """Return the chosen model's votes; None for people's."""
        name = self.value("voters", "")
        return votes_of(collection, name, self.chosen) if name else None

    @property
    def chosen(self) -> CountedVerdict:
        return CountedVerdict(self.value("verdict", CountedVerdict.ANSWER.value))

    @property
    def at_equal_length(self) -> bool:
        return bool(self.value("length", False))

    @property
    def with_named(self) -> bool:
        return bool(self.value("named", False))


class VotesForm(VoteBoardForm, GraderForm):
    """Which votes a board counts, and the rubric with its grader that is held against them."""

    in_toolbar = (*VoteBoardForm.in_toolbar, "bank", "grader", "min_grade")

    bank = forms.ChoiceField(label="Rubric", required=False)
    min_grade = covered_from()

    def default_value(self, name: str) -> object:
        if name in VoteBoardForm.in_toolbar:
            return super().default_value(name)
        return self.default_min_grade if name == "min_grade" else self.data.get(name)

    def offer_banks(self, banks: list[Bank]) -> Bank:
        """Offer these banks, and return the one in the address, else the first."""
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        chosen = next((bank for bank in banks if str(bank.pk) == self.data.get("bank")), banks[0])
        self.data["bank"] = str(chosen.pk)
        return chosen


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show strengths with intervals, how far voters agree, and where a rubric prefers the other answer.

    While votes are gathered blind, it says so to those who vote, and nothing else.
    """
    arena, form = access.arena_for(request.user, slug), VotesForm(request.GET)
    collection = arena.collection
    context: dict[str, Any] = {"collection": collection}
    if not access.may_see_board(request.user, arena):
        context |= {"is_closed": True, "has_pairs": _has_pairs(collection)}
        return page_or_part(request, "arena/board.html", context, part="board")
    context |= {"arena": arena, "form": form}
    context["file_kinds"] = FILE_KINDS
    form.offer_judges(collection)
    votes = _board(collection, form)
    context |= _rubric(collection, form, votes.judge)
    if "rubric_and_votes" in context:
        context["win_rates"] = win_rates(collection, votes, context["rubric_and_votes"].scores)
    context["has_pairs"] = bool(votes.rows) or _has_pairs(collection)
    if request.htmx and context["has_pairs"] and "has_no_toolbar" in request.GET:
        return HttpResponseClientRefresh()
    context |= {"board": votes, "duels": list(zip(votes.rows, map(_cells, votes.duels), strict=True))}
    context |= {"picture": _picture(votes, slug), "settings_form": ArenaForm(instance=arena)}
    return page_or_part(request, "arena/board.html", context, part="board")


@require_safe
def board_file(request: HtmxRequest, slug: str, form: str) -> HttpResponseBase:
    """Send the vote board as csv, tsv or json, or its picture as svg."""
    arena, chosen = access.arena_for_board(request.user, slug), VoteBoardForm(request.GET)
    chosen.offer_judges(arena.collection)
    votes = _board(arena.collection, chosen)
    name = f"{slug}-votes-{votes.verdict}"
    plot = _picture(votes, slug).plot
    if form == PICTURE and plot:
        return download(plot.file, name=f"{name}.{form}", content_type="image/svg+xml")
    return _file(name, form, files.board_rows(votes), lambda: files.board_document(votes, slug))


@require_safe
def votes_file(request: HtmxRequest, slug: str, form: str) -> HttpResponseBase:
    """Send the votes that count, each with its reason, as csv, tsv or json; or all events of all as jsonl.

    `battles` are the same votes as other arenas have them.
    """
    arena, chosen = access.arena_for_board(request.user, slug), VoteBoardForm(request.GET)
    chosen.offer_judges(arena.collection)
    judge = chosen.judge(arena.collection)
    may_see = roles.holds(request.user, arena.collection, roles.TO_EDIT_BANK)
    name = naming(arena.collection, with_names=may_see and "names" in request.GET)
    if form == BATTLES:
        counted = battle_files.arena_battles(
            arena.collection, chosen.chosen, name, with_named=chosen.with_named, judge=judge
        )
        text = "".join(f"{line}\n" for line in csv_lines(counted))
        file_name = f"{slug}-battles-{chosen.chosen}.csv"
        return download(text, name=file_name, content_type=formatting.CONTENT_TYPES["csv"])
    if form == EVENTS:
        lines = [f"{line}\n" for line in files.vote_events(arena.collection, name)]
        text = "".join(lines)
        return download(text, name=f"{slug}-votes.jsonl", content_type="application/jsonl; charset=utf-8")
    rows = list(files.vote_rows(arena.collection, with_named=chosen.with_named, judge=judge))
    return _file(f"{slug}-votes", form, rows, lambda: files.vote_documents(rows))


@require_POST
def keep_board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Keep the vote board of this moment as an official board, which others can be compared with."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = VoteBoardForm(request.POST)
    form.offer_judges(collection)
    judge = form.judge(collection)
    votes = vote_board(collection, form.chosen, at_equal_length=form.at_equal_length, judge=judge)
    if votes.rows:
        name = actions.keep_board(collection, votes, by=request.user)
        messages.success(request, f"Kept as the official board “{name}”.")
    return redirect("leaderboards:sure", slug)


@require_POST
def settings(request: HtmxRequest, slug: str) -> HttpResponse:
    """Set how battles are drawn, and whether everybody sees the board."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = ArenaForm(request.POST)
    if form.is_valid():
        drawing, is_open = Arena.Drawing(form.cleaned_data["drawing"]), form.cleaned_data["is_board_open"]
        actions.change_arena(collection, drawing=drawing, is_board_open=is_open, by=request.user)
        messages.success(request, "Saved.")
    return redirect("arena:board", slug)


def _has_pairs(collection: Collection) -> bool:
    """Return whether there is anything to vote on, or a model was asked for votes."""
    return JudgeJob.objects.filter(collection=collection).exists() or bool(
        paired_topics(stored_answers(collection))
    )


def _board(collection: Collection, form: VoteBoardForm) -> VoteBoard:
    return vote_board(
        collection,
        form.chosen,
        with_named=form.with_named,
        at_equal_length=form.at_equal_length,
        judge=form.judge(collection),
    )


def _rubric(collection: Collection, form: VotesForm, judge: JudgeVotes | None) -> Context:
    """Hold the chosen bank against the votes; nothing without a bank."""
    banks = selectors.banks(collection)
    if not banks:
        form.in_toolbar = VoteBoardForm.in_toolbar
        return {}
    bank = form.offer_banks(banks)
    rater = form.offer(raters(bank))
    min_grade = form.value("min_grade", form.default_min_grade)
    counted = judge.counted if judge else counted_votes(collection, form.chosen)
    votes = rubric_and_votes(bank, rater, min_grade, counted.votes)
    return {
        "banks": banks,
        "of_bank": bank,
        "rater": rater,
        "min_grade": min_grade,
        "rubric_and_votes": votes,
    }


def _cells(duels: Iterable[Duel | None]) -> SafeString:
    """Return the cells of a row of wins between runs; there is one for every two runs."""
    return joined(fill(CELL, content=_duel(duel)) for duel in duels)


def _duel(duel: Duel | None) -> str:
    if duel is None:
        return NO_DUEL
    return f"{duel.wins}, {duel.ties}, {duel.losses}" if duel.votes else NO_VOTES


def _picture(votes: VoteBoard, slug: str) -> Picture:
    """Return the strengths as dots on one axis, under what they say of the first runs."""
    first = [row for row in votes.rows if row.ranks[0] == 1]
    if not votes.has_intervals:
        title = "Too few topics to tell which run is stronger"
    elif len(first) == 1:
        title = f"{first[0].run_tag} wins most votes"
    else:
        title = f"{len(first)} of {len(votes.rows)} runs may be the strongest"
    rows = [
        DotRow(
            row.run_tag,
            row.strength,
            low=row.low if row.has_interval else None,
            high=row.high if row.has_interval else None,
            href=f"{reverse('leaderboards:compare', args=[slug])}?a={row.run_id}",
            kind="lead" if votes.has_intervals and row in first else "",
        )
        for row in votes.rows
    ]
    noun = NOUNS[votes.verdict]
    plot = dot_rows(rows, name="strengths", sentence=title, axis=f"strength by votes on {noun}")
    return Picture("strengths", title, plot=plot if rows else None)


def _file(
    name: str, form: str, rows: Iterable[tuple[object, ...]], document: Callable[[], object]
) -> HttpResponseBase:
    if form not in FILE_KINDS:
        raise Http404(f"{', '.join(FILE_KINDS)}.")
    if form == "json":
        text = json.dumps(document(), cls=DjangoJSONEncoder, indent=2)
        return download(text, name=f"{name}.json", content_type="application/json")
    text = "".join(formatting.lines(rows, form))
    return download(text, name=f"{name}.{form}", content_type=formatting.CONTENT_TYPES[form])
