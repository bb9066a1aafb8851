"""The next step towards grades: what a collection lacks, and the link that supplies it."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection, Passage, Pooled
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.raters import active_raters
from rubricweb.grades.selectors import banks, labellers_of
from rubricweb.jobs.waiting import Line


@dataclass(frozen=True, slots=True)
class NextStep:
    lacks: str
    """One sentence on what is missing."""
    verb: str
    """Text of the link, or for readers who may not take the step, who takes it."""
    address: str = ""
    """Address of the step; empty where the reader may not take it."""


def next_step(user: User, collection: Collection, bank: Bank | None = None) -> NextStep | None:
    """Return the first step that is missing until `bank`, or else any bank of the collection, has grades.

    None if it has some. A fixed number of queries, each of which stops at the first row.
    """
    role, bank = _role_and_bank(user, collection, bank)
    return _material(role, collection, bank) or _grading(role, collection, bank)


def material_step(user: User, collection: Collection, bank: Bank | None = None) -> NextStep | None:
    """Return the first step that is missing until there is something to grade; None if there is."""
    role, bank = _role_and_bank(user, collection, bank)
    return _material(role, collection, bank)


def _role_and_bank(user: User, collection: Collection, bank: Bank | None) -> tuple[Role, Bank | None]:
    role = roles.require(user, collection, roles.TO_VIEW)
    return role, bank or next(iter(banks(collection)), None)


def _material(role: Role, collection: Collection, bank: Bank | None) -> NextStep | None:
    slug = collection.slug
    organizer, editor = roles.TO_ORGANIZE, roles.role_to_edit(collection)
    imports = reverse("imports:imports", args=[slug])
    topic = collection.topics.first()
    if topic is None:
        return _step(role, organizer, "This collection has no topics.", "Import files", imports)
    if bank is None:
        lacks = "There is no rubric of questions or nuggets to grade passages on."
        return _step(role, editor, lacks, "Draft, write or import questions", collection.get_absolute_url())
    if not Item.including_secret.active().filter(bank=bank).exists():
        address = reverse("review:topic", args=[bank.pk, topic.pk])
        return _step(role, editor, "No topic has a question or nugget.", "Write the first ones", address)
    if Pooled.objects.filter(topic__collection=collection).exists():
        return None
    if Passage.objects.filter(collection=collection).exists():
        pool = reverse("grades:pool", args=[slug])
        return _step(role, organizer, "No passages are chosen for grading.", "Choose the passages", pool)
    return _step(role, organizer, "This collection has no passages.", "Import files", imports)


def _grading(role: Role, collection: Collection, bank: Bank | None) -> NextStep | None:
    active = Item.including_secret.active().filter(bank=bank)
    if Grade.objects.filter(revision__in=active.values("revision")).exists():
        return None
    if active_raters(collection)[0].labels_passages and labellers_of(collection):
        return None  # no item will ever have a grade
    live = collection.jobs.filter(state__in=GradingJob.WORKED_ON).select_related("config", "collection")
    if job := live.order_by("-state", "pk").first():  # running before queued
        address = reverse("grades:jobs", args=[collection.slug])
        return NextStep(_of_first_passages(role, job), "Watch the progress", address)
    missing = f"{reverse('grades:jobs', args=[collection.slug])}?bank={bank.pk if bank else ''}"
    grader = roles.role_to_grade(collection)
    lacks = "No passage is graded on the items of this rubric."
    return _step(role, grader, lacks, "See what grading takes", missing)


def _of_first_passages(role: Role, job: GradingJob) -> str:
    """Return the sentence while the first passages are graded, or what comes first."""
    wait = Line.now().wait_of(job)
    if wait is None:
        return "The first passages are being graded."
    if wait.needs_worker or not wait.has_redis:
        return "Grading waits: no worker is running that can do it."
    if not wait.ahead:
        return "Grading begins in a moment."
    name = wait.name(job.collection_id if role.includes(roles.TO_SEE_RUNS) else None)
    return f"Grading waits behind: {name}{wait.rest}."


_BY = {
    Role.ORGANIZER: "An organizer does that.",
    Role.DEVELOPER: "A topic developer or an organizer does that.",
    Role.ASSESSOR: "An assessor, a topic developer or an organizer does that.",
}
"""Who takes a step that needs this role."""


def _step(role: Role, needed: Role, lacks: str, verb: str, address: str) -> NextStep:
    if not role.includes(needed):
        return NextStep(lacks, str(_BY[needed]))
    return NextStep(lacks, verb, address)
