"""Fetch and authorise in one call, always through the collection."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.secrecy import readable
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.grades.engine import missing, price
from rubricweb.grades.models import Grade, GradingJob


def job_for(user: User, slug: str, job_id: int, *, needed: roles.Role = roles.TO_VIEW) -> GradingJob:
    collection = collection_for(user, slug, needed=needed)
    job: GradingJob = get_object_or_404(
        collection.jobs.select_related("collection", "config", "by"), pk=job_id
    )
    return job


def collection_to_grade(user: User, slug: str) -> Collection:
    collection = collection_for(user, slug)
    roles.require(user, collection, roles.role_to_grade(collection))
    return collection


def price_refusal(user: User, collection: Collection, find: Callable[[], list[missing.Missing]]) -> str:
    """Return why an assessor may not spend the price of the cells that `find` finds, or ""."""
    if roles.holds(user, collection, roles.TO_GRADE):
        return ""
    limit, dollars = float(collection.assessors_grade_up_to), price.dollars_of(collection, find())
    if dollars is None:
        return "The price of this model is unknown, so only a topic developer can start this job."
    if dollars > limit:
        return (
            f"About ${dollars:,.2f}; assessors may start up to ${limit:,.2f}. A topic "
            f"developer can start this job."
        )
    return ""


def grade_for(user: User, slug: str, grade_id: int, *, needed: roles.Role = roles.TO_VIEW) -> Grade:
    collection = collection_for(user, slug, needed=needed)
    grades = readable(Grade.objects.filter(topic__collection=collection))
    grade: Grade = get_object_or_404(
        grades.select_related("topic__collection", "job__collection", "config", "revision", "passage"),
        pk=grade_id,
    )
    if visibility.is_hidden(collection.pk, grade.topic_id, (grade.revision_id, grade.passage_id)):
        raise PermissionDenied("Rate this pair before you see the grader's rating.")
    return grade
