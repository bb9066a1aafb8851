"""One response of a run, with the items that it covers."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.forms import ChipForm
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.grades.forms import GraderForm, covered_from
from rubricweb.grades.raters import raters
from rubricweb.review.responses import access, selectors
from rubricweb.review.views import INSET, inset_frame


class AnswerForm(ChipForm, GraderForm):
    """The grader, and from which grade on an item is covered."""

    in_toolbar = ("grader", "min_grade")

    min_grade = covered_from()

    def default_value(self, name: str) -> str:
        return {"grader": self.data["grader"], "min_grade": str(self.default_min_grade)}[name]


@require_safe
def response(request: HtmxRequest, bank_id: int, topic_id: int, run_id: int) -> HttpResponse:
    """The run's answer to a topic in order, with what each sentence cites and covers."""
    bank, answer = access.response_for(request.user, bank_id, topic_id, run_id)
    form = AnswerForm(request.GET)
    rater = form.offer(raters(bank))
    min_grade = form.value("min_grade", form.default_min_grade)
    context = inset_frame(request, bank, answer.topic)
    context |= {"inset": f"Answer of {answer.run.run_tag}", "run": answer.run, "response": answer}
    context |= {"form": form, "rater": rater, "min_grade": min_grade}
    context["grid"] = selectors.answer_grid(bank, answer, rater, min_grade)
    return page_or_part(request, INSET, context, part="answer")
