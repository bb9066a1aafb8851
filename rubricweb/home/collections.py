"""A person's collections with their progress, counted by the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role, read_roles, role_to_edit, role_to_grade
from rubricweb.banks.models import Item, ItemQuerySet, ItemRevision
from rubricweb.core import database, http
from rubricweb.core.compiled import compiled_once, counted_by
from rubricweb.corpus.models import Collection, Passage, Pooled, Run, Topic
from rubricweb.corpus.pools import CACHED_TOPICS, collection_pool
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.matrices import StampedCache
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, MatrixStamp
from rubricweb.grades.raters import Rater, active_raters, shown_rater
from rubricweb.grades.selectors import GraderRow, in_order

Keys = tuple[int, ...]
Kinds = tuple[str, ...]
Rows = QuerySet[Any, Any]
Stamped = dict[int, dict[GraderConfig, int]]
"""By collection: the number of grades of each grader."""
Split = tuple[int, int]
"""Numbers of grades: of wordings that the banks use, and of other ones."""
_splits: StampedCache[tuple[int, int, tuple[tuple[int, bool], ...]], Split] = StampedCache(CACHED_TOPICS)
"""By grader, the stamp of its grades of a topic, and the wordings with whether they are used."""


@dataclass(frozen=True, slots=True)
class BankSize:
    name: str
    items: int


@dataclass(frozen=True, slots=True)
class CollectionCard:
    """A collection on its member's home page."""

    collection: Collection
    role: Role
    topics: int
    passages: int
    runs: int
    banks: tuple[BankSize, ...]
    grader: str
    cells: int
    graded: int
    """Cells that the default grader graded, failed ones included."""
    other_grades: int
    """Grades of other graders."""
    is_imported: bool
    """The grades shown came from a file, so the missing ones cannot be graded."""
    running_jobs: int

    @property
    def share(self) -> float | None:
        return self.graded / self.cells if self.cells else None

    @property
    def missing(self) -> int:
        return self.cells - self.graded

    @property
    def may_edit(self) -> bool:
        return self.role.includes(role_to_edit(self.collection))

    @property
    def may_grade(self) -> bool:
        return self.role.includes(role_to_grade(self.collection))

    @property
    def items(self) -> int:
        return sum(bank.items for bank in self.banks)


def cards(user: User) -> list[CollectionCard]:
    """Return the collections that `user` may see, by name, without those in cold storage."""
    roles = read_roles(user)
    return cards_of(list(Collection.objects.visible_to(user).filter(cold_at=None)), roles)


def cards_of(collections: list[Collection], roles: Mapping[int, Role]) -> list[CollectionCard]:
    """Return a card of each; who has none of the `roles` by collection counts as its organizer."""
    keys = _keys(collections)
    topics, passages, runs, jobs = _topics(keys), _passages(keys), _accepted_runs(keys), _running_jobs(keys)
    banks: dict[int, list[BankSize]] = defaultdict(list)
    for pk, name, items in _bank_sizes(keys):
        banks[pk].append(BankSize(name, items))
    progress = _progress(collections)
    return [
        CollectionCard(
            collection=collection,
            role=roles.get(collection.pk, Role.ORGANIZER),
            topics=topics.get(collection.pk, 0),
            passages=passages.get(collection.pk, 0),
            runs=runs.get(collection.pk, 0),
            banks=tuple(banks[collection.pk]),
            grader=progress[collection.pk].grader,
            cells=progress[collection.pk].cells,
            graded=progress[collection.pk].graded,
            other_grades=progress[collection.pk].other_grades,
            is_imported=progress[collection.pk].is_imported,
            running_jobs=jobs.get(collection.pk, 0),
        )
        for collection in collections
    ]


@dataclass(slots=True)
class _Progress:
    grader: str = ""
    is_imported: bool = False
    cells: int = 0
    graded: int = 0
    other_grades: int = 0


_topics = counted_by("collection", Topic.objects.all())
_passages = counted_by("collection", Passage.objects.all())
_accepted_runs = counted_by("collection", Run.objects.accepted())
_running_jobs = counted_by(
    "collection", GradingJob.objects.filter(state__in=(GradingJob.State.QUEUED, GradingJob.State.RUNNING))
)
_runs_that_wait = counted_by("collection", Run.objects.not_accepted())


@compiled_once
def _bank_sizes(collections: Keys) -> Rows:
    items = Item.including_secret.active().filter(bank__collection__in=collections).order_by("bank__name")
    sizes: Rows = items.values_list("bank__collection", "bank__name").annotate(Count("pk"))
    return sizes


def _keys(collections: Iterable[Collection]) -> Keys:
    return tuple(collection.pk for collection in collections)


def _progress(collections: list[Collection]) -> dict[int, _Progress]:
    """Return the progress of each collection's default grader, by collection.

    Collections with the same grader are counted together: from the numbers of grades that are kept by grader
    and topic, those are taken away that count for nothing.
    """
    progress = {collection.pk: _Progress() for collection in collections}
    pools, stamped = _pools(collections), _stamped(collections)
    together: dict[tuple[GraderConfig, ...], list[Collection]] = defaultdict(list)
    active: dict[tuple[object, ...], tuple[Rater, ...]] = {}
    for collection in collections:
        rows = [GraderRow(config, grades) for config, grades in stamped[collection.pk].items()]
        raters = shown_rater(in_order(collection, rows)) or _settings_raters(collection, active)
        progress[collection.pk].grader = ", ".join(rater.name for rater in raters)
        progress[collection.pk].is_imported = any(rater.is_imported for rater in raters)
        configs = tuple(dict.fromkeys(config for rater in raters for config in rater.configs))
        models = {config.team for config in configs}
        others = (row.grades for row in rows if row.config.team not in models)
        progress[collection.pk].other_grades = sum(others)
        together[configs].append(collection)
    for configs, sharing in together.items():
        for config in configs:
            for collection in sharing:
                progress[collection.pk].graded += stamped[collection.pk].get(config, 0)
            _add(progress, config, sharing, pools)
    return progress


def _settings_raters(
    collection: Collection, cache: dict[tuple[object, ...], tuple[Rater, ...]]
) -> tuple[Rater, ...]:
    """Return the graders that Re-grade runs; looked up once for collections with the same settings."""
    settings = (
        collection.grader_backend,
        collection.grader_llm,
        *collection.grader_prompts,
        collection.answers_by,
        *sorted(collection.grader_options.items()),
    )
    if settings not in cache:
        cache[settings] = active_raters(collection)
    return cache[settings]


def _stamped(collections: list[Collection]) -> Stamped:
    counts = _sums_of_grades(_keys(collections))
    configs = {config.pk: config for config in _configs(tuple({config for _, config, _ in counts}))}
    by_collection: Stamped = {collection.pk: {} for collection in collections}
    for collection, config, grades in counts:
        by_collection[collection][configs[config]] = grades
    return by_collection


@compiled_once
def _sums_of_grades(collections: Keys) -> Rows:
    rows = MatrixStamp.objects.filter(topic__collection__in=collections, grades__gt=0).order_by()
    return rows.values_list("topic__collection", "config").annotate(Sum("grades"))


@compiled_once
def _configs(keys: Keys) -> QuerySet[GraderConfig]:
    return GraderConfig.objects.filter(pk__in=keys)


@dataclass(slots=True)
class _Pools:
    sizes: dict[int, int]
    """Numbers of passages by topic."""
    left_out: dict[int, list[int]]
    """Pooled passages that count nowhere, since only runs that are not accepted bring them, by topic."""


def _add(
    progress: dict[int, _Progress], config: GraderConfig, sharing: list[Collection], pools: _Pools
) -> None:
    """Add the cells of a grader to the progress of the collections that share it.

    Of items without text only graded cells count, and so of items without an answer key for graders that
    verify answers. A grader of passages has a cell for each. Banks that the grader has not begun do not
    count, unless it has begun none.
    """
    grades = Grade.objects.by(config).order_by()
    if config.purpose == Purpose.DIRECT:
        topics = Topic.objects.filter(collection__in=sharing).values_list("pk", "collection")
        for topic, collection in topics:
            progress[collection].cells += pools.sizes.get(topic, 0)
        for collection, count in _uncounted(grades.for_topics([topic for topic, _ in topics]), pools):
            progress[collection].graded -= count
        return
    of = (_keys(sharing), tuple(str(kind) for kind in kinds_of(config)))
    begun = dict(_begun(*of, config.pk))
    worded = _worded_with_key if config.purpose == Purpose.VERIFY else _worded
    for collection, topic, count in worded(*of, tuple(begun), tuple(set(begun.values()))):
        progress[collection].cells += count * pools.sizes.get(topic, 0)
    for collection, (of_used, of_others) in _of_odd_wordings(config, *of):
        progress[collection].cells += of_used
        progress[collection].graded -= of_others
    if not pools.left_out:
        return
    in_use = _active(*of).values("revision")
    for collection, count in _uncounted(grades.filter(revision__in=in_use), pools):
        progress[collection].graded -= count
    textless = ItemRevision.including_secret.filter(text="", pk__in=in_use)
    for collection, count in _uncounted(grades.filter(revision__in=textless.values("pk")), pools):
        progress[collection].cells -= count


def _active(collections: Keys, kinds: Kinds) -> ItemQuerySet:
    items: ItemQuerySet = Item.including_secret.active()
    return items.filter(kind__in=kinds, bank__collection__in=collections)


@compiled_once
def _begun(collections: Keys, kinds: Kinds, config: int) -> Rows:
    """Return the banks of which the grader has a grade, with their collections."""
    has_grade = Exists(Grade.objects.filter(config=config, revision=OuterRef("revision")))
    active = _active(collections, kinds).filter(has_grade).order_by()
    return active.values_list("bank", "bank__collection").distinct()


def _cells(collections: Keys, kinds: Kinds, begun: Keys, where: Keys) -> ItemQuerySet:
    """Return the items with text of the banks that count: those begun, and all where none is begun."""
    counted = Q(bank__in=begun) | ~Q(bank__collection__in=where)
    return _active(collections, kinds).filter(counted).exclude(revision__text="").order_by()


@compiled_once
def _worded(collections: Keys, kinds: Kinds, begun: Keys, where: Keys) -> Rows:
    return _by_topic(_cells(collections, kinds, begun, where))


@compiled_once
def _worded_with_key(collections: Keys, kinds: Kinds, begun: Keys, where: Keys) -> Rows:
    return _by_topic(_cells(collections, kinds, begun, where).with_answer_key())


def _by_topic(items: ItemQuerySet) -> Rows:
    """Return the number of wordings by collection and topic."""
    rows = items.values_list("bank__collection", "topic")
    counts: Rows = rows.annotate(Count("revision", distinct=True))
    return counts


@compiled_once
def _odd_wordings(collections: Keys, kinds: Kinds) -> Rows:
    """Return the wordings that no item uses now, and those without text."""
    wordings = ItemRevision.including_secret.filter(topic__collection__in=collections)
    in_use = _active(collections, kinds).values("revision")
    odd = wordings.annotate(is_used=Q(pk__in=in_use)).filter(Q(is_used=False) | Q(text=""))
    rows: Rows = odd.order_by("pk").values_list("topic__collection", "topic", "pk", "is_used")
    return rows


@compiled_once
def _numbers(config: int, collections: Keys) -> Rows:
    """Return the stamps of a grader's grades by topic."""
    stamps = MatrixStamp.objects.filter(config=config, topic__collection__in=collections, grades__gt=0)
    return stamps.values_list("topic", "number")


def _of_odd_wordings(config: GraderConfig, collections: Keys, kinds: Kinds) -> Iterator[tuple[int, Split]]:
    """Yield (collection, numbers of grades of some of these wordings), to be added up."""
    by_topic: dict[tuple[int, int], dict[int, bool]] = defaultdict(dict)
    for collection, topic, pk, is_used in _odd_wordings(collections, kinds):
        by_topic[collection, topic][pk] = is_used
    numbers = dict(_numbers(config.pk, collections))
    keys = {
        (collection, topic): (config.pk, numbers[topic], tuple(used.items()))
        for (collection, topic), used in by_topic.items()
        if topic in numbers
    }
    splits = {place: split for place, key in keys.items() if (split := _splits.get(key)) is not None}
    counts = _counted(config, [pk for place in keys if place not in splits for pk in by_topic[place]])
    for place, key in keys.items():
        if (split := splits.get(place)) is None:
            used = sum(counts.get(pk, 0) for pk, is_used in by_topic[place].items() if is_used)
            split = _splits.keep(key, (used, sum(counts.get(pk, 0) for pk in by_topic[place]) - used))
        yield place[0], split


def _counted(config: GraderConfig, wordings: list[int]) -> dict[int, int]:
    """Return the number of grades by wording; the index of grades has all that is read."""
    counts: dict[int, int] = {}
    for start in range(0, len(wordings), database.LOOKED_UP):
        some = Grade.objects.by(config).filter(revision__in=wordings[start : start + database.LOOKED_UP])
        counts |= dict(some.order_by().values_list("revision").annotate(Count("pk")))
    return counts


def _uncounted(grades: QuerySet[Grade], pools: _Pools) -> Iterator[tuple[int, int]]:
    """Yield (collection, number of grades) of passages that count nowhere, to be added up."""
    for topic, passages in pools.left_out.items():
        for start in range(0, len(passages), database.LOOKED_UP):
            away = grades.filter(topic=topic, passage__in=passages[start : start + database.LOOKED_UP])
            yield from away.values_list("topic__collection").annotate(Count("pk"))


def _pools(collections: list[Collection]) -> _Pools:
    keys = _keys(collections)
    pools, waiting = _Pools(dict(_pool_sizes(keys)), {}), _runs_that_wait(keys)
    for collection in (collection for collection in collections if collection.pk in waiting):
        for topic in collection_pool(collection).topics:
            counted = set(topic.passage_pks)
            if len(counted) < pools.sizes.get(topic.topic_id, 0):
                pooled = Pooled.objects.filter(topic=topic.topic_id).values_list("passage", flat=True)
                pools.left_out[topic.topic_id] = [pk for pk in pooled if pk not in counted]
                pools.sizes[topic.topic_id] = len(counted)
    return pools


@compiled_once
def _pool_sizes(collections: Keys) -> Rows:
    rows = Pooled.objects.filter(topic__collection__in=collections).order_by()
    return rows.values_list("topic").annotate(Count("pk"))


@require_safe
def collections(request: http.HtmxRequest) -> HttpResponse:
    """List the user's collections, for the menu of the bar."""
    listed = Collection.objects.visible_to(request.user).order_by("name")
    return render(request, "home/collections.html", {"collections": listed})
