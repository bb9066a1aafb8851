"""An extracted answer becomes an accepted one: the answer key grows where a miss is seen."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from rubricweb.accounts import roles
from rubricweb.banks.access import item_for_editor
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import keys_of
from rubricweb.core.http import HtmxRequest, offer_undo
from rubricweb.corpus.access import pooled_passage
from rubricweb.grades import humans
from rubricweb.grades.answer_verdicts import AnswerVerdict
from rubricweb.grades.humans import Cell
from rubricweb.grades.humans.actions import HumanGradeError
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.verification import VerificationCounts, change_answer_key
from rubricweb.grades.visibility import hidden_of_cell
from rubricweb.review import selectors
from rubricweb.review.cells.latest_ratings import cell_ratings
from rubricweb.review.selectors.cell import CellView
from rubricweb.review.verify import selectors as checks
from rubricweb.review.verify.forms import Acceptance, AcceptForm, CheckForm
from rubricweb.review.verify.views import answer, verified_bank


@require_POST
def accept(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Add the extracted answer of a cell to the answer key of its question; where a grader judged it wrong,
    say that it is right.
    """
    bank, sent = verified_bank(request, slug, bank_id), _sent(request)
    item = item_for_editor(request.user, bank_id, sent.item)
    passage = pooled_passage(bank.collection, item.topic_id, sent.passage)
    if hidden_of_cell(request.user, item.topic, item.revision_id, passage.pk).graders:
        raise Http404("The answer is hidden.")
    rater = CheckForm(request.GET).offer(raters(bank))
    cell = selectors.cell(item, passage, rater)
    words = " ".join(cell.answer.split())
    if words != " ".join(sent.answer.split()):
        return _refused(request, bank, sent, gettext("The grader has another answer now: read it first."))
    try:
        with transaction.atomic():
            verdict = _find_right(cell, rater, request)
            counts = change_answer_key(item, texts=[*cell.keys, words], seen=sent.seen, by=request.user)
    except (BankError, HumanGradeError) as refusal:
        return _refused(request, bank, sent, str(refusal))
    item.refresh_from_db(fields=["version"])
    undo: dict[str, object] = {"item": item.pk, "passage": passage.pk, "seen": item.version, "answer": words}
    undo |= {"verdict": verdict.pk} if verdict else {}
    undo_at = reverse("review:verify-accept-undo", args=[slug, bank_id])
    offer_undo(request, _accepted(words, counts), f"{undo_at}?{request.GET.urlencode()}", **undo)
    return _shown(request, bank, None if verdict else (item.topic_id, passage.pk, item.pk))


@require_POST
def accept_undo(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Take the answer out of the key again, and back what was said of it."""
    bank, sent = verified_bank(request, slug, bank_id), _sent(request)
    item = item_for_editor(request.user, bank_id, sent.item)
    left = [text for text in keys_of([item.revision_id]).get(item.revision_id, ()) if text != sent.answer]
    try:
        with transaction.atomic():
            change_answer_key(item, texts=left, seen=sent.seen, by=request.user)
            if sent.verdict:
                event = get_object_or_404(checks.my_verdicts(request.user, bank), pk=sent.verdict)
                humans.undo_verdict(event, by=request.user)
    except (BankError, HumanGradeError) as refusal:
        return _refused(request, bank, sent, str(refusal))
    messages.success(request, gettext("Taken back."))
    return _shown(request, bank, (item.topic_id, sent.passage, item.pk))


def _sent(request: HtmxRequest) -> Acceptance:
    form = AcceptForm(request.POST)
    if not form.is_valid():
        raise BadRequest("The form lacks the answer, or the pair that it is of.")
    return form.acceptance


def _find_right(cell: CellView, rater: Rater, request: HtmxRequest) -> AnswerVerdict | None:
    """Save that the answer is right, where a grader has a verdict that this person may check."""
    grade, may_assess = cell.grade, roles.holds(request.user, cell.item.bank.collection, roles.TO_ASSESS)
    if not (rater.verifies and may_assess and grade and grade.rating is not None):
        return None
    seen = cell_ratings(cell.item, cell.passage, request.user, rater).seen
    place = Cell.of(cell.item, cell.passage)
    return humans.judge_answer(place, grade, is_right=True, by=request.user, seen=seen)


def _accepted(words: str, counts: VerificationCounts) -> str:
    parts = [gettext("“%(answer)s” is an accepted answer now.") % {"answer": words}]
    if counts.changed:
        changed = ngettext("%(n)s verdict changed.", "%(n)s verdicts changed.", counts.changed)
        parts.append(changed % {"n": counts.changed})
    if counts.removed:
        gone = ngettext(
            "%(n)s verdict of a model that had read the old key is to be asked again.",
            "%(n)s verdicts of models that had read the old key are to be asked again.",
            counts.removed,
        )
        parts.append(gone % {"n": counts.removed})
    return " ".join(parts)


def _refused(request: HtmxRequest, bank: Bank, sent: Acceptance, why: str) -> HttpResponse:
    messages.error(request, gettext("Not saved. %(refusal)s") % {"refusal": why})
    item = bank.items.get(pk=sent.item)
    return _shown(request, bank, (item.topic_id, sent.passage, item.pk))


def _shown(request: HtmxRequest, bank: Bank, at: tuple[int, int, int] | None) -> HttpResponse:
    """The card of the cell, or the next one; a plain browser is redirected to it."""
    if request.htmx:
        return answer(request, bank, None, at=at)
    kept = request.GET.copy()
    kept.pop("at", None)
    if at and not CheckForm(request.GET).shows_list:
        kept["at"] = "-".join(map(str, at))
    return redirect(f"{reverse('review:verify', args=[bank.collection.slug, bank.pk])}?{kept.urlencode()}")
