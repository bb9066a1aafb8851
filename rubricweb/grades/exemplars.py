"""Exemplars of graders: which rated pairs are chosen, kept with the config, and read again.

A config names its exemplars by the ids of ratings (`HumanGrade.uid`), which stay as they are when people
rate again, with a digest of what the prompt has of them. So its fingerprint says what it was shown, later
ratings change nothing, and where a text did change it cannot grade on. Texts and ratings are not in the
options, which everybody who sees the grader sees.

Such a grader is measured beside people without its exemplars: `exemplar_cells` are left out wherever pairs
that both rated are selected (`graders.rated_cells`, `panel_making.rated_votes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from numpy.typing import NDArray

from grading import types
from grading.errors import BadOption, GraderUnavailable
from grading.graders import GraderSpec
from grading.graders.backend_options import Value
from grading.graders.exemplars import (
    EXEMPLAR_EVENTS,
    EXEMPLAR_SEED,
    EXEMPLARS,
    LONGEST_PASSAGE,
    Names,
    RatedPair,
    Slot,
    choose,
    fitting,
    names_in,
    option_of,
    slots_of,
)
from grading.prompts.chat import exemplar_block
from grading.segmentation import longest_start
from grading.types import MISSING, ItemKind
from rubricweb.banks.models import Item
from rubricweb.core.models import copied_uid
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades import panels, visibility
from rubricweb.grades.configs import spec_of
from rubricweb.grades.human_matrices import decided
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig

CHANGED = (
    "An exemplar of this grader is not here any more as people rated it: choose others, by exemplar_seed."
)
MOST_COPIES = 5
"""Of copies of copies: in how many a rating is looked for."""
NamedCell = tuple[str, str, str]
"""Query id, id of the wording and doc id of a cell: the same in a restored copy."""


R = TypeVar("R", bound=NDArray[Any])


class _Event(NamedTuple):
    """A rating by a person."""

    uid: UUID
    revision: int
    passage: int
    by: int
    rating: int | None
    how: str
    is_withdrawn: bool
    query_id: str
    doc_id: str
    chars: int


def with_exemplars(collection: Collection, chosen: Mapping[str, Value]) -> dict[str, Value]:
    """Return the options with the exemplars that they ask for. Raises BadOption where no pair is rated.

    The same number and seed mean the same exemplars as long as the collection has a grader with them; else
    they are chosen of the pairs that are rated now.
    """
    number, seed = int(chosen.get(EXEMPLARS, 0)), int(chosen.get(EXEMPLAR_SEED, 0))
    if not number:
        own = (EXEMPLARS, EXEMPLAR_SEED, EXEMPLAR_EVENTS)
        return {name: value for name, value in chosen.items() if name not in own}
    events = _in_use(collection, number, seed) or _chosen(collection, number, seed)
    if not events:
        raise BadOption(f"option {EXEMPLARS} needs pairs that people rated alike, and there are none yet")
    return {**chosen, EXEMPLAR_EVENTS: events}


def _in_use(collection: Collection, number: int, seed: int) -> str:
    """Return the exemplars of the collection's own grader, or of the newest that graded here; else empty."""
    here = Q(jobs__collection=collection) | Q(stamps__topic__collection=collection)
    configs = (
        GraderConfig.objects.filter(here, **{f"options__{EXEMPLARS}": number}).distinct().order_by("-pk")
    )
    for options in (collection.grader_options, *(config.options for config in configs)):
        if (options.get(EXEMPLARS), options.get(EXEMPLAR_SEED, 0)) == (number, seed) and names_in(options):
            return str(options[EXEMPLAR_EVENTS])
    return ""


def _chosen(collection: Collection, number: int, seed: int) -> str:
    """Choose exemplars of each kind of item, and return the option that keeps them; empty without any."""
    names = {
        kind: [[pair.name for pair in slot] for slot in choose(pairs, number, seed)]
        for kind, pairs in _rated_pairs(collection).items()
    }
    return option_of(names, _read(names)) if names else ""


def _rated_pairs(collection: Collection) -> dict[ItemKind, list[RatedPair]]:
    """Return the pairs, by kind of item, of which people give one rating, or whose rating was decided.

    Not those of secret items and of passages that the reader has to rate blind.
    """
    items = Item.objects.filter(bank__collection=collection).active().exclude(revision__text="")
    kinds = dict(items.filter(revision__is_secret=False).values_list("revision_id", "kind"))
    cells: dict[tuple[int, int], list[_Event]] = {}
    for event in _latest(collection):
        if event.rating is not None and not event.is_withdrawn and event.revision in kinds:
            cells.setdefault((event.revision, event.passage), []).append(event)
    pairs: dict[ItemKind, list[RatedPair]] = {}
    for (revision, _), events in cells.items():
        rating = decided(events)
        is_decided = any(event.how == HumanGrade.How.ADJUDICATED for event in events)
        if rating is None or rating < 0 or not (is_decided or len({event.rating for event in events}) == 1):
            continue
        event = min((each for each in events if each.rating == rating), key=lambda each: str(each.uid))
        pair = RatedPair(str(event.uid), event.query_id, event.doc_id, rating, event.chars)
        pairs.setdefault(ItemKind(kinds[revision]), []).append(pair)
    return pairs


def _latest(collection: Collection) -> Iterable[_Event]:
    """Return each person's latest event for each cell of a passage with a text."""
    rows = HumanGrade.objects.filter(topic__collection=collection).annotate(chars=Length("passage__text"))
    rows = rows.filter(chars__gt=0).exclude(passage__in=visibility.blind_passages(collection.pk))
    columns = ("uid", "revision_id", "passage_id", "by_id", "rating", "how", "is_withdrawn")
    listed = rows.order_by("number", "pk").values_list(
        *columns, "topic__query_id", "passage__doc_id", "chars"
    )
    events = map(_Event._make, listed.iterator())
    return {(event.revision, event.passage, event.by): event for event in events}.values()


def _names_by_uid(names: Names) -> dict[UUID, str]:
    """Return the ratings that stand for the names: where one was deleted, that of a restored copy."""
    left = {UUID(name): name for slots in names.values() for slot in slots for name in slot}
    stand_for: dict[UUID, str] = {}
    for _ in range(MOST_COPIES):
        here = HumanGrade.objects.filter(uid__in=list(left), rating__isnull=False)
        stand_for |= {uid: left.pop(uid) for uid in here.values_list("uid", flat=True)}
        if not left:
            break
        left = {copied_uid(uid): name for uid, name in left.items()}
    return stand_for


def _rows(names: Names) -> QuerySet[HumanGrade]:
    return HumanGrade.objects.filter(uid__in=list(_names_by_uid(names)))


def _read(names: Names) -> dict[str, types.Exemplar]:
    """Return what a prompt has of each name; a rating that is not here is left out."""
    kind_of = {name: kind for kind, slots in names.items() for slot in slots for name in slot}
    name_of = _names_by_uid(names)
    rows = HumanGrade.objects.filter(uid__in=list(name_of))
    return {
        name_of[row.uid]: types.Exemplar(
            kind_of[name_of[row.uid]],
            row.topic.query_id,
            row.revision.text,
            row.passage.doc_id,
            longest_start(row.passage.text, lambda start: len(start) <= LONGEST_PASSAGE),
            row.rating or 0,
        )
        for row in rows.select_related("topic", "revision", "passage")
    }


def exemplar_slots(spec: GraderSpec) -> list[Slot]:
    """Return the exemplars of a grader; none for one without. Raises GraderUnavailable if any has changed."""
    if EXEMPLAR_EVENTS not in spec.options:
        return []
    try:
        return slots_of(spec.options, spec.prompt.kinds, _read(names_in(spec.options)))
    except (KeyError, ValueError) as error:
        raise GraderUnavailable(CHANGED) from error


def exemplar_chars(spec: GraderSpec) -> int:
    """Return the characters that the exemplars add to a prompt; 0 for exemplars that have changed."""
    try:
        slots = exemplar_slots(spec)
    except GraderUnavailable:
        return 0
    return len(exemplar_block([slot[0] for slot in slots], str))


def shown_with_exemplars(grade: Grade, pair: types.CellToGrade) -> types.CellToGrade | None:
    """Return the pair of a grade with what its prompt had of exemplars.

    None where one has changed, or the reader may not see people's rating of it.
    """
    if EXEMPLAR_EVENTS not in grade.config.options:
        return pair
    rows = _rows(names_in(grade.config.options))
    if visibility.visible_human_grades(rows, grade.topic.collection_id).count() < rows.count():
        return None
    try:
        return replace(pair, exemplars=fitting(exemplar_slots(spec_of(grade.config)), pair))
    except GraderUnavailable:
        return None


def exemplar_cells(configs: Iterable[GraderConfig | None]) -> set[NamedCell]:
    """Return the cells that are exemplars of these graders, or of members of a panel among them."""
    graders = [config for config in configs if config]
    formed = [config for config in graders if panels.is_panel(config)]
    graders += [member for config in formed for member in panels.panel_members(config)]
    cells: set[NamedCell] = set()
    for config in graders:
        if EXEMPLAR_EVENTS in config.options:
            rows = _rows(names_in(spec_of(config).options))
            cells |= set(rows.values_list("topic__query_id", "revision__uid", "passage__doc_id"))
    return cells


def without_exemplars(ratings: R, topic: TopicPool, uids: Sequence[str], exemplars: set[NamedCell]) -> R:
    """Return the ratings of these items, shape (passages, items), with MISSING for exemplars."""
    rows = {doc_id: row for row, doc_id in enumerate(topic.doc_ids)}
    columns = {uid: column for column, uid in enumerate(uids)}
    kept = ratings.copy()
    for query_id, uid, doc_id in exemplars:
        if query_id == topic.query_id and uid in columns and doc_id in rows:
            kept[rows[doc_id], columns[uid]] = MISSING
    return kept
