"""Grades with a prompt that asks about several items of a passage in one call.

The items are shuffled by the prompt, the passage and their ids, so that none is always the first, and the
same pairs are asked in the same order again. A call without its neighbours is the same call: those of a
passage are cut from its order with the full ones first.

Each item has its own result from its own line. A line that is missing, comes twice or does not state a rating
is one failed grade. Where a call has no reply, all its items fail. What the reply has beside the lines is
kept with the first item alone, so that the traces of a call are its reply, once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from grading.errors import ParseFailure
from grading.graders import BatchGrader, BatchState, Grader, GraderSpec, Result, failed, misfit
from grading.prompts import Prompt
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, Item, Trace


@dataclass(frozen=True, slots=True)
class PassageCall:
    """Pairs of one passage that are asked about at once."""

    pairs: tuple[CellToGrade, ...]
    """In the order asked."""
    first: int
    """The place of its first item among those asked of the passage, from 1."""

    @property
    def pair(self) -> CellToGrade:
        """Return the pair by which a back-end asks, whose item stands for all of them."""
        items = tuple(pair.item for pair in self.pairs)
        text = "\n".join(item.text for item in items)
        return replace(self.pairs[0], item=Item(_digest(self.item_ids), items[0].kind, text), items=items)

    @property
    def item_ids(self) -> tuple[str, ...]:
        return tuple(pair.item.item_id for pair in self.pairs)


def calls_of(prompt: Prompt, pairs: Iterable[CellToGrade]) -> list[PassageCall]:
    """Return the calls about these pairs, passage by passage as these come."""
    by_passage: dict[tuple[str, str], list[CellToGrade]] = {}
    for pair in pairs:
        by_passage.setdefault((pair.topic.query_id, pair.passage.passage_id), []).append(pair)
    size = prompt.items_a_call
    return [
        PassageCall(tuple(ordered[start : start + size]), start + 1)
        for some in by_passage.values()
        for ordered in [sorted(some, key=lambda pair: _place(prompt, pair))]
        for start in range(0, len(ordered), size)
    ]


def ends_call(result: Result) -> bool:
    """Return whether no further result of the same call follows."""
    return not result.trace or not result.trace.call_items or result.item_id == result.trace.call_items[-1]


def _place(prompt: Prompt, pair: CellToGrade) -> str:
    return _digest((prompt.prompt_id, pair.passage.passage_id, pair.item.item_id))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def results_of(prompt: Prompt, call: PassageCall, reply: Result) -> Iterator[Result]:
    """Yield the results of a call, in the order asked; `reply` is the back-end's result for `call.pair`."""
    if isinstance(reply, GradeFailure):
        raw = reply.trace.reply if reply.trace else ""
        for number, pair in enumerate(call.pairs, 1):
            trace = _trace(call, number, reply, raw if number == 1 else "")
            yield failed(pair, reply.reason, reply.error_class, trace)
        return
    read = numbered_lines(reply.answer, [pair.item.text for pair in call.pairs])
    outside = [line.raw for line in read.lines if not 1 <= line.number <= len(call.pairs)]
    rest = "".join((_unread(reply), read.rest, *outside))
    for number, pair in enumerate(call.pairs, 1):
        lines = [line for line in read.lines if line.number == number]
        own = "" if read.rest == reply.answer and number == 1 else "".join(line.raw for line in lines)
        trace = _trace(call, number, reply, rest + own if number == 1 else own)
        yield _result(prompt, pair, lines, trace, f"item {number} of {len(call.pairs)}")


def _result(prompt: Prompt, pair: CellToGrade, lines: Sequence[Line], trace: Trace, name: str) -> Result:
    if len(lines) != 1:
        problem = f"the reply has {f'{len(lines)} lines' if lines else 'no line'} for {name}"
        problem += "" if trace.reply else "; what it has is with the item asked first"
        return failed(pair, problem, ErrorClass.PARSE, trace)
    try:
        rating, outcome = prompt.parse_line(lines[0].text)
    except ParseFailure:
        problem = f"the line for {name} states no {'label' if prompt.labels else 'rating'}"
        return failed(pair, problem, ErrorClass.PARSE, trace)
    return Grade(pair.item.item_id, pair.passage.passage_id, rating, outcome, trace=trace)


def _unread(reply: Grade) -> str:
    """Return what the model wrote before its answer: its thinking."""
    raw = reply.trace.reply if reply.trace else ""
    return raw.removesuffix(reply.answer) if raw.endswith(reply.answer) else raw


def _trace(call: PassageCall, number: int, reply: Result, raw: str) -> Trace:
    whole = reply.trace or Trace("", "")
    return replace(whole, reply=raw, call_items=call.item_ids, place=call.first + number - 1)


class ManyItems:
    """A grader by calls about several items; the back-end's grader makes the calls."""

    def __init__(self, grader: Grader) -> None:
        self.caller, self._prompt = grader, grader.spec.prompt

    @property
    def spec(self) -> GraderSpec:
        return self.caller.spec

    @property
    def device(self) -> str:
        return self.caller.device

    def close(self) -> None:
        """Close the back-end's grader."""
        self.caller.close()

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Result]:
        """Yield the results of a call one after the other. All pairs are read first, to fill the calls."""
        return self._split(pairs, self.caller.grade)

    def _split(
        self, pairs: Iterable[CellToGrade], ask: Callable[[list[CellToGrade]], Iterator[Result]]
    ) -> Iterator[Result]:
        fitting: list[CellToGrade] = []
        for pair in pairs:
            if failure := misfit(self._prompt, pair):
                yield failure
            else:
                fitting.append(pair)
        calls = {_key(call.pair): call for call in calls_of(self._prompt, fitting)}
        for reply in ask([call.pair for call in calls.values()]):
            yield from results_of(self._prompt, calls.pop((reply.item_id, reply.passage_id)), reply)


class ManyItemsBatch(ManyItems):
    """The same of a back-end that asks in batches (`base.BatchGrader`)."""

    caller: BatchGrader

    def find(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        return self.caller.find(self._call_pairs(pairs), salt)

    def send(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        return self.caller.send(self._call_pairs(pairs), salt)

    def state(self, batch: str) -> BatchState:
        return self.caller.state(batch)

    def collect(self, batch: str, pairs: Sequence[CellToGrade], salt: str = "") -> Iterator[Result]:
        """Yield what `BatchGrader.collect` does, the results of a call one after the other."""
        return self._split(pairs, lambda calls: self.caller.collect(batch, calls, salt))

    def cancel(self, batch: str) -> None:
        self.caller.cancel(batch)

    def _call_pairs(self, pairs: Sequence[CellToGrade]) -> list[CellToGrade]:
        fitting = (pair for pair in pairs if not misfit(self._prompt, pair))
        return [call.pair for call in calls_of(self._prompt, fitting)]


def _key(pair: CellToGrade) -> tuple[str, str]:
    return pair.item.item_id, pair.passage.passage_id


def in_calls(grader: Grader) -> Grader:
    """Return the grader that asks what `grader` asks, several items in a call."""
    return ManyItemsBatch(grader) if isinstance(grader, BatchGrader) else ManyItems(grader)


_NAME = r"(?:(?:item|question|nugget|key\s+fact|fact|q|n|no)\.?\s*+)?"
_SEPARATOR = r"(?:[:\uff1a=|)\]]|\.(?![0-9])|->|\u2192|[-\u2013\u2014](?=\s)|\t)"
_LINE = re.compile(
    rf"[\s>*_`|\u2022+-]*+[(\[]?{_NAME}#?\s*+(?P<number>[0-9]{{1,3}})(?P<close>[*_`\])]*)\s*"
    rf"(?:{_SEPARATOR})(?P<text>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AROUND = " \t*_`|\"'"
_AFTER_ECHO = f"{_AROUND}:.?!=>\u2192\u2013\u2014-"
_FENCE = re.compile(r"\s*```\w*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_NUMBER_KEYS = frozenset({"item", "number", "no", "id", "index", "question", "nugget", "n"})
_NUMBER = re.compile(rf"\s*+{_NAME}#?\s*+([0-9]{{1,3}})\s*", re.IGNORECASE)


class Line(NamedTuple):
    """What a reply says of one item."""

    number: int
    """The item's, from 1."""
    text: str
    """What is to be read; empty where only the number stands there."""
    raw: str
    """The line as it came, with lines after it that have no number."""


class NumberedReply(NamedTuple):
    """A reply in lines; `rest` and what is raw in the lines are all of it."""

    lines: tuple[Line, ...]
    rest: str
    """What stands before the first line, or all of a reply in JSON."""


def numbered_lines(reply: str, items: Sequence[str]) -> NumberedReply:
    r"""Return the lines of a reply about these items, in the order of the reply.

    A line begins with the number of its item: "3: 4", "3. 4", "**3)** support", "Question 3: 4", "| 3 | 4 |".
    JSON is read as well: an object by number, a list of objects that each have a number, or a list of as many
    values as items. The lines may come in any order. What a line repeats of its item is left out.

    A number that is no item's, or comes twice, is for whoever asked to judge. About one item alone the reply
    need not have its number.

    >>> [line[:2] for line in numbered_lines("2: 0\n1: 4", ["Why?", "When?"]).lines]
    [(2, '0'), (1, '4')]
    """
    read = _read(reply, items)
    if len(items) == 1 and all(line.number != 1 for line in read.lines):
        return NumberedReply((Line(1, reply.strip(), reply),), "")
    return read


def _read(reply: str, items: Sequence[str]) -> NumberedReply:
    if (in_json := _in_json(reply, len(items))) is not None:
        return NumberedReply(tuple(in_json), reply)
    rest: list[str] = []
    blocks: list[tuple[int, str, list[str]]] = []
    for text in re.findall(r"[^\n]*\n|[^\n]+", reply):
        if match := _LINE.match(text):
            blocks.append((int(match["number"]), match["text"], [text]))
        else:
            (blocks[-1][2] if blocks else rest).append(text)
    lines = (Line(number, _stated(number, text, raw, items), "".join(raw)) for number, text, raw in blocks)
    return NumberedReply(tuple(lines), "".join(rest))


def _stated(number: int, text: str, raw: Sequence[str], items: Sequence[str]) -> str:
    """Return the line without its item's own words; the lines after it where nothing else is left."""
    item = " ".join(items[number - 1].split()) if 0 < number <= len(items) else ""
    stated = " ".join(text.split()).strip(_AROUND)
    if item and stated[: len(item)].casefold() == item.casefold():
        stated = stated[len(item) :].lstrip(_AFTER_ECHO)
    return stated or "".join(raw[1:]).strip()


def _in_json(reply: str, items: int) -> list[Line] | None:
    """Return the lines of a reply in JSON, also of one with an object a line; None for any other reply."""
    fenced = _FENCE.fullmatch(reply)
    text = (fenced[1] if fenced else reply).strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return _of_value(json.loads(text, object_pairs_hook=_Object), items)
    except (ValueError, RecursionError):
        pass
    try:
        values = [json.loads(line, object_pairs_hook=_Object) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
    return list(_of_objects(values))


class _Object(list[tuple[str, object]]):
    """A JSON object as it came: a name may come twice."""


def _of_value(value: object, items: int) -> list[Line] | None:
    if isinstance(value, _Object):
        by_number = [(match, each) for key, each in value if (match := _NUMBER.fullmatch(key))]
        if by_number:
            return [_line(int(match[1]), each) for match, each in by_number]
        inner = [each for _, each in value if isinstance(each, list)]
        return _of_value(inner[0], items) if len(inner) == 1 else list(_of_objects([value]))
    if not isinstance(value, list):
        return None
    if numbered := list(_of_objects(value)):
        return numbered
    return [_line(number, each) for number, each in enumerate(value, 1)] if len(value) == items else []


def _of_objects(values: Iterable[object]) -> Iterator[Line]:
    """Yield what objects with the number of an item say."""
    for value in values:
        if not isinstance(value, _Object):
            continue
        for key, number in value:
            match = _NUMBER.fullmatch(str(number)) if key.casefold() in _NUMBER_KEYS else None
            if match:
                yield _line(int(match[1]), _Object(pair for pair in value if pair[0] != key))
                break


def _line(number: int, value: object) -> Line:
    text = value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)
    return Line(number, text.strip(), json.dumps({str(number): _plain(value)}, ensure_ascii=False))


def _plain(value: object) -> object:
    if isinstance(value, _Object):
        return {key: _plain(each) for key, each in value}
    return [_plain(each) for each in value] if isinstance(value, list) else value
