"""Results > Votes > Judges: models beside people, and the jobs that ask models for votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe
from numpy.typing import NDArray

from grading.arrays import divide
from grading.pairwise import LONGEST_REPLY, PROMPT_ID, preference_of
from grading.statistics.agreement import COEFFICIENT, cohen_kappa, contingencies
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.statistics.rank_correlation import Correlation, kendall
from grading.statistics.vote_variance import Explained, Share
from rubricweb.accounts import roles
from rubricweb.arena import access, actions
from rubricweb.arena.actions import JudgeRequest, NothingToJudge
from rubricweb.arena.answers import CountedVote, counted_votes, paired_topics, stored_answers
from rubricweb.arena.board import VoteBoard, VoteBoardRow, vote_board
from rubricweb.arena.judges import JudgeVotes, judge_names, votes_of
from rubricweb.arena.judges.kind import LISTING, price, price_of_job
from rubricweb.arena.models import JudgedPair, JudgeJob
from rubricweb.arena.rubric import coverages, explained_by, places_of, scored_votes, scores_of
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import WriterForm, longest_reply_field
from rubricweb.grades.engine import monitor
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks
from rubricweb.jobs.limits import ExpectedCost, LimitsForm
from rubricweb.jobs.listing import JobLine, ListedJob, lines_of
from rubricweb.jobs.progress import progress_of

OUTCOMES = (1, 0, -1)


@dataclass(frozen=True, slots=True)
class AgreementWithPeople:
    """People's votes, each set against the judge's on the same two answers; "both bad" is a tie."""

    votes: int
    same: Share
    """The share that is equal."""
    kappa: float
    """Cohen's, of three outcomes."""
    kappa_interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge beside people."""

    votes: JudgeVotes
    board: VoteBoard
    agreement: AgreementWithPeople | None
    """None where people and the judge voted on no common pair."""
    tau: Correlation
    """Kendall's tau-b of the strengths."""
    rubric: Explained | None


@dataclass(frozen=True, slots=True)
class RunStrengths:
    """A run with its place on each board."""

    run_id: int
    run_tag: str
    places: tuple[VoteBoardRow | None, ...]
    """By people, then by each judge; None without votes."""


@dataclass(frozen=True, slots=True)
class BesidePeople:
    board: VoteBoard
    """By people's votes."""
    rubric: Explained | None
    """What the rubric says of people's votes."""
    rubric_name: str
    """Rubric and grader; empty where there is none."""
    judges: tuple[JudgeRow, ...]
    runs: tuple[RunStrengths, ...]
    """The strongest by people's votes first."""


def beside_people(collection: Collection) -> BesidePeople:
    """Return every model that voted here beside people's blind votes on answers."""
    human, board = counted_votes(collection).votes, vote_board(collection)
    by_name = [votes_of(collection, name) for name in judge_names(collection)]
    name, by_rubric = _rubric(collection, [human, *(judge.votes for judge in by_name)])
    judges = []
    for judge, explained in zip(by_name, by_rubric[1:], strict=True):
        theirs = vote_board(collection, judge=judge)
        tau = kendall(_strengths(theirs), _strengths(board))
        judges.append(JudgeRow(judge, theirs, agreement(human, judge.votes), tau, explained))
    boards = [board, *(row.board for row in judges)]
    return BesidePeople(board, by_rubric[0], name, tuple(judges), _runs(boards))


def agreement(human: Sequence[CountedVote], judge: Sequence[CountedVote]) -> AgreementWithPeople | None:
    """Return how far people agree with a judge where both voted; intervals are over topics."""
    verdicts = {(vote.topic_id, vote.pair): vote.outcome_of(vote.pair[0]) for vote in judge}
    both = [vote for vote in human if (vote.topic_id, vote.pair) in verdicts]
    if not both:
        return None
    tables = contingencies(
        [vote.outcome_of(vote.pair[0]) for vote in both],
        [verdicts[vote.topic_id, vote.pair] for vote in both],
        [vote.topic_id for vote in both],
        levels=OUTCOMES,
    )
    whole = tables.sum(axis=0)
    return AgreementWithPeople(
        votes=len(both),
        same=Share(float(_same(whole)), statistic_interval(tables, _same, bounds=(0, 1))),
        kappa=float(cohen_kappa(whole)),
        kappa_interval=statistic_interval(tables, cohen_kappa, bounds=COEFFICIENT),
    )


def _same(tables: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share on the diagonal of tables of shape (..., outcomes, outcomes)."""
    return divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def _strengths(board: VoteBoard) -> dict[str, float]:
    return {str(row.run_id): row.strength for row in board.rows}


def _rubric(
    collection: Collection, votes: Sequence[Sequence[CountedVote]]
) -> tuple[str, list[Explained | None]]:
    """Return the rubric and grader that boards show first, and what they say of each rater's votes."""
    bank = next(iter(banks(collection)), None)
    if bank is None:
        return "", [None] * len(votes)
    rater = raters(bank)[0]
    if not rater.grades_items:
        return "", [None] * len(votes)
    places = {place for of_one in votes for place in places_of(of_one)}
    scores = scores_of(coverages(bank, rater, rater.min_grade, places))
    explained = [explained_by(scores, scored_votes(of_one, scores)) for of_one in votes]
    return f"{bank.name}, {rater.name}", explained


def _runs(boards: Sequence[VoteBoard]) -> tuple[RunStrengths, ...]:
    by_run = [{row.run_id: row for row in board.rows} for board in boards]
    tags = {row.run_id: row.run_tag for board in boards for row in board.rows}
    return tuple(RunStrengths(run, tag, tuple(rows.get(run) for rows in by_run)) for run, tag in tags.items())


PAGE = "arena/judges.html"
SHOWN_FAILURES, SHOWN_JOBS = 20, 5


class JudgeForm(WriterForm):
    """Which model is asked about which pairs of answers."""

    pairs = forms.ChoiceField(label="Pairs", choices=JudgeJob.Pairs, initial=JudgeJob.Pairs.VOTED)
    longest_reply = longest_reply_field(
        LONGEST_REPLY, "A verdict takes a few. A model that reasons before it answers needs many more."
    )

    @property
    def asking(self) -> JudgeRequest:
        """Return what the valid form says."""
        writer, pairs = self.writer, JudgeJob.Pairs(self.cleaned_data["pairs"])
        return JudgeRequest(writer.backend, writer.llm, pairs, self.cleaned_data["longest_reply"])


@require_safe
def judges(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show models beside people, to those who see the vote board; `job` in the address opens a job."""
    collection = access.arena_for_board(request.user, slug).collection
    job_id = request.GET.get("job", "")
    context = _page_context(request, collection)
    if job_id.isdecimal() and context["may_organize"]:
        job = get_object_or_404(collection.judge_jobs.select_related("collection", "by"), pk=job_id)
        context |= _job_context(job)
        if request.htmx.target == "job":
            return page_or_part(request, PAGE, context, part="job")
    return page_or_part(request, PAGE, context, part="judges")


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a model, preview what asking it takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    submitted = request.POST if request.method == "POST" else request.GET
    form = JudgeForm(submitted or None, auto_id="ask_%s")
    form.offer(collection)
    context = _page_context(request, collection) | {"form": form, "is_asking": True}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context, part="ask")
    expected = price(collection, form.asking)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        return _start(request, collection, form.asking, limits)
    context |= {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, PAGE, context, part="ask", status=422 if limits.is_bound else 200)


def _start(
    request: HtmxRequest, collection: Collection, asking: JudgeRequest, form: LimitsForm
) -> HttpResponse:
    to = reverse("arena:judges", args=[collection.slug])
    try:
        job = actions.start_judging(collection, asking, limits=form.limits, by=request.user)
    except NothingToJudge as refusal:
        messages.info(request, str(refusal))
        return redirect(to)
    messages.success(request, f"Asking {job.llm} about {counted(job.total, 'pair')}, each in both orders.")
    return redirect(LISTING.address(job))


def _page_context(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return what the page has, whatever is opened on it."""
    form = JudgeForm(auto_id="ask_%s")
    form.offer(collection)
    may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
    return {
        "collection": collection,
        "may_organize": may_organize,
        "beside": beside_people(collection),
        "prompt_id": PROMPT_ID,
        "form": form,
        "has_pairs": bool(paired_topics(stored_answers(collection))),
        "jobs": _lines(collection) if may_organize else [],
    }


def _lines(collection: Collection) -> list[JobLine]:
    lines = lines_of(LISTING, LISTING.jobs(collection.pk))
    return [replace(line, acts=()) for line in lines[:SHOWN_JOBS]]


def _job_context(job: JudgeJob) -> dict[str, object]:
    """Return how far the job is, what it may take, and which replies named no verdict."""
    failed = job.chunks.filter(state=JudgedPair.State.DONE, failed__gt=0).select_related("topic")
    context: dict[str, object] = {
        "row": ListedJob(LISTING, job, progress_of([job], LISTING.rate)[0]),
        "failures": [_failure(pair) for pair in failed[:SHOWN_FAILURES]],
    }
    if not job.has_ended:
        context["limits_form"] = LimitsForm.of_job(job, ExpectedCost.of(price_of_job(job)))
    return context


def _failure(pair: JudgedPair) -> dict[str, object]:
    """Return why the pair has no vote, with the reply that names no verdict, if there is one."""
    replies = (reply for of_prompt in pair.replies.values() for reply in of_prompt)
    unread = next((reply for reply in replies if preference_of(reply) is None), "")
    problem = (pair.result or {}).get("problem", "")
    return {"query_id": pair.topic.query_id, "problem": problem, "reply": unread}
