"""Select cells in the grid, see what that would be, and do it."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank
from rubricweb.campaigns.queue.actions import assign_cells
from rubricweb.core.formatting import counted, number
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.models import Topic
from rubricweb.grades import actions as grading
from rubricweb.grades import humans
from rubricweb.grades.raters import Rater, raters
from rubricweb.review import selectors
from rubricweb.review.bulk.forms import BulkAction, BulkForm, selection
from rubricweb.review.bulk.plans import BulkPlan, plan
from rubricweb.review.forms import GridForm, kept_fields
from rubricweb.review.views import INSET, inset_frame


@require_http_methods(["GET", "HEAD", "POST"])
def bulk(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show the selected cells, their count and price; POST grades, finds right or assigns them."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_ASSESS)
    address = request.POST if request.method == "POST" else request.GET
    rater, plan = _plan(request, bank, topic, address)
    form = BulkForm(request.POST or None, initial={"uid": uuid4()})
    form.offer(bank.collection)
    context = inset_frame(request, bank, topic) | {"inset": gettext("Selected pairs")}
    context |= {"plan": plan, "form": form, "rater": rater, "kept": kept_fields(address)}
    if request.method != "POST":
        return page_or_part(request, INSET, context, part="plan")
    if not form.is_valid() or not _is_done(request, bank, plan, form):
        return form_response(request, INSET, context, part="plan")
    return _after(request, bank, topic, context)


def _plan(request: HtmxRequest, bank: Bank, topic: Topic, address: QueryDict) -> tuple[Rater, BulkPlan]:
    form = GridForm(address)
    rater = form.offer(raters(bank))
    form.offer_runs(selectors.run_tags(bank.collection))
    form.offer_versions(bank)
    return rater, plan(bank, topic, rater, form.query(), selection(address), reader=request.user)


def _is_done(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    cleaned = form.cleaned_data
    if cleaned["deed"] == BulkAction.TAKE_BACK:
        count = humans.take_back_right(plan.cells, by=request.user, uid=form.chosen_uid)
        undone = ngettext("%(n)s verdict undone.", "%(n)s verdicts undone.", count) % {"n": number(count)}
        messages.info(request, undone)
        return True
    if cleaned["cells"] != len(plan.cells):
        messages.error(
            request,
            gettext(
                "Nothing was changed, because the selected pairs are no longer the same. Check them again.",
            ),
        )
        return False
    if plan.is_too_large and cleaned["deed"] != BulkAction.GRADE:
        messages.error(request, gettext("Nothing was changed: too many pairs are selected. Select fewer."))
        return False
    return ACTIONS[cleaned["deed"]](request, bank, plan, form)


def _grade(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    if not roles.require(request.user, bank.collection, roles.TO_VIEW).includes(roles.TO_GRADE):
        raise PermissionDenied("This needs the role topic developer.")
    missing, failed = list(plan.missing), list(plan.failed)
    jobs = grading.grade_cells(bank.collection, missing=missing, failed=failed, by=request.user)
    cells = sum(job.total for job in jobs)
    messages.success(request, _grading(cells))
    return True


def _grading(cells: int) -> str:
    if not cells:
        return gettext("Nothing to grade here.")
    return gettext("Grading %(cells)s.") % {"cells": counted(cells, "pair")}


def _find_right(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    events = humans.find_right(plan.unchecked, by=request.user, uid=form.chosen_uid)
    n = len(events)
    marked = ngettext("%(n)s rating marked as verified.", "%(n)s ratings marked as verified.", n)
    messages.success(request, marked % {"n": number(n)})
    return True


def _assign(request: HtmxRequest, bank: Bank, plan: BulkPlan, form: BulkForm) -> bool:
    person = form.cleaned_data["person"]
    if person is None:
        messages.error(request, gettext("Nothing was changed. Choose who is to rate these pairs."))
        return False
    held = roles.require(request.user, bank.collection, roles.TO_VIEW)
    if person != request.user and not held.includes(roles.TO_EDIT_BANK):
        raise PermissionDenied(
            "Only topic developers assign pairs to others; you can assign them to yourself."
        )
    new = assign_cells(bank, plan.cells, to=person, by=request.user)
    added = gettext("Added to the queue of %(person)s: %(cells)s.")
    messages.success(request, added % {"cells": counted(new, "pair"), "person": person})
    return True


ACTIONS = {BulkAction.GRADE: _grade, BulkAction.RIGHT: _find_right, BulkAction.ASSIGN: _assign}


def _after(request: HtmxRequest, bank: Bank, topic: Topic, context: dict[str, object]) -> HttpResponse:
    """Redirect to the grid; for htmx, render the part again with an undo."""
    if request.htmx:
        done = {"is_done": True, "deed": request.POST["deed"], "uid": request.POST["uid"]}
        return page_or_part(request, INSET, context | done, part="plan")
    kept = [pair for pair in kept_fields(request.POST) if pair[0] not in {"passage", "item"}]
    query = urlencode([("view", "grid"), *kept])
    return redirect(f"{reverse('editor:topic', args=[bank.pk, topic.pk])}?{query}")
