"""Banks in memory, the JSON objects of a bank file, and checked access to their fields."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from grading.errors import BadFormat
from grading.formats import ENVELOPE, unwrapped
from grading.formats.banks.yaml_records import as_json, is_yaml
from grading.formats.json_lines import is_json
from grading.formats.reading import MAX_HELD_BYTES, lines, refuse_escaped_nul
from grading.types import Importance, ItemKind, text_md5

Json = dict[str, Any]  # a JSON object, as a file has it
Parts = Mapping[str, Any]
"""What a file says of an item or topic besides what `BankItem` and `BankLine` model, by the keys of the
AutoJudge bank v3 (`answers` with their references, `aggregator_type`, `sub_nuggets`, `creator`, ...).

What v3 has no key for stands under `metadata.rubricweb.<dialect>`, which AutoJudge's tools keep.
"""


MAX_DEPTH = 60
"""How deeply the objects and lists of a bank may be nested."""
_SHAPE = "a bank as JSON: one object a line, one object, or a list of objects"
OURS = "rubricweb"
"""The key of `metadata` under which AutoJudge's tools keep what is ours."""
SLUG_CHARS = 80


@dataclass(frozen=True, slots=True)
class BankItem:
    """A question or nugget. `gold_answers` is empty where the bank has no answer key.

    Two items are equal if what is modelled of them is equal.
    """

    item_id: str
    kind: ItemKind
    text: str
    facet_id: str = ""
    gold_answers: tuple[str, ...] = ()
    importance: Importance | None = None
    """None where the file does not say."""
    weight: float | None = None
    """None: that of the importance."""
    facet_text: str = ""
    parts: Parts = field(default_factory=dict, compare=False)
    foreign: Json | None = field(default=None, compare=False)
    """The item as the file has it, from which a writer of the same dialect starts; None: nothing but what is
    modelled.
    """
    is_secret: bool = False
    """Nobody below topic developer may read it."""


@dataclass(frozen=True, slots=True)
class BankLine:
    """The items of one topic, or of one subtopic of it.

    `facet_id` and `facet_text` are empty for a whole topic; in some dialects a topic takes several lines.
    """

    query_id: str
    line: int
    items: list[BankItem]
    query_text: str = ""
    facet_id: str = ""
    facet_text: str = ""
    test_collection: str = ""
    parts: Parts = field(default_factory=dict, compare=False)
    foreign: Json | None = field(default=None, compare=False)
    """The line as the file has it, without its items; None: nothing but what is modelled."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a record: its line, and the file's name for dialects whose files name their topic."""

    line: int
    file: str


class Record(NamedTuple):
    line: int
    value: Json


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one tool or track writes banks. Readers raise `BadFormat` without a place; the caller adds it."""

    name: str
    label: str
    recognises: Callable[[Sequence[Json]], bool]
    """Whether these records, all of a file's, are of this dialect."""
    read: Callable[[Json, RecordPlace], BankLine]
    write: Callable[[BankLine], Json]
    source: str
    """The place where it is described."""
    parts: Callable[[Json], Parts]
    """The parts of an item as a file of this dialect has it (`BankItem.foreign`)."""
    head_parts: Callable[[Json], Parts]
    """The parts of a line (`BankLine.foreign`)."""
    file_name: str = ""
    """The name of each topic's own file, with `{query_id}` in it; empty where all topics share a file."""
    repeats_topics: bool = False
    """A topic may take several lines."""
    has_item_per_record: bool = False
    """A record is one item, and a topic takes as many as it has."""
    leaves_out: Callable[[BankItem], bool] = lambda item: False
    """Whether an item gets no record, where each has its own."""
    is_read: bool = True
    shares: str = ""
    """The dialect whose foreign parts are this one's, too; empty: its own alone."""
    refuses: Callable[[BankItem], str] = lambda item: ""
    """Why no bank with this item can be written at all; empty if it can."""
    warns: Callable[[BankItem], str] = lambda item: ""
    """What readers of the written file will make of this item; empty if nothing is to be said."""
    notes: Callable[[BankLine], Sequence[str]] = lambda line: ()
    """What an import says of a line."""
    split: Callable[[Sequence[Record]], Sequence[Record]] = lambda records: records
    """Return a file's records with one a topic, where the file does not part them so."""
    join: Callable[[Sequence[Json]], Any] | None = None
    """Return the document that a file's records are; None: a line each."""
    keys: tuple[str, ...] = ()
    """The keys that its records need to have; empty where their names are free."""

    @property
    def foreign_name(self) -> str:
        """Return the name under which foreign parts are kept that its writer starts from."""
        return self.shares or self.name

    def records(self, line: BankLine) -> list[Json]:
        """Return what is written of a line: a record, or one for each of its items."""
        if not self.has_item_per_record:
            return [self.write(line)]
        return [self.write(replace(line, items=[item])) for item in line.items if not self.leaves_out(item)]


def read_records(path: Path) -> list[Record]:
    """Return every record of the file with its line; those of one document have the line on which it begins.

    Raises `BadFormat` with file and line for what is no JSON object, a key that one object has twice, a blank
    line between records, and nesting deeper than `MAX_DEPTH`.
    """
    numbered = list(lines(path, max_bytes=MAX_HELD_BYTES))
    return [
        record for line, text in _documents(numbered, path.name) for record in _records(path.name, line, text)
    ]


def _documents(numbered: list[tuple[int, str]], file: str) -> list[tuple[int, str]]:
    """Yield (line, JSON text) of each line, unless the first is only the beginning of a document."""
    first = next(place for place, (_, text) in enumerate(numbered) if text.strip())
    number, text = numbered[first]
    if is_yaml([text for _, text in numbered]):
        return [(number, _from_yaml(numbered[first:], file))]
    if is_json(text) or text.rstrip().endswith("}"):
        return numbered
    return [(number, "\n".join(text for _, text in numbered[first:]))]


def _from_yaml(numbered: list[tuple[int, str]], file: str) -> str:
    try:
        return as_json("\n".join(text for _, text in numbered))
    except BadFormat as error:
        line = numbered[0][0] + (error.line or 1) - 1
        raise BadFormat(error.problem, file=file, line=line) from error


def _records(file: str, line: int, text: str) -> Iterator[Record]:
    try:
        value = _decode(text)
        for document in value if isinstance(value, list) else [value]:
            if not (records := unwrapped(document)):
                raise BadFormat(f"no records in artifacts, expected data or value in the envelope {ENVELOPE}")
            for record in records:
                if not isinstance(record, dict):
                    raise BadFormat(f"{type(record).__name__} in place of an object, expected {_SHAPE}")
                yield Record(line, record)
    except BadFormat as error:
        raise BadFormat(error.problem, file=file, line=line + (error.line or 0)) from error


def _decode(text: str) -> Any:
    if not text.strip():
        raise BadFormat(f"blank line, expected {_SHAPE}")
    refuse_escaped_nul(text)
    try:
        value = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=_refuse_repeated)
    except (msgspec.DecodeError, RecursionError) as error:
        _malformed(text, error)
    _refuse_deep(value)
    return value


def _malformed(text: str, problem: Exception) -> NoReturn:
    line = 0
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno - 1
    except (ValueError, RecursionError):
        pass
    raise BadFormat(f"malformed JSON ({problem}), expected {_SHAPE}", line=line) from problem


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> Json:
    members: Json = {}
    for key, value in pairs:
        if key in members:
            raise BadFormat(f"the key {key[:80]!r} occurs twice in one object, expected it once")
        members[key] = value
    return members


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise BadFormat(f"nested too deeply, expected at most {MAX_DEPTH} levels")


def brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def identifier(raw: Json, *keys: str) -> str:
    """Return the id, or number, at the first of these keys that has a value; empty without."""
    for key in keys:
        value = raw.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise BadFormat(f"{key} is {brief(value)}, expected an id")
        return str(value)
    return ""


def text_of(raw: Any, key: str, place: str) -> str:
    """Return the required text, which must not be blank."""
    value = raw.get(key) if isinstance(raw, dict) else raw
    where = f"{place}.{key}" if place and isinstance(raw, dict) else place or key
    if not isinstance(value, str) or not value.strip():
        raise BadFormat(f"{where} is {brief(value)}, expected text")
    return value


def optional_text(raw: Json, key: str) -> str:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise BadFormat(f"{key} is {brief(value)}, expected text")
    return value or ""


def objects(value: Any, place: str) -> list[Json]:
    """Return a list of objects; none for null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadFormat(f"{place} is {brief(value)}, expected a list")
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise BadFormat(f"{place}[{number}] is {brief(entry)}, expected an object")
    return value


def keyed(value: Any, key: str, place: str) -> list[Json]:
    """Return the objects of a list, or of a dictionary whose keys are their texts at `key`."""
    if not isinstance(value, dict):
        return objects(value, place)
    for text, entry in value.items():
        if not isinstance(entry, dict):
            raise BadFormat(f"{place}[{brief(text)}] is {brief(entry)}, expected an object")
        if entry.get(key) != text:
            raise BadFormat(
                f"{place}[{brief(text)}].{key} is {brief(entry.get(key))}, expected the key that it stands at"
            )
    return list(value.values())


def refuse_twins(items: Iterable[BankItem], place: str) -> None:
    """Refuse two items of equal text: they would be one item, whatever else they say."""
    seen: dict[tuple[str, str], int] = {}
    for number, item in enumerate(items):
        first = seen.setdefault((item.kind, item.text.strip()), number)
        if first != number:
            raise BadFormat(
                f"{place}[{first}] and {place}[{number}] have equal texts ({brief(item.text)}), "
                "expected each text once"
            )


def in_container(before: Any, entries: Sequence[Json], key: str) -> Any:
    """Return the entries in a dictionary by their texts, or in a list, as the file had them.

    It is a list where the file had neither.
    """
    if isinstance(before, dict):
        return {entry[key]: entry for entry in entries}
    return list(entries) if entries or isinstance(before, list) else before


def emptied(raw: Json, *keys: str) -> Json:
    """Return the record with these containers empty, so that a writer knows which kind they were."""
    return raw | {key: type(raw[key])() for key in keys if isinstance(raw.get(key), dict | list)}


def words_of(text: str) -> str:
    """Return a text as an answer key has it: words parted by single spaces."""
    return " ".join(text.split())


def kept_answers(
    before: Sequence[Any], answers: Sequence[str], *, text: Callable[[Any], str], made: Callable[[str], Any]
) -> list[Any]:
    """Return the file's answers that are still accepted, as read, and then those that it lacks."""
    accepted = {words_of(answer) for answer in answers}
    kept = [entry for entry in before if not words_of(text(entry)) or words_of(text(entry)) in accepted]
    present = {words_of(text(entry)) for entry in kept}
    return kept + [made(answer) for answer in answers if words_of(answer) not in present]


def md5_as_is(text: str) -> str:
    """Return the md5 of the text with its white space, as AutoJudge makes ids."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def is_md5_of(identity: object, text: str) -> bool:
    return identity in (md5_as_is(text), text_md5(text))


def ours(dialect: str, raw: Json, *, without: Iterable[str]) -> Json:
    """Return as parts what the dialect says and v3 has no key for."""
    modelled = set(without)
    rest = {key: value for key, value in raw.items() if key not in modelled and value is not None}
    return {"metadata": {OURS: {dialect: rest}}} if rest else {}


def slug(text: str) -> str:
    """Return the id of a subtopic that a file knows by its words alone.

    >>> slug('"How safe is nuclear energy?"')
    'how-safe-is-nuclear-energy'
    """
    name = re.sub(r"[\W_]+", "-", text.casefold()).strip("-")
    if not name:
        return text_md5(text)[:12] if text.strip() else ""
    return name if len(name) <= SLUG_CHARS else f"{name[:SLUG_CHARS]}-{text_md5(text)[:8]}"
