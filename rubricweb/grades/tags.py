"""Template tags of missing grades, names of ratings, marked answers, and grading a cell again."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades import configs, missing, verification
from rubricweb.grades.engine import price, stages
from rubricweb.grades.models import Grade
from rubricweb.jobs.models import Job, LeasedWork
from rubricweb.jobs.waiting import Wait, WaitingLine

register = template.Library()


@register.simple_tag
def missing_url(collection: Collection, bank: Bank | None = None, topic: Topic | None = None) -> str:
    """Return the address of the grades missing in a bank, a topic, both, or the whole collection."""
    scope = {name: row.pk for name, row in {"bank": bank, "topic": topic}.items() if row}
    address = reverse("grades:missing", args=[collection.slug])
    return f"{address}?{urlencode(scope)}" if scope else address


@register.simple_tag(takes_context=True)
def next_step_of(
    context: Context, collection: Collection, bank: Bank | None = None
) -> missing.NextStep | None:
    """Return what is missing until `bank`, or else any bank of the collection, has grades."""
    return missing.next_step(context["request"].user, collection, bank)


@register.simple_tag(takes_context=True)
def material_step_of(
    context: Context, collection: Collection, bank: Bank | None = None
) -> missing.NextStep | None:
    """Return what is missing until `bank`, or else any bank, has something to grade."""
    return missing.material_step(context["request"].user, collection, bank)


@register.simple_tag
def marked(segments: Iterable[verification.PassageSegment]) -> SafeString:
    """Return the passage with its answer marked, without whitespace around parts, since line breaks show."""
    parts = (
        format_html("<mark>{}</mark>", segment.text) if segment.is_answer else segment.text
        for segment in segments
    )
    return format_html_join("", "{}", ((part,) for part in parts))


@register.filter
def rating_name(grade: Grade) -> str:
    """Return the rating's name on the grader's scale ("partial support"); empty if it has only numbers."""
    return configs.name_of(grade.config, grade.rating)


@register.inclusion_tag("jobs/_waits.html", takes_context=True)
def waits(context: Context, work: LeasedWork | Job | Wait | None) -> dict[str, object]:
    """Say what the work waits for, or its progress; lists pass the Wait that they looked up for all rows.

    What is ahead of it is named, with a link to where it can be cancelled, to those who see the jobs of the
    collection that it is of.
    """
    user = context["request"].user
    collection: Collection | None = context.get("collection")
    may_start_one = roles.holds(user, collection, roles.TO_ORGANIZE) if collection else roles.may_create(user)
    if collection and not roles.holds(user, collection, roles.TO_SEE_RUNS):
        collection = None
    wait = WaitingLine.now().wait_of(work) if isinstance(work, LeasedWork | Job) else work
    is_here = wait and collection and wait.collection == collection.pk
    return {
        "wait": wait,
        "may_start_one": may_start_one,
        "name": wait.name(collection.pk if collection else None) if wait else "",
        "jobs": reverse("grades:jobs", args=[collection.slug]) if collection and is_here else "",
    }


@register.inclusion_tag("grades/_again.html", takes_context=True)
def again(context: Context, grade: Grade) -> dict[str, object]:
    """Show the button that grades the cell again, or that it is being graded; the page then refreshes."""
    request, collection = context["request"], context["collection"]
    again_state = again_of(request, grade, collection, address=request.get_full_path())
    return {"again": again_state, "request": request, "csrf_token": context.get("csrf_token")}


def again_of(request: HtmxRequest, grade: Grade, collection: Collection, *, address: str) -> stages.Again:
    role = roles.require(request.user, collection, roles.TO_VIEW)
    asks = stages.can_ask(grade.config) and bool(grade.revision.text)
    may_grade = role.includes(roles.TO_GRADE)
    return stages.Again(
        grade,
        collection,
        address,
        may_grade,
        asks,
        price.price_of_cell(grade, price.rates_of_again(collection, grade.config))
        if asks and may_grade
        else None,
        stages.job_at(grade) if asks else None,
    )
