"""Exemplars: pairs that people rated, which a prompt has before the pair that it asks about.

They are chosen once for a grader, the same from the same pairs and seed: as many of each rating as can be,
and passages that a prompt has room for before longer ones. No label leaks into the grade of its own topic:
each exemplar has a substitute of another topic, which stands in for it there and before its own passage. So
the prompts of a topic have one beginning, but for passages that are exemplars themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from grading.graders.backend_options import Option
from grading.prompts import Prompt
from grading.types import CellToGrade, Exemplar, ItemKind

LONGEST_PASSAGE = 600
"""Characters of an exemplar's passage in a prompt. Part of what a grade means: it must not change."""
if TYPE_CHECKING:
    from grading.graders import JSON

EXEMPLARS, EXEMPLAR_SEED = "exemplars", "exemplar_seed"
EXEMPLAR_OPTIONS = {
    each.name: each
    for each in (
        Option(
            default=0,
            help="Pairs that people rated, which the prompt has first (few-shot); none of the topic that is "
            "graded. Each takes up to about 200 tokens.",
            name=EXEMPLARS,
            highest=12,
            fits=lambda prompt: prompt.takes_exemplars,
        ),
        Option(
            default=0,
            help="Another number chooses other exemplars.",
            name=EXEMPLAR_SEED,
            highest=1_000_000,
            fits=lambda prompt: prompt.takes_exemplars,
        ),
    )
}
"""Options of back-ends that can be asked anything."""
EXEMPLAR_EVENTS = "exemplar_events"
"""The option with the ratings by people that are a grader's exemplars, as `option_of` writes it."""
_DIGITS = 16
Slot = tuple[Exemplar, ...]
"""An exemplar, and the substitute of another topic if there is one."""
Names = Mapping[ItemKind, Sequence[Sequence[str]]]
"""By kind of item, the names of the ratings in each slot, which are UUIDs."""


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A pair from which exemplars are chosen."""

    name: str
    """Of the rating, the same in every database."""
    query_id: str
    doc_id: str
    rating: int
    chars: int
    """Of the passage."""


def choose(pairs: Iterable[RatedPair], number: int, seed: int) -> list[tuple[RatedPair, ...]]:
    """Return at most `number` pairs, each with a substitute of another topic and the same rating, if any.

    Ratings take turns, the highest and the lowest first. No passage comes twice, and a topic only where no
    other has a passage as short.
    """
    ordered = sorted(pairs, key=lambda pair: (_length(pair), _lot(seed, pair.name)))
    by_rating: dict[int, list[RatedPair]] = {}
    for pair in ordered:
        by_rating.setdefault(pair.rating, []).append(pair)
    chosen: list[RatedPair] = []
    turns = _outside_in(sorted(by_rating))
    while len(chosen) < number:
        before = len(chosen)
        for rating in turns[: number - before]:
            following = _next(by_rating[rating], chosen)
            chosen += [following] if following else []
        if len(chosen) == before:
            break
    used = list(chosen)
    slots: list[tuple[RatedPair, ...]] = []
    for pair in chosen:
        others = [other for other in by_rating[pair.rating] if other.query_id != pair.query_id]
        substitute = _next(others, used)
        used += [substitute] if substitute else []
        slots.append((pair, substitute) if substitute else (pair,))
    return sorted(slots, key=lambda slot: _lot(seed, slot[0].name))


def _next(pairs: Iterable[RatedPair], used: Sequence[RatedPair]) -> RatedPair | None:
    """Return a pair of a passage that is not used: of the shortest ones the first, of a new topic if any."""
    passages, topics = {pair.doc_id for pair in used}, {pair.query_id for pair in used}
    free = [pair for pair in pairs if pair.doc_id not in passages]
    return min(free, key=lambda pair: (_length(pair), pair.query_id in topics), default=None)


def _outside_in(ratings: list[int]) -> list[int]:
    """Return the ratings, which rise, as highest, lowest, second highest...

    >>> _outside_in([0, 1, 2, 3])
    [3, 0, 2, 1]
    """
    return [
        ratings[-1 - place // 2] if place % 2 == 0 else ratings[place // 2] for place in range(len(ratings))
    ]


def _length(pair: RatedPair) -> int:
    """Return the characters of the passage; all that a prompt has room for are alike."""
    return max(pair.chars, LONGEST_PASSAGE)


def _lot(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()


def fitting(slots: Iterable[Slot], pair: CellToGrade) -> tuple[Exemplar, ...]:
    """Return the exemplars for this pair: none of its topic, and none of its passage or a copy of that."""
    fit = (next((each for each in slot if not _tells(each, pair)), None) for slot in slots)
    return tuple(exemplar for exemplar in fit if exemplar)


def _tells(exemplar: Exemplar, pair: CellToGrade) -> bool:
    text = pair.passage.text
    is_whole = len(text) == len(exemplar.passage) or len(text) > LONGEST_PASSAGE
    is_copy = is_whole and text.startswith(exemplar.passage)
    return is_copy or pair.passage.passage_id == exemplar.doc_id or exemplar.query_id == pair.topic.query_id


def option_of(names: Names, read: Mapping[str, Exemplar]) -> str:
    """Return the option that keeps these names, with a digest of what a prompt has of each."""
    stated = {kind.value: [list(slot) for slot in slots] for kind, slots in names.items()}
    return json.dumps({"digest": _digest(names, read), **stated}, sort_keys=True, separators=(",", ":"))


def names_in(options: Mapping[str, object]) -> Names:
    """Return the names that the option keeps; none where it is missing, or written by nobody of us."""
    try:
        stated = json.loads(str(options[EXEMPLAR_EVENTS]))
        return {
            kind: [[str(UUID(name)) for name in slot] for slot in stated[kind.value]]
            for kind in (ItemKind.NUGGET, ItemKind.QUESTION)
            if kind.value in stated
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


def with_kept_exemplars(
    options: Mapping[str, JSON], chosen: Mapping[str, object], prompt: Prompt
) -> dict[str, JSON]:
    """Return a grader's options with those of `chosen` that keep its exemplars.

    Where none is of a kind of item that the prompt rates it is a grader without exemplars.
    """
    if EXEMPLARS in options and prompt.kinds & set(names_in(chosen)):
        return {**options, EXEMPLAR_EVENTS: str(chosen[EXEMPLAR_EVENTS])}
    return {name: value for name, value in options.items() if name not in (EXEMPLARS, EXEMPLAR_SEED)}


def slots_of(
    options: Mapping[str, object], kinds: Iterable[ItemKind], read: Mapping[str, Exemplar]
) -> list[Slot]:
    """Return a grader's exemplars for items of these kinds, in turns.

    `read` has what the names stand for now. Raises KeyError where one is missing, and ValueError where one is
    not what it was when the option was written.
    """
    names = names_in(options)
    if json.loads(str(options[EXEMPLAR_EVENTS]))["digest"] != _digest(names, read):
        raise ValueError("an exemplar has changed")
    of_kinds = [names[kind] for kind in sorted(kinds) if kind in names]
    turns = [
        slots[place] for place in range(max(map(len, of_kinds))) for slots in of_kinds if place < len(slots)
    ]
    number = options.get(EXEMPLARS)
    return [tuple(read[name] for name in slot) for slot in turns[: number if isinstance(number, int) else 0]]


def _digest(names: Names, read: Mapping[str, Exemplar]) -> str:
    ordered = [astuple(read[name]) for kind in sorted(names) for slot in names[kind] for name in slot]
    return hashlib.sha256(json.dumps(ordered).encode()).hexdigest()[:_DIGITS]
