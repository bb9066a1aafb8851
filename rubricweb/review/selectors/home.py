"""The collections of a person with their progress: counted by the database, whatever their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Collection, Passage, Pooled, Run, Topic
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, MatrixStamp
from rubricweb.review.selectors.raters import Rater, active_raters


@dataclass(frozen=True, slots=True)
class BankSize:
    name: str
    items: int


@dataclass(frozen=True, slots=True)
class CollectionCard:
    """A collection as its member meets it on the home page."""

    collection: Collection
    role: Role
    topics: int
    passages: int
    runs: int
    banks: tuple[BankSize, ...]
    grader: str
    cells: int
    graded: int
    """Of `cells`: those that the active grader has answered, or failed on."""
    other_grades: int
    """Grades of graders that are not active here."""
    running_jobs: int

    @property
    def share(self) -> float | None:
        return self.graded / self.cells if self.cells else None

    @property
    def missing(self) -> int:
        return self.cells - self.graded

    @property
    def items(self) -> int:
        return sum(bank.items for bank in self.banks)


def cards(user: User) -> list[CollectionCard]:
    """The collections that `user` may see, by name."""
    collections = list(Collection.objects.visible_to(user))
    roles = dict(user.memberships.values_list("collection_id", "role"))
    topics, passages, runs = (
        _counts(Topic, collections),
        _counts(Passage, collections),
        _counts(Run, collections),
    )
    jobs = _running_jobs(collections)
    banks = _bank_sizes(collections)
    progress = _progress(collections)
    return [
        CollectionCard(
            collection=collection,
            role=Role(roles.get(collection.pk, Role.ORGANIZER)),
            topics=topics.get(collection.pk, 0),
            passages=passages.get(collection.pk, 0),
            runs=runs.get(collection.pk, 0),
            banks=tuple(banks[collection.pk]),
            grader=progress[collection.pk].grader,
            cells=progress[collection.pk].cells,
            graded=progress[collection.pk].graded,
            other_grades=progress[collection.pk].other_grades,
            running_jobs=jobs.get(collection.pk, 0),
        )
        for collection in collections
    ]


@dataclass(slots=True)
class _Progress:
    grader: str = ""
    cells: int = 0
    graded: int = 0
    other_grades: int = 0


def _counts(model: type[Topic | Passage | Run], collections: Iterable[Collection]) -> dict[int, int]:
    rows = model._default_manager.filter(collection__in=collections).order_by()
    return dict(rows.values_list("collection").annotate(Count("pk")))


def _running_jobs(collections: Iterable[Collection]) -> dict[int, int]:
    running = (GradingJob.State.QUEUED, GradingJob.State.RUNNING)
    rows = GradingJob.objects.filter(collection__in=collections, state__in=running).order_by()
    return dict(rows.values_list("collection").annotate(Count("pk")))


def _bank_sizes(collections: Iterable[Collection]) -> dict[int, list[BankSize]]:
    rows = Item.objects.active().filter(bank__collection__in=collections).order_by("bank__name")
    sizes: dict[int, list[BankSize]] = defaultdict(list)
    for pk, name, items in rows.values_list("bank__collection", "bank__name").annotate(Count("pk")):
        sizes[pk].append(BankSize(name, items))
    return sizes


def _progress(collections: list[Collection]) -> dict[int, _Progress]:
    """By collection: the cells of all banks for its active grader; who shares one is counted at once."""
    progress = {collection.pk: _Progress() for collection in collections}
    pools = _pool_sizes(collections)
    together: dict[tuple[str, str], list[Collection]] = defaultdict(list)
    for collection in collections:
        together[collection.grader_backend, collection.grader_llm].append(collection)
    for (backend, llm), sharing in together.items():
        found = active_raters(sharing[0])
        for collection in sharing:
            progress[collection.pk].grader = ", ".join(rater.name for rater in found)
        for config in _configs(found):
            _add(progress, config, sharing, pools)
        for pk, grades in _other_grades(backend, llm, sharing):
            progress[pk].other_grades = grades
    return progress


def _other_grades(
    backend: str, llm: str, sharing: list[Collection]
) -> QuerySet[MatrixStamp, tuple[int, int]]:
    """By collection: how many grades there are of any grader but this."""
    stamps = MatrixStamp.objects.filter(topic__collection__in=sharing)
    others = stamps.exclude(config__backend=backend, config__llm=llm).order_by()
    return others.values_list("topic__collection").annotate(Sum("grades"))


def _configs(found: Iterable[Rater]) -> list[GraderConfig]:
    return list(dict.fromkeys(config for rater in found for config in rater.configs))


def _add(
    progress: dict[int, _Progress], config: GraderConfig, sharing: list[Collection], pools: dict[int, int]
) -> None:
    """Items without words cannot be graded and make no cells."""
    items = Item.objects.active().of_kinds(kinds_of(config)).filter(bank__collection__in=sharing)
    worded = items.exclude(revision__text="").order_by()
    wordings = worded.values_list("bank__collection", "topic").annotate(Count("revision", distinct=True))
    for collection, topic, count in wordings:
        progress[collection].cells += count * pools.get(topic, 0)
    grades = Grade.objects.by(config).filter(revision__in=worded.values("revision")).order_by()
    for collection, count in grades.values_list("topic__collection").annotate(Count("pk")):
        progress[collection].graded += count


def _pool_sizes(collections: Iterable[Collection]) -> dict[int, int]:
    rows: QuerySet[Pooled] = Pooled.objects.filter(topic__collection__in=collections).order_by()
    return dict(rows.values_list("topic").annotate(Count("pk")))
