"""One response of a run, with the items that it covers."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.grades.forms import GraderForm, covered_from
from rubricweb.grades.raters import raters
from rubricweb.review.responses import access, selectors


class AnswerForm(GraderForm):
    """The grader, and from which grade on an item is covered."""

    min_grade = covered_from()


@require_safe
def response(request: HtmxRequest, bank_id: int, topic_id: int, run_id: int) -> HttpResponse:
    """The run's answer to a topic in order, with what each sentence cites and covers."""
    bank, answer = access.response_for(request.user, bank_id, topic_id, run_id)
    form = AnswerForm(request.GET)
    rater = form.offer(raters(bank))
    min_grade = form.value("min_grade", form.default_min_grade)
    context = {"collection": bank.collection, "section": "review", "tab": "answers", "bank": bank}
    context |= {"topic": answer.topic, "run": answer.run, "response": answer}
    context |= {"form": form, "rater": rater, "min_grade": min_grade}
    context["grid"] = selectors.answer_grid(bank, answer, rater, min_grade)
    return page_or_part(request, "review/responses/response.html", context, part="answer")
