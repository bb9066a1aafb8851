"""A person's collections with their progress, counted by the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import TO_VIEW, Role, collections_with, role_to_edit, role_to_grade
from rubricweb.banks.models import Item, ItemRevision
from rubricweb.core import database, http
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Passage, Pooled, Run, Topic
from rubricweb.corpus.pools import CACHED_TOPICS, collection_pool
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.matrices import StampedCache
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, MatrixStamp
from rubricweb.grades.raters import Rater, active_raters, shown_rater
from rubricweb.grades.selectors import GraderRow, in_order

Keys = tuple[int, ...]
Kinds = tuple[str, ...]
NONE = (0,)
"""A list of keys that no row has."""
Stamped = dict[int, dict[GraderConfig, int]]
"""By collection: the number of grades of each grader."""
Split = tuple[int, int]
"""Numbers of grades: of wordings that the banks use, and of other ones."""
_splits: StampedCache[tuple[int, int, tuple[tuple[int, bool], ...]], Split] = StampedCache(CACHED_TOPICS)
"""By grader, the stamp of its grades of a topic, and the wordings with whether they are used."""


@dataclass(frozen=True, slots=True)
class BankSize:
    pk: int
    name: str
    items: int
    ratable: int
    """Items that people can rate: with a text, and not secret."""


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


def cards_of(collections: list[Collection], roles: Mapping[int, Role]) -> list[CollectionCard]:
    """Return a card of each; who has none of the `roles` by collection counts as its organizer."""
    keys = tuple(collection.pk for collection in collections)
    sizes = {pk: numbers for pk, *numbers in _sizes(keys)}
    banks: dict[int, list[BankSize]] = defaultdict(list)
    for pk, *size in _banks(keys):
        banks[pk].append(BankSize(*size))
    progress = _progress(collections)
    return [
        CollectionCard(
            collection=collection,
            role=roles.get(collection.pk, Role.ORGANIZER),
            topics=topics,
            passages=passages,
            runs=runs,
            banks=tuple(banks[collection.pk]),
            grader=progress[collection.pk].grader,
            cells=progress[collection.pk].cells,
            graded=progress[collection.pk].graded,
            other_grades=progress[collection.pk].other_grades,
            is_imported=progress[collection.pk].is_imported,
            running_jobs=jobs,
        )
        for collection in collections
        for topics, passages, runs, jobs in (sizes.get(collection.pk, (0, 0, 0, 0)),)
    ]


def number_of(rows: QuerySet[Any], path: str = "collection") -> Coalesce:
    """Return how many of the rows a collection has, as a column of a query of collections."""
    own = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
    return Coalesce(Subquery(own.annotate(number=Count("pk")).values("number")), 0)


@compiled_once
def _sizes(collections: Keys) -> QuerySet[Collection, Any]:
    """Return by collection how many topics, passages, runs and running jobs it has."""
    running = GradingJob.objects.filter(state__in=(GradingJob.State.QUEUED, GradingJob.State.RUNNING))
    things = (Topic.objects.all(), Passage.objects.all(), Run.objects.accepted(), running)
    rows = Collection.objects.filter(pk__in=collections).order_by()
    return rows.values_list("pk", *(number_of(each) for each in things))


@compiled_once
def _banks(collections: Keys) -> QuerySet[Item, Any]:
    """Return collection and size of each bank that has items."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank__collection__in=collections)
    is_ratable = ~Q(revision__text="") & Q(revision__is_secret=False)
    by_bank = items.order_by("bank__name").values_list("bank__collection", "bank", "bank__name")
    return by_bank.annotate(items=Count("pk"), ratable=Count("pk", filter=is_ratable))


@dataclass(slots=True)
class _Progress:
    grader: str = ""
    is_imported: bool = False
    cells: int = 0
    graded: int = 0
    other_grades: int = 0


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
        raters = shown_rater(in_order(collection, rows)) or _active(collection, active)
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


def _active(collection: Collection, cache: dict[tuple[object, ...], tuple[Rater, ...]]) -> tuple[Rater, ...]:
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
    by_collection: Stamped = {collection.pk: {} for collection in collections}
    counts = _grades(tuple(by_collection))
    configs = {config.pk: config for config in _configs(tuple({config for _, config, _ in counts}))}
    for collection, config, grades in counts:
        by_collection[collection][configs[config]] = grades
    return by_collection


@compiled_once
def _grades(collections: Keys) -> QuerySet[MatrixStamp, Any]:
    """Return the number of grades by collection and grader."""
    rows = MatrixStamp.objects.filter(topic__collection__in=collections, grades__gt=0).order_by()
    return rows.values_list("topic__collection", "config").annotate(Sum("grades"))


@compiled_once
def _configs(pks: Keys) -> QuerySet[GraderConfig, GraderConfig]:
    return GraderConfig.objects.filter(pk__in=pks)


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
    keys = tuple(collection.pk for collection in sharing)
    if config.purpose == Purpose.DIRECT:
        topics = Topic.objects.filter(collection__in=sharing).values_list("pk", "collection")
        for topic, collection in topics:
            progress[collection].cells += pools.sizes.get(topic, 0)
        for collection, count in _uncounted(grades.for_topics([topic for topic, _ in topics]), pools):
            progress[collection].graded -= count
        return
    kinds = tuple(str(kind) for kind in kinds_of(config))
    begun = dict(_begun(config.pk, kinds, keys))
    count_wordings = _answerable if config.purpose == Purpose.VERIFY else _worded
    of_begun = tuple(set(begun.values()))
    for collection, topic, count in count_wordings(kinds, keys, tuple(begun) or NONE, of_begun or NONE):
        progress[collection].cells += count * pools.sizes.get(topic, 0)
    for collection, (of_used, of_others) in _of_wordings(config, kinds, keys):
        progress[collection].cells += of_used
        progress[collection].graded -= of_others
    if not pools.left_out:
        return
    in_use = _items(kinds, keys).values("revision")
    wordings = ItemRevision.including_secret.filter(topic__collection__in=sharing)
    for collection, count in _uncounted(grades.filter(revision__in=in_use), pools):
        progress[collection].graded -= count
    textless = wordings.filter(text="", pk__in=in_use)
    for collection, count in _uncounted(grades.filter(revision__in=textless.values("pk")), pools):
        progress[collection].cells -= count


def _items(kinds: Kinds, collections: Keys) -> QuerySet[Item]:
    return Item.including_secret.active().filter(kind__in=kinds, bank__collection__in=collections)


@compiled_once
def _begun(config: int, kinds: Kinds, collections: Keys) -> QuerySet[Item, tuple[int, int]]:
    """Return the banks with a grade of the config, and their collections."""
    has_grade = Exists(Grade.objects.filter(config=config, revision=OuterRef("revision")))
    rows = _items(kinds, collections).filter(has_grade).order_by()
    return rows.values_list("bank", "bank__collection").distinct()


def _number_of_wordings(items: QuerySet[Any], banks: Keys, of_begun: Keys) -> QuerySet[Any, Any]:
    """Return collection, topic and number of wordings, of these banks and of other collections."""
    counted = items.filter(Q(bank__in=banks) | ~Q(bank__collection__in=of_begun))
    worded = counted.exclude(revision__text="").order_by()
    by_topic = worded.values_list("bank__collection", "topic")
    numbers: QuerySet[Any, Any] = by_topic.annotate(Count("revision", distinct=True))
    return numbers


@compiled_once
def _worded(kinds: Kinds, collections: Keys, banks: Keys, of_begun: Keys) -> QuerySet[Any, Any]:
    return _number_of_wordings(_items(kinds, collections), banks, of_begun)


@compiled_once
def _answerable(kinds: Kinds, collections: Keys, banks: Keys, of_begun: Keys) -> QuerySet[Any, Any]:
    items = _items(kinds, collections).filter(revision__answer_keys__isnull=False)
    return _number_of_wordings(items, banks, of_begun)


@compiled_once
def _odd(kinds: Kinds, collections: Keys) -> QuerySet[ItemRevision, Any]:
    """Return the wordings that no bank uses, or that have no text: collection, topic, key, if it is used."""
    wordings = ItemRevision.including_secret.filter(topic__collection__in=collections)
    in_use = Q(pk__in=_items(kinds, collections).values("revision"))
    odd: QuerySet[Any] = wordings.annotate(is_used=in_use).filter(Q(is_used=False) | Q(text=""))
    return odd.order_by("pk").values_list("topic__collection", "topic", "pk", "is_used")


@compiled_once
def _numbers(config: int, collections: Keys) -> QuerySet[MatrixStamp, tuple[int, int]]:
    """Return the stamps of the config's grades by topic."""
    stamps = MatrixStamp.objects.filter(config=config, topic__collection__in=collections, grades__gt=0)
    return stamps.values_list("topic", "number")


def _of_wordings(config: GraderConfig, kinds: Kinds, collections: Keys) -> Iterator[tuple[int, Split]]:
    """Yield (collection, numbers of grades of some of the wordings of `_odd`), to be added up."""
    by_topic: dict[tuple[int, int], dict[int, bool]] = defaultdict(dict)
    for collection, topic, pk, is_used in _odd(kinds, collections):
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
    keys = tuple(collection.pk for collection in collections)
    pools = _Pools(dict(_pooled(keys)), {})
    of_waiting = set(_waiting(keys))
    for collection in (collection for collection in collections if collection.pk in of_waiting):
        for topic in collection_pool(collection).topics:
            counted = set(topic.passage_pks)
            if len(counted) < pools.sizes.get(topic.topic_id, 0):
                pooled = Pooled.objects.filter(topic=topic.topic_id).values_list("passage", flat=True)
                pools.left_out[topic.topic_id] = [pk for pk in pooled if pk not in counted]
                pools.sizes[topic.topic_id] = len(counted)
    return pools


@compiled_once
def _pooled(collections: Keys) -> QuerySet[Pooled, Any]:
    """Return the number of passages by topic."""
    rows = Pooled.objects.filter(topic__collection__in=collections).order_by()
    return rows.values_list("topic").annotate(Count("pk"))


@compiled_once
def _waiting(collections: Keys) -> QuerySet[Run, int]:
    """Return the collections with a run that is not accepted."""
    runs = Run.objects.not_accepted().filter(collection__in=collections).order_by()
    return runs.values_list("collection", flat=True).distinct()


def collections_of(user: User) -> list[Collection]:
    """Return the collections whose pages the person may read, by name."""
    if user.is_superuser:
        return list(Collection.objects.order_by("name"))
    return _by_name(tuple(collections_with(user, TO_VIEW)))


@compiled_once
def _by_name(collections: Keys) -> QuerySet[Collection, Collection]:
    return Collection.objects.filter(pk__in=collections).order_by("name")


@require_safe
def collections(request: http.HtmxRequest) -> HttpResponse:
    """List the user's collections, for the menu of the bar; who opens the address gets the page of them."""
    listed = {"collections": collections_of(request.user)}
    return http.part_or_redirect(request, "home/collections.html", listed, to=reverse("home:home"))
