"""Missing and failed grades of a collection, and the answers that they need first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet

from grading.errors import BadPrompt, UnknownPrompt
from grading.graders import ANSWERS_BY
from grading.graders.panel import panel_of
from grading.graders.registry import IMPORTED
from grading.prompts import ParseRule, Prompt
from grading.types import FAILED, MISSING, ItemKind, Outcome, Purpose
from rubricweb.banks.models import DIRECT_UID, Item, ItemQuerySet, ItemRevision
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import everything, read_once
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool, pool_sizes
from rubricweb.grades.configs import kinds_of, spec_of
from rubricweb.grades.engine.gaps import Gap, Mask, TopicGap, WholeTopic, gaps_of, listed
from rubricweb.grades.matrices import begun_topics, matrices
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig, Pair
from rubricweb.grades.panels import all_member_matrices, is_panel, members


def prompt_of(config: GraderConfig) -> Prompt | None:
    """Return the prompt of the config; None for grades from a file, or a prompt whose text is lost."""
    if config.backend == IMPORTED:
        return None
    try:
        return spec_of(config).prompt
    except (UnknownPrompt, BadPrompt):
        return None


def reads_answers(config: GraderConfig) -> bool:
    """Return whether it asks about extracted answers. A cell without one cannot be graded yet."""
    prompt = prompt_of(config)
    return prompt is not None and prompt.needs_answer


def asks_with_key(config: GraderConfig) -> bool:
    """Return whether the model reads accepted answers. Its grades then hold for these only."""
    prompt = prompt_of(config)
    return prompt is not None and prompt.needs_key and prompt.rule is not ParseRule.ANSWER_KEY


def answers_for(config: GraderConfig, revisions: Iterable[int], passages: Iterable[int]) -> dict[Pair, str]:
    """Return the extracted answers to these wordings in these passages that `config` verifies."""
    if not reads_answers(config):
        return {}
    rows = _extracted(config).filter(revision__in=set(revisions), passage__in=set(passages))
    answers = rows.values_list("revision_id", "passage_id", "answer")
    return {(revision, passage): answer for revision, passage, answer in answers}


def answered_cells(config: GraderConfig, topic_ids: Iterable[int]) -> dict[int, set[Pair]]:
    """Return by topic the cells that have an answer to verify."""
    rows = _extracted(config).for_topics(list(topic_ids))
    cells: dict[int, set[Pair]] = defaultdict(set)
    for topic_id, revision, passage in rows.values_list("topic_id", "revision_id", "passage_id").iterator(
        10_000
    ):
        cells[topic_id].add((revision, passage))
    return cells


def source_of(config: GraderConfig) -> GraderConfig | None:
    """Return the config that extracts what `config` verifies."""
    saved = GraderConfig.objects.filter(fingerprint=config.options.get(ANSWERS_BY, "")).first()
    return saved or config.extraction


def _extracted(config: GraderConfig) -> GradeQuerySet:
    source = GraderConfig.objects.filter(fingerprint=config.options.get(ANSWERS_BY, ""))
    return Grade.objects.filter(config__in=source, outcome=Outcome.EXTRACTED)


class ItemToGrade(NamedTuple):
    """A wording that a config has to grade on the pool of its topic."""

    revision_pk: int
    uid: str
    has_text: bool


ToGrade = dict[int, list[ItemToGrade]]
"""The wordings to grade, by topic."""


@dataclass(frozen=True, eq=False)
class Missing:
    """The cells that one config has still to grade."""

    config: GraderConfig
    gaps: tuple[Gap, ...]
    """Topics with at least one missing cell."""
    wordless_pks: frozenset[int]
    """Revisions that cannot be graded, because only their id is known and not their text."""
    unanswered: tuple[Gap, ...] = ()
    """Cells that cannot be graded yet: no answer was extracted that could be verified, or too few members of
    a panel have rated them.
    """
    chars: Mapping[int, int] = field(default_factory=dict)
    """Lengths of passages by key, of those that are not stored yet."""

    @property
    def wordless(self) -> int:
        return len(self.wordless_pks)

    @property
    def unextracted(self) -> int:
        return sum(gap.cells for gap in self.unanswered)

    @property
    def cells(self) -> int:
        return sum(gap.cells for gap in self.gaps)

    @property
    def scope(self) -> str:
        """Describe the cells for people: "5 items of 2 topics"."""
        items, topics = sum(gap.items for gap in self.gaps), len(self.gaps)
        return (
            f"{items} {'item' if items == 1 else 'items'} of {topics} {'topic' if topics == 1 else 'topics'}"
        )


class Gradable(NamedTuple):
    """The gradable cells of some topics."""

    gaps: list[Gap]
    unanswered: list[Gap]
    """Cells that cannot be graded before an answer is extracted, or before more members have rated them."""


Look = Callable[[GraderConfig, CollectionPool, ToGrade, int], Iterator[Mask]]
"""A query that yields, for each topic of the pool, which of the wanted cells have the value."""


def missing_cells(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
) -> list[Missing]:
    """Return by config the cells of active items over the pools that have no grade of it.

    `topics` and `items` narrow it; a direct config has one wording a topic, whatever the items are.
    """
    return _sought(collection, configs, (topics, items), value=MISSING)


def failed_cells(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
) -> list[Missing]:
    """Return what `missing_cells` does, for cells whose grade is a failed one."""
    return _sought(collection, configs, (topics, items), value=FAILED)


def asked_cells(collection: Collection, configs: Iterable[GraderConfig]) -> list[Missing]:
    """Return all cells that these configs grade, whether or not they have."""
    return _sought(collection, configs, (None, None), value=None)


def asked_among(collection: Collection, config: GraderConfig, gaps: Iterable[Gap]) -> Missing:
    """Return the cells of these gaps that the config grades, whether or not their passages are in a pool."""
    cells = listed(collection, gaps)
    to_grade = _worded(_to_grade(config, _items(collection), {gap.topic_id for gap in cells}))
    pks = {topic_id: [each.revision_pk for each in wordings] for topic_id, wordings in to_grade.items()}
    masks = (gap.mask & np.isin(gap.revision_pks, pks.get(gap.topic_id, [])) for gap in cells)
    gradable = (replace(gap, mask=mask) for gap, mask in zip(cells, masks, strict=True))
    return Missing(config, tuple(gap for gap in gradable if gap.cells), frozenset())


def missing_over(
    collection: Collection,
    configs: Iterable[GraderConfig],
    pool: CollectionPool,
    items: ItemQuerySet | None = None,
) -> list[Missing]:
    """Return the missing cells over a pool that may be hypothetical, without caching matrices.

    `items` are all items of the collection by default.
    """
    chosen = _items(collection) if items is None else items
    to_grade = {config: _to_grade(config, chosen, set(pool.by_topic)) for config in configs}
    return [
        _with_wordless(
            config, wordings, _compared(config, pool, _worded(wordings), MISSING, look=_missing_in_rows)
        )
        for config, wordings in to_grade.items()
    ]


def _sought(
    collection: Collection,
    configs: Iterable[GraderConfig],
    scope: tuple[Iterable[Topic] | None, ItemQuerySet | None],
    *,
    value: int | None,
) -> list[Missing]:
    topics, items = scope
    sizes = pool_sizes(collection)
    topic_ids = set(sizes) if topics is None else {topic.pk for topic in topics}
    chosen = _items(collection) if items is None else items
    return [_missing(collection, config, _to_grade(config, chosen, topic_ids), value) for config in configs]


def _missing(collection: Collection, config: GraderConfig, to_grade: ToGrade, value: int | None) -> Missing:
    """Return the cells with this value, or all if it is None.

    Ratings are read only of topics that have some.
    """
    worded = _worded(to_grade)
    if value is None:
        return _with_wordless(config, to_grade, Gradable(_whole(collection, worded), []))
    sources = _sources(config)
    reads, begun = reads_answers(config) or is_panel(config), _begun(collection, config, worded)
    if value == MISSING:
        begun = begun.union(*(_begun(collection, source, worded) for source in sources))
    result = Gradable([], [])
    if begun:
        rated = {topic_id: some for topic_id, some in worded.items() if topic_id in begun}
        result = _compared(config, collection_pool(collection), rated, value, look=_in_matrices)
    if value == MISSING:
        untouched = {topic_id: some for topic_id, some in worded.items() if topic_id not in begun}
        (result.unanswered if reads else result.gaps).extend(_whole(collection, untouched))
    place = {topic_id: number for number, topic_id in enumerate(pool_sizes(collection))}
    in_order = Gradable(*(sorted(gaps, key=lambda gap: place.get(gap.topic_id, -1)) for gaps in result))
    return _with_wordless(config, to_grade, in_order)


def _sources(config: GraderConfig) -> list[GraderConfig | None]:
    """Return the graders without whose grades it cannot grade a cell."""
    if is_panel(config):
        return members(config)
    return [source_of(config)] if reads_answers(config) else []


def _to_grade(config: GraderConfig, items: ItemQuerySet, topic_ids: set[int]) -> ToGrade:
    """Return by topic the wordings to grade, each once, in the order of the banks."""
    to_grade = _wordings(config, items, topic_ids)
    if not is_panel(config):
        return to_grade
    # Members from a file have graded wordings whose text nobody knows.
    return {
        topic_id: [wording._replace(has_text=wording.revision_pk > 0) for wording in wordings]
        for topic_id, wordings in to_grade.items()
    }


def _wordings(config: GraderConfig, items: ItemQuerySet, topic_ids: set[int]) -> ToGrade:
    kinds = kinds_of(config)
    to_grade: dict[int, dict[int, ItemToGrade]] = {topic_id: {} for topic_id in topic_ids}
    if ItemKind.DIRECT in kinds:
        return _to_grade_directly(topic_ids)
    # Without an answer key there is nothing to compare with.
    has_key = config.purpose == Purpose.VERIFY or asks_with_key(config)
    for topic_id, wording in _of_kinds(items, kinds, has_key):
        if topic_id in to_grade:
            to_grade[topic_id][wording.revision_pk] = wording
    return {topic_id: list(wordings.values()) for topic_id, wordings in to_grade.items() if wordings}


@read_once
def _items(collection: Collection) -> ItemQuerySet:
    items: ItemQuerySet = Item.including_secret.filter(bank__collection=collection)
    return items


@read_once
def _of_kinds(items: ItemQuerySet, kinds: frozenset[ItemKind], has_key: bool) -> list[Any]:
    chosen = items.active().of_kinds(kinds).order_by("topic_id", "position", "pk")
    chosen = chosen.with_answer_key() if has_key else chosen
    worded = chosen.annotate(has_text=~Q(revision__text=""))
    rows = worded.values_list("topic_id", "revision_id", "revision__uid", "has_text")
    return [(topic_id, ItemToGrade(pk, uid, bool(has_text))) for topic_id, pk, uid, has_text in rows]


def _to_grade_directly(topic_ids: set[int]) -> ToGrade:
    """Return the direct wording of each topic, with pk 0 until `actions.start_grading`."""
    rows = ItemRevision.including_secret.filter(uid=DIRECT_UID, topic__in=topic_ids)
    made = {topic_id: (pk, text) for topic_id, pk, text in rows.values_list("topic_id", "pk", "text")}
    topics = Topic.objects.filter(pk__in=topic_ids).values_list("pk", "text")
    return {
        pk: [ItemToGrade(made.get(pk, (0, ""))[0], DIRECT_UID, bool(made.get(pk, (0, ""))[1] or text))]
        for pk, text in topics
    }


def _worded(to_grade: ToGrade) -> ToGrade:
    """Return only the wordings with a text, of topics that have any."""
    worded = {
        topic_id: [wording for wording in wordings if wording.has_text]
        for topic_id, wordings in to_grade.items()
    }
    return {topic_id: wordings for topic_id, wordings in worded.items() if wordings}


def _with_wordless(config: GraderConfig, to_grade: ToGrade, cells: Gradable) -> Missing:
    wordless = frozenset(
        wording.revision_pk for wordings in to_grade.values() for wording in wordings if not wording.has_text
    )
    return Missing(config, tuple(cells.gaps), wordless, tuple(cells.unanswered))


def _begun(collection: Collection, config: GraderConfig | None, to_grade: ToGrade) -> set[int]:
    return begun_topics(config, collection.pk).intersection(to_grade) if config else set()


def _whole(collection: Collection, to_grade: ToGrade) -> list[Gap]:
    return [
        WholeTopic(topic_id, tuple(wording.revision_pk for wording in to_grade[topic_id]), passages)
        for topic_id, passages in pool_sizes(collection).items()
        if passages and topic_id in to_grade
    ]


def _compared(
    config: GraderConfig, pool: CollectionPool, to_grade: ToGrade, value: int, *, look: Look
) -> Gradable:
    """Return the cells of these topics, a topic at a time, whose grades have the value."""
    part = replace(pool, topics=tuple(topic for topic in pool.topics if topic.topic_id in to_grade))
    result = Gradable([], [])
    has_value = look(config, part, to_grade, value)
    masks = zip(part.topics, has_value, _unread(config, part, to_grade), strict=True)
    for topic, mask, absent in masks:
        revisions = tuple(wording.revision_pk for wording in to_grade[topic.topic_id])
        readable = mask if absent is None else mask & ~absent
        if readable.any():
            result.gaps.append(TopicGap(topic.topic_id, revisions, topic.passage_pks, readable))
        if absent is not None and (mask & absent).any():
            result.unanswered.append(TopicGap(topic.topic_id, revisions, topic.passage_pks, mask & absent))
    return result


def _unread(config: GraderConfig, pool: CollectionPool, to_grade: ToGrade) -> Iterator[Mask | None]:
    """Return True where the answer to verify or a quorum of votes lacks; None if the config needs neither."""
    if is_panel(config):
        panel, voted = panel_of(spec_of(config)), all_member_matrices(config, pool)
        for topic in pool.topics:
            uids = [wording.uid for wording in to_grade[topic.topic_id]]
            yield ~voted.votes(topic.topic_id, uids, len(topic.doc_ids)).quorum_reached(panel)
        return
    if not reads_answers(config):
        yield from repeat(None, len(pool.topics))
        return
    answered = answered_cells(config, (topic.topic_id for topic in pool.topics))
    for topic in pool.topics:
        yield _without(topic, to_grade[topic.topic_id], answered[topic.topic_id])


def _in_matrices(config: GraderConfig, pool: CollectionPool, to_grade: ToGrade, value: int) -> Iterator[Mask]:
    with everything():  # which cells are missing tells of no rating
        grades = matrices(config, pool)
    for topic in pool.topics:
        uids = tuple(wording.uid for wording in to_grade[topic.topic_id])
        yield grades[topic.topic_id].matrix.columns(uids).ratings == value


def _missing_in_rows(
    config: GraderConfig, pool: CollectionPool, to_grade: ToGrade, value: int
) -> Iterator[Mask]:
    """Look for MISSING, the only `value`, without the matrices of a hypothetical pool."""
    for topic in pool.topics:
        yield _without(topic, to_grade[topic.topic_id], set(_graded(config.pk, topic.topic_id)))


@compiled_once
def _graded(config: int, topic: int) -> QuerySet[Grade, Pair]:
    return Grade.objects.filter(config=config, topic=topic).values_list("revision_id", "passage_id")


def _without(topic: TopicPool, wordings: list[ItemToGrade], read: set[Pair]) -> Mask:
    revision_pks = tuple(wording.revision_pk for wording in wordings)
    mask = np.ones((len(topic.passage_pks), len(revision_pks)), dtype=np.bool_)
    return TopicGap(topic.topic_id, revision_pks, topic.passage_pks, mask).without(read).mask


def cells_of(grades: GradeQuerySet) -> list[Missing]:
    """Return the cells of these grades, by config."""
    cells: dict[GraderConfig, dict[int, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for grade in grades.select_related("config").order_by("topic_id", "passage_id", "revision_id"):
        cells[grade.config][grade.topic_id].append((grade.revision_id, grade.passage_id))
    return [Missing(config, gaps_of(by_topic), frozenset()) for config, by_topic in cells.items()]
