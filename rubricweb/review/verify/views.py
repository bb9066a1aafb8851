"""Verify a grader: the cell to check, verdicts on it, and accepted answers."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import changes
from rubricweb.banks.access import bank_for, item_for_editor
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import keys_of, worded_siblings
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, offer_undo, page_or_part
from rubricweb.corpus.access import collection_for, pooled_passage
from rubricweb.grades import human_matrices, human_ratings, verification, visibility
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade, answer_digest
from rubricweb.grades.human_ratings import Cell, HumanGradeError, RatedMeanwhile, UnfitRating
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.selectors import banks
from rubricweb.review import access
from rubricweb.review.cells import NoText, Reworded, Saving, cell_ratings, displayed_rating
from rubricweb.review.selectors.graded import GradedCell, graded_cells
from rubricweb.review.verify import BankCells, RatedAnew, bank_cells, estimates, selectors as checks
from rubricweb.review.verify.forms import Acceptance, AcceptForm, CheckForm, UndoVerdictForm, VerdictForm
from rubricweb.review.verify.selectors import CheckQuery, answer_rows

PAGE = "review/verify/verify.html"
CARD, LIST = "review/verify/_check.html", "review/verify/_list.html"
HELD = 3
"""Cells after the first that the page holds."""
STATUS = {RatedMeanwhile: 409, Reworded: 409, RatedAnew: 409, UnfitRating: 422, NoText: 422}


@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: HtmxRequest, slug: str, bank_id: int | None = None) -> HttpResponse:
    """Show the cell to check, and why it is suspicious; POST saves a verdict and goes on.

    Without a bank in the address it is the collection's first; without any, My work says so.
    """
    needed = roles.TO_VERIFY if request.method == "POST" else roles.TO_VIEW
    if bank_id is None:
        first = next(iter(banks(collection_for(request.user, slug, needed=needed))), None)
        if first is None:
            messages.info(request, "Nothing to verify: there are no questions yet.")
            return redirect("home:work", slug)
        bank_id = first.pk
    bank = verified_bank(request, slug, bank_id, needed=needed)
    if request.method != "POST":
        return check_page(request, bank, None)
    form = VerdictForm(request.POST)
    saving = _save_verdict(request, bank, form)
    at = form.at if saving.refusal else None
    return check_page(request, bank, saving, at=at)


@require_POST
def undo(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Withdraw the user's latest verdict, and show that cell again."""
    bank = verified_bank(request, slug, bank_id, needed=roles.TO_VERIFY)
    form = UndoVerdictForm(request.POST)
    if not form.is_valid():
        raise Http404("No such verdict.")
    verdict, rating_event, uid = (form.cleaned_data[name] for name in ("verdict", "rating_event", "uid"))
    event: AnswerVerdict | HumanGrade
    try:
        if verdict:
            event = get_object_or_404(checks.my_verdicts(request.user, bank), pk=verdict)
            saving = Saving(None, verification.undo_verdict(event, by=request.user, uid=uid))
        else:
            event = get_object_or_404(checks.my_events(request.user, bank), pk=rating_event)
            cell = Cell(event.topic_id, event.revision_id, event.passage_id)
            saving = Saving(None, human_ratings.undo(cell, by=request.user, seen=event.number, uid=uid))
    except HumanGradeError as refusal:
        saving = Saving(None, refusal=refusal)
    item = bank.items.active().filter(revision=event.revision_id).first()
    return check_page(request, bank, saving, at=(event.topic_id, event.passage_id, item.pk if item else 0))


@require_safe
def verify_estimates(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Refresh the estimates below the cell to check: precision and recall of the grader."""
    bank = verified_bank(request, slug, bank_id)
    if not request.htmx:
        page = reverse("review:verify", args=[slug, bank.pk], query=request.GET)
        return redirect(f"{page}#estimates")
    form = CheckForm(request.GET)
    rater = form.offer(raters(bank))
    context = {
        "estimates": estimates(bank_cells(bank, rater, request.user), rater.highest),
        "query": form.query(),
        "rater": rater,
    }
    return page_or_part(request, PAGE, _place(bank) | context, part="estimates")


def verified_bank(request: HtmxRequest, slug: str, bank_id: int, needed: roles.Role = roles.TO_VIEW) -> Bank:
    bank = bank_for(request.user, bank_id, needed=needed)
    if bank.collection.slug != slug:
        raise Http404("No such rubric in this collection.")
    return bank


def _save_verdict(request: HtmxRequest, bank: Bank, form: VerdictForm) -> Saving:
    """Save the verdict on the rating that the page showed, unless the grader rates the cell anew."""
    if not form.is_valid():
        return Saving(None, refusal=UnfitRating(form.why))
    cleaned = form.cleaned_data
    where = (bank.pk, cleaned["topic"])
    item, passage = access.cell_for(request.user, where, (cleaned["passage"], cleaned["item"]), QueryDict())
    rater = CheckForm(request.GET).offer(raters(bank))
    try:
        if cleaned["revision"] != item.revision_id:
            raise Reworded
        if not item.revision.text:
            raise NoText
        if rater.verifies:
            config = rater.by_kind.get(ItemKind(item.kind))
            graded = Grade.objects.filter(config=config, revision=item.revision_id, passage=passage)
            grade = graded.select_related("config").first()
            if (
                grade is None
                or grade.rating != cleaned["shown_rating"]
                or answer_digest(grade.answer) != cleaned["answer"]
            ):
                raise RatedAnew(None if grade is None else grade.rating)
            is_right = (cleaned["verdict"] == HumanGrade.Verdict.RIGHT) == bool(grade.rating)
            how = {"by": request.user, "seen": cleaned["seen"], "uid": cleaned["uid"]}
            judge_answer = verification.judge_answer(Cell.of(item, passage), grade, is_right=is_right, **how)
            return Saving(None, judge_answer)
        now = displayed_rating(item, passage, rater, human_matrices.RatingSource.GRADER)
        if now is None or now.rating != cleaned["shown_rating"]:
            raise RatedAnew(now.rating if now else None)
        verdict = {name: cleaned[name] for name in ("verdict", "rating", "seen", "uid")}
        event = human_ratings.record_verdict(
            Cell.of(item, passage), **verdict, by=request.user, displayed=now
        )
        return Saving(cleaned["rating"], event)
    except HumanGradeError as refusal:
        return Saving(cleaned["rating"], refusal=refusal)


def check_page(
    request: HtmxRequest, bank: Bank, saving: Saving | None, at: tuple[int, int, int] | None = None
) -> HttpResponse:
    """Render the page, or after a change its card; redirect a plain browser to the queue."""
    form = CheckForm(request.GET)
    form.offer_topics(bank.collection_id)
    if saving is not None and not request.htmx:
        return _redirect(request, bank, saving, at)
    rater = form.offer(raters(bank))
    query = form.query()
    query = replace(query, at=at) if at or saving is not None else query
    cells = bank_cells(bank, rater, request.user)
    context = _place(bank) | {"form": form, "rater": rater, "query": query, "saving": saving}
    if rater.verifies and form.shows_list:
        page = form.value("page", 1)
        context |= {"listed": answer_rows(bank, rater, cells, query, page), "shown": LIST}
        context |= {"cells": cells, "hidden": cells.hidden, "estimates": estimates(cells, rater.highest)}
    else:
        candidates = checks.queue(bank, rater, cells, query)
        cards = checks.cards(candidates[: HELD + 1], rater, request.user)
        context |= {"card": next(iter(cards), None), "held": cards[1:], "ahead": candidates[1:]}
        context |= _progress(bank, rater, cells, query) | {"shown": CARD}
    context["kept"] = _without_cell(request)
    response = page_or_part(request, PAGE, context, part="check")
    response.status_code = STATUS[type(saving.refusal)] if saving and saving.refusal else 200
    return response


def _progress(bank: Bank, rater: Rater, cells: BankCells, query: CheckQuery) -> dict[str, object]:
    """Return how far the bank and the chosen topic are checked, and what that says of the grader."""
    topic = checks.topic_of(cells, query)
    lines = checks.lines(bank, topic) if topic else []
    return {
        "lines": lines,
        "here": topic,
        "estimates": estimates(cells, rater.highest),
        "cells": cells,
        "worded": worded_siblings(bank) if cells.wordless else [],
        "hidden": cells.hidden,
    }


def _redirect(
    request: HtmxRequest, bank: Bank, saving: Saving, at: tuple[int, int, int] | None
) -> HttpResponse:
    if saving.refusal:
        messages.error(request, f"Not saved. {saving.refusal}")
    else:
        _report(request, bank, saving)
    kept = _without_cell(request)
    if at:
        kept["at"] = "-".join(map(str, at))
    return redirect(f"{reverse('review:verify', args=[bank.collection.slug, bank.pk])}?{kept.urlencode()}")


def _report(request: HtmxRequest, bank: Bank, saving: Saving) -> None:
    """Say what was saved to a browser that loads the page anew; the card says it otherwise."""
    event = saving.event
    if event is None or event.is_withdrawn or not event.verdict:
        messages.success(request, "Taken back.")
        return
    undo_at = reverse("review:verify-undo", args=[bank.collection.slug, bank.pk])
    kept = _without_cell(request).urlencode()
    field = "verdict" if isinstance(event, AnswerVerdict) else "rating_event"
    offer_undo(request, "Saved.", f"{undo_at}?{kept}", **{field: event.pk})


def _without_cell(request: HtmxRequest) -> QueryDict:
    """Return the parameters without `at`, the one cell."""
    kept = request.GET.copy()
    kept.pop("at", None)
    return kept


def _place(bank: Bank) -> dict[str, object]:
    return {"bank": bank, "collection": bank.collection}


@require_POST
def accept(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Add the extracted answer of a cell to the answer key of its question.

    Where a grader judged it wrong, say that it is right.
    """
    bank, acceptance = verified_bank(request, slug, bank_id), _acceptance(request)
    item = item_for_editor(request.user, bank_id, acceptance.item)
    passage = pooled_passage(bank.collection, item.topic_id, acceptance.passage)
    if visibility.hidden_of_cell(request.user, item.topic, item.revision_id, passage.pk).graders:
        raise Http404("The answer is hidden.")
    rater = CheckForm(request.GET).offer(raters(bank))
    (cell,) = graded_cells([(item, passage)], rater)
    text = " ".join(cell.answer.split())
    if text != " ".join(acceptance.answer.split()):
        return _refused(request, bank, acceptance, "The grader has another answer now: read it first.")
    try:
        with transaction.atomic():
            verdict = _confirm_answer(cell, rater, request)
            counts = verification.change_answer_key(
                item, texts=[*cell.keys, text], seen=acceptance.seen, by=request.user
            )
    except (changes.BankError, HumanGradeError) as refusal:
        return _refused(request, bank, acceptance, str(refusal))
    item.refresh_from_db(fields=["version"])
    fields: dict[str, object] = {"item": item.pk, "passage": passage.pk, "seen": item.version, "answer": text}
    fields |= {"verdict": verdict.pk} if verdict else {}
    undo_at = reverse("review:verify-accept-undo", args=[slug, bank_id])
    offer_undo(request, _accepted(text, counts), f"{undo_at}?{request.GET.urlencode()}", **fields)
    return _show(request, bank, None if verdict else (item.topic_id, passage.pk, item.pk))


@require_POST
def accept_undo(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Take the answer out of the key again, and back what was said of it."""
    bank, acceptance = verified_bank(request, slug, bank_id), _acceptance(request)
    item = item_for_editor(request.user, bank_id, acceptance.item)
    left = [
        text for text in keys_of([item.revision_id]).get(item.revision_id, ()) if text != acceptance.answer
    ]
    try:
        with transaction.atomic():
            verification.change_answer_key(item, texts=left, seen=acceptance.seen, by=request.user)
            if acceptance.verdict:
                event = get_object_or_404(checks.my_verdicts(request.user, bank), pk=acceptance.verdict)
                verification.undo_verdict(event, by=request.user)
    except (changes.BankError, HumanGradeError) as refusal:
        return _refused(request, bank, acceptance, str(refusal))
    messages.success(request, "Taken back.")
    return _show(request, bank, (item.topic_id, acceptance.passage, item.pk))


def _acceptance(request: HtmxRequest) -> Acceptance:
    form = AcceptForm(request.POST)
    if not form.is_valid():
        raise BadRequest("The form lacks the answer, or the pair that it is of.")
    return form.acceptance


def _confirm_answer(cell: GradedCell, rater: Rater, request: HtmxRequest) -> AnswerVerdict | None:
    """Save that the answer is right, where a grader has a verdict that this person may check."""
    grade, may_verify = cell.grade, roles.holds(request.user, cell.item.bank.collection, roles.TO_VERIFY)
    if not (rater.verifies and may_verify and grade and grade.rating is not None):
        return None
    seen = cell_ratings(cell.item, cell.passage, request.user, rater).seen
    place = Cell.of(cell.item, cell.passage)
    return verification.judge_answer(place, grade, is_right=True, by=request.user, seen=seen)


def _accepted(text: str, counts: verification.VerificationCounts) -> str:
    parts = [f"“{text}” is an accepted answer now."]
    if counts.changed:
        parts.append(f"{counted(counts.changed, 'verdict')} changed.")
    if counts.removed:
        models, are = ("a model", "is") if counts.removed == 1 else ("models", "are")
        verdicts = counted(counts.removed, "verdict")
        parts.append(f"{verdicts} of {models} that had read the old key {are} to be asked again.")
    return " ".join(parts)


def _refused(request: HtmxRequest, bank: Bank, acceptance: Acceptance, why: str) -> HttpResponse:
    messages.error(request, f"Not saved. {why}")
    item = bank.items.get(pk=acceptance.item)
    return _show(request, bank, (item.topic_id, acceptance.passage, item.pk))


def _show(request: HtmxRequest, bank: Bank, at: tuple[int, int, int] | None) -> HttpResponse:
    """Render the card of the cell, or of the next one; redirect a plain browser to it."""
    if request.htmx:
        return check_page(request, bank, None, at=at)
    kept = _without_cell(request)
    if at and not CheckForm(request.GET).shows_list:
        kept["at"] = "-".join(map(str, at))
    return redirect(f"{reverse('review:verify', args=[bank.collection.slug, bank.pk])}?{kept.urlencode()}")
