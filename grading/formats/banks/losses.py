"""What a dialect cannot say of a bank: found by writing it and reading it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.fields import OURS, shown, words_of
from grading.formats.banks.types import BankItem, BankLine, Dialect, Parts, Source
from grading.types import ItemKind

EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing of an item, or of a topic where `text` is empty, that the written file will not say."""

    query_id: str
    text: str
    what: str

    def __str__(self) -> str:
        item = f", {shown(self.text)}" if self.text else ""
        return f"topic {self.query_id}{item}: {self.what}"


def without_twins(lines: Iterable[BankLine]) -> tuple[list[BankLine], list[Loss]]:
    """Leave out all but the first of the items that have one text, as those of two subtopics may."""
    kept, lost = [], []
    for line in lines:
        first: dict[tuple[str, str], BankItem] = {}
        for item in line.items:
            if first.setdefault((item.kind, item.text.strip()), item) is not item:
                subtopic = item.facet_id or "none"
                why = f"the whole {item.kind} of subtopic {subtopic} is left out, another has its text"
                lost.append(Loss(line.query_id, item.text, why))
        kept.append(replace(line, items=list(first.values())))
    return kept, lost


def refusals(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """Why no file of this dialect can be made: one entry an item."""
    return [
        Loss(line.query_id, item.text, why)
        for line in lines
        for item in line.items
        if (why := dialect.refuses(item))
    ]


def losses(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """What is lost, item by item. Call it only where there are no `refusals`."""
    return list(dict.fromkeys(loss for line in lines for loss in _of_line(line, dialect)))


def warnings(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """What known readers of the dialect will make of items that it can say."""
    return [
        Loss(line.query_id, item.text, why)
        for line in lines
        for item in line.items
        if (why := dialect.warns(item))
    ]


def _of_line(line: BankLine, dialect: Dialect) -> Iterator[Loss]:
    source = Source(line.line, dialect.file_name.format(query_id=line.query_id))
    try:
        again = [dialect.read(record, source) for record in dialect.records(line)]
    except BadFormat as error:
        yield Loss(line.query_id, "", f"cannot be read again: {error.problem}")
        return
    found = {(item.kind, item.text.strip()): item for written in again for item in written.items}
    for key in _lost_parts(line.parts, again[0].parts if again else {}):
        yield Loss(line.query_id, "", key)
    for item in line.items:
        written = found.get((item.kind, item.text.strip()))
        if written is None:
            yield Loss(line.query_id, item.text, f"the whole {item.kind} is left out")
            continue
        for what in _of_item(item, written):
            yield Loss(line.query_id, item.text, what)


def _of_item(item: BankItem, written: BankItem) -> Iterator[str]:
    now, then = (importance.weighed(one.importance, one.weight) for one in (item, written))
    if now.importance is not then.importance:
        yield f"importance {now.importance}"
    elif now.weight != then.weight:
        yield f"weight {now.weight:g}"
    if item.facet_id != written.facet_id:
        yield f"subtopic {item.facet_id or 'none'}"
    if item.is_secret and not written.is_secret:
        yield "that it is secret"
    present = {words_of(answer) for answer in written.gold_answers}
    if item.kind is ItemKind.QUESTION:
        for answer in item.gold_answers:
            if words_of(answer) not in present:
                yield f"answer {shown(answer)}"
    yield from _lost_parts(_present(item, present), written.parts)


def _present(item: BankItem, written: set[str]) -> Parts:
    """Without the answers that people have removed since the import, and those that are lost as a whole."""
    kept = {words_of(answer) for answer in item.gold_answers} & written
    answers = [entry for entry in item.parts.get("answers") or [] if words_of(entry["answer"]) in kept]
    return {**item.parts, "answers": answers}


def _lost_parts(before: Parts, after: Parts) -> Iterator[str]:
    for key, value in before.items():
        if key == "answers":
            yield from _lost_references(value, after.get(key))
        elif key == "metadata" and isinstance(value, dict):
            yield from _lost_metadata(value, after.get(key))
        elif value not in EMPTY and after.get(key) != value:
            many = f" ({len(value)})" if isinstance(value, list) else ""
            yield f"{key}{many}" if many or isinstance(value, dict) else f"{key} {shown(value)}"


def _lost_references(before: Any, after: Any) -> Iterator[str]:
    written = {entry["answer"]: entry for entry in after or []}
    for entry in before or []:
        kept = {"answer": entry["answer"], **written.get(entry["answer"], {})}
        lost = sorted(key for key, value in entry.items() if value not in EMPTY and kept.get(key) != value)
        if lost:
            yield f"{', '.join(lost)} of answer {shown(entry['answer'])}"


def _lost_metadata(before: Mapping[str, Any], after: Any) -> Iterator[str]:
    kept = after if isinstance(after, dict) else {}
    for key, value in before.items():
        if key != OURS or not isinstance(value, dict):
            if kept.get(key) != value:
                yield f"metadata.{key}"
            continue
        held = kept.get(OURS) if isinstance(kept.get(OURS), dict) else {}
        for dialect, said in value.items():
            if (held or {}).get(dialect) != said:
                names = ", ".join(sorted(said)) if isinstance(said, dict) else shown(said)
                yield f"{names} (of {dialect})" if isinstance(said, dict) else f"metadata.rubricweb.{dialect}"
