"""My work: one list of everything in a collection that waits for a person, with counts and minutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.arena.battles import count_unseen
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.selectors import banks
from rubricweb.home.todo import WaitingKind, WaitingTask, turns_to_rate, waiting_for
from rubricweb.review.verify.selectors import count_unchecked
from rubricweb.support import labelling

PORTION = 20
"""One sitting of work that has no end."""


@dataclass(frozen=True, slots=True)
class KindOfWork:
    kind: WaitingKind
    name: str
    question: str
    verb: str
    route: str
    needed: roles.Role


KINDS = (
    KindOfWork(
        WaitingKind.RATE,
        "to rate",
        "How well does a passage answer each question? One key a rating.",
        "Campaigns",
        "campaigns:campaigns",
        roles.TO_RATE,
    ),
    KindOfWork(
        WaitingKind.VERIFY,
        "to verify",
        "Is the grade right? One passage, one question, yes or no.",
        "Verify",
        "review:verify",
        roles.TO_VERIFY,
    ),
    KindOfWork(
        WaitingKind.DECIDE,
        "to decide",
        "Two people rated differently. Which grade holds?",
        "Decide",
        "campaigns:decide",
        roles.TO_DECIDE,
    ),
    KindOfWork(
        WaitingKind.LABEL,
        "to label",
        "Does the cited passage support the sentence of the answer?",
        "Label",
        "support:label",
        roles.TO_LABEL,
    ),
    KindOfWork(
        WaitingKind.VOTE,
        "to vote on",
        "Which of two answers serves the asker better?",
        "Vote",
        "arena:vote",
        roles.TO_VOTE,
    ),
    KindOfWork(
        WaitingKind.ANSWER,
        "to answer",
        "Flags on questions and passages that wait for a word from you.",
        "Flags",
        "review:flags",
        roles.TO_COMMENT,
    ),
)
"""In the order of the list; each keeps its place when nothing waits."""


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A line of the list."""

    task: WaitingTask
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class NextUp:
    """The task to do first."""

    task: WaitingTask
    name: str
    topic: str = ""
    """That of the next passage to rate, by its query_id and text."""
    done: int = 0
    """Ratings of the same campaign that the person has given."""

    @property
    def total(self) -> int:
        return self.done + self.task.count

    @property
    def is_blind(self) -> bool:
        return self.task.campaign is not None and self.task.campaign.mode != Campaign.Mode.ASSISTED


@dataclass(frozen=True, slots=True)
class WorkList:
    rows: tuple[WorkRow, ...]
    first: NextUp | None

    @property
    def below(self) -> list[WorkRow]:
        """Return the rows below the first campaign, which stands above them with its own button."""
        return [
            row for row in self.rows if not (self.first and row.task.campaign and row.task is self.first.task)
        ]


@require_safe
def work(request: HtmxRequest, slug: str) -> HttpResponse:
    """List what waits for the reader, the next thing to do large on top."""
    collection = collection_for(request.user, slug)
    role = roles.role_of(request.user, collection) or roles.TO_VIEW
    context = {"collection": collection, "work": work_of(request.user, collection, role)}
    return page_or_part(request, "home/work.html", context, part="waiting")


def work_of(user: User, collection: Collection, role: roles.Role) -> WorkList:
    tasks = [*waiting_for(user, {collection: role}).tasks, *_open_ended(user, collection, role)]
    rows = [row for kind in KINDS if role.includes(kind.needed) for row in _rows(kind, collection, tasks)]
    others = [WorkRow(task, task.what, "") for task in tasks if task.kind is WaitingKind.OTHER]
    first = next((row for row in rows if row.task.count and row.task.kind not in OPEN_ENDED), None)
    first = first or next((row for row in rows if row.task.count), None)
    return WorkList((*rows, *others), _next_up(user, first) if first else None)


OPEN_ENDED = frozenset({WaitingKind.VERIFY, WaitingKind.VOTE})
"""Nobody waits for all of it, so that it comes after what has an end."""


def _open_ended(user: User, collection: Collection, role: roles.Role) -> Iterator[WaitingTask]:
    """Yield grades to verify, citations to label, and pairs of answers to vote on."""
    if role.includes(roles.TO_VERIFY) and (bank := next(iter(banks(collection)), None)):
        address = reverse("review:verify", args=[collection.slug, bank.pk])
        count = min(PORTION, count_unchecked(bank, user))
        yield WaitingTask(count, "grades to verify", collection, address, "Verify", WaitingKind.VERIFY)
    if role.includes(roles.TO_LABEL):
        address = reverse("support:label", args=[collection.slug])
        left = labelling.progress(collection, user).left
        yield WaitingTask(left, "citations to label", collection, address, "Label", WaitingKind.LABEL)
    if role.includes(roles.TO_VOTE):
        address = reverse("arena:vote", args=[collection.slug])
        count = min(PORTION, count_unseen(collection, user))
        yield WaitingTask(count, "pairs to vote on", collection, address, "Vote", WaitingKind.VOTE)


def _rows(kind: KindOfWork, collection: Collection, tasks: list[WaitingTask]) -> list[WorkRow]:
    """Return the lines of a kind, without any task one that says 0."""
    mine = [task for task in tasks if task.kind is kind.kind and task.count]
    if not mine and kind.kind is WaitingKind.VERIFY:
        mine = [task for task in tasks if task.kind is WaitingKind.VERIFY]
    if not mine and kind.kind is not WaitingKind.VERIFY:
        address = reverse(kind.route, args=[collection.slug])
        mine = [WaitingTask(0, kind.name, collection, address, kind.verb, kind.kind)]
    return [WorkRow(task, kind.name, task.where or kind.question) for task in mine]


def _next_up(user: User, row: WorkRow) -> NextUp:
    campaign = row.task.campaign
    if campaign is None:
        return NextUp(row.task, row.name)
    topics = _next_topics(user.pk, campaign.collection_id, campaign.pk)
    done = dict(_rated(user.pk, campaign.pk))
    return NextUp(row.task, row.name, " ".join(next(iter(topics), ())), done.get(campaign.pk, 0))


@compiled_once
def _next_topics(person: int, collection: int, campaign: int) -> QuerySet[Turn, tuple[str, str]]:
    """Return query_id and text of the topic of the next passage to rate, if there is one."""
    turns = turns_to_rate(person, (collection,)).filter(campaign=campaign).order_by("order", "pk")
    return turns.values_list("cell__topic__query_id", "cell__topic__text")[:1]


@compiled_once
def _rated(person: int, campaign: int) -> QuerySet[Turn, tuple[int, int]]:
    """Return the campaign with the number of ratings that the person has given, if there are some."""
    mine = Turn.objects.filter(campaign=campaign, person=person, state=Turn.State.SUBMITTED)
    return mine.order_by().values_list("campaign").annotate(Count("pk"))
