"""Criteria with weights, also negative ones for what a good answer avoids, in two dialects.

AutoRubric and `rubric` have them in sections or without. A file is the rubric of one topic, which its name
says: `rubric_<query id>.json`. It is a list of `{weight, requirement, name, options}`, or `{criteria: [...]}`
or `{sections: [{name, criteria: [...]}]}`, or one of these under `rubric`, as JSON or YAML. A criterion
without a weight has 10.

ResearchRubrics has them without sections, a line a topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    Record,
    RecordPlace,
    brief,
    emptied,
    identifier,
    objects,
    optional_text,
    ours,
    refuse_twins,
    slug,
    text_of,
)
from grading.types import ItemKind, item_id

WEIGHT = 10
"""The weight of a criterion that states none, and the highest here, to which larger ones are scaled."""
FILE_NAME = "rubric_{query_id}.json"
_NAMED = re.compile(r"(?:rubric_)?(.+?)(?:\.(?:jsonl?|ya?ml))?(?:\.gz)?")
_LIST = "[]"
"""Where a record has the criteria of a file that is a list of them."""
_SHAPE = "{rubric: {sections: [{name, criteria: [{weight, requirement, name}, ...]}, ...]}}, or such criteria"
_NEARLY = 1e-9

Entries = list[Json]
Fill = Callable[[str], Entries]


class _Section(NamedTuple):
    """Criteria of one name, which is empty in a rubric without sections."""

    name: str
    criteria: Entries
    place: str


def recognises(records: Sequence[Json]) -> bool:
    first = records[0]
    held = first.get("rubric", first)
    listed = held.get("sections", held.get("criteria")) if isinstance(held, dict) else held
    return "requirement" in first or (
        isinstance(listed, list)
        and any(
            isinstance(entry, dict) and ("requirement" in entry or "criteria" in entry) for entry in listed
        )
    )


def split(records: Sequence[Record]) -> Sequence[Record]:
    """Return the criteria of a list as one record."""
    if "requirement" not in records[0].value:
        return records
    return [Record(records[0].line, {_LIST: [record.value for record in records]})]


def join(records: Sequence[Json]) -> Any:
    """Return the document of one rubric."""
    (record,) = records
    return record.get(_LIST, record)


def read(raw: Json, source: RecordPlace) -> BankLine:
    named = _NAMED.fullmatch(source.file)
    query_id = named[1] if named else source.file
    sections = _sections(raw)
    # The weights are divided by the scale to lie within the range of ours.
    weights = [_weight(raw, f"{s.place}[{place}]") for s in sections for place, raw in enumerate(s.criteria)]
    most = max(map(abs, weights), default=0)
    scale = most / WEIGHT if most > WEIGHT else 1
    items = [item for section in sections for item in _items(section, query_id, scale)]
    head = {"document": _filled(raw, lambda name: []), "scale": scale}
    return BankLine(query_id, source.line, items, parts=head_parts(head), foreign=head)


def _sections(raw: Json) -> list[_Section]:
    """Return the sections, or one without a name. Raises BadFormat."""
    listed, place, is_sectioned = _listed(raw)
    entries = objects(listed, place)
    if not (is_sectioned or any("criteria" in entry for entry in entries)):
        return [_Section("", entries, place)]
    sections: list[_Section] = []
    for number, entry in enumerate(entries):
        own = f"{place}[{number}]"
        if not isinstance(entry.get("criteria"), list):
            raise BadFormat(f"{own}.criteria is {brief(entry.get('criteria'))}, expected a list of criteria")
        name = text_of(entry, "name", own)
        if not slug(name) or slug(name) in {slug(section.name) for section in sections}:
            raise BadFormat(f"{own}.name is {brief(name)}, expected each name of a section once")
        sections.append(_Section(name, objects(entry["criteria"], f"{own}.criteria"), f"{own}.criteria"))
    return sections


def _listed(raw: Json) -> tuple[Any, str, bool]:
    """Return the list of criteria or sections, its place, and whether its key says that it has sections."""
    if _LIST in raw:
        return raw[_LIST], "criteria", False
    held, before = (raw["rubric"], "rubric.") if "rubric" in raw else (raw, "")
    if isinstance(held, list):
        return held, "rubric", False
    key = "sections" if isinstance(held, dict) and "sections" in held else "criteria"
    if not isinstance(held, dict) or held.get(key) is None:
        raise BadFormat(f"no criteria, expected {_SHAPE}")
    return held[key], f"{before}{key}", key == "sections"


def _weight(raw: Json, place: str) -> float:
    return importance.of_weight(raw.get("weight", WEIGHT), f"{place}.weight").weight


def _items(section: _Section, query_id: str, scale: float) -> list[BankItem]:
    facet_id = slug(section.name)
    items = []
    for number, raw in enumerate(section.criteria):
        place = f"{section.place}[{number}]"
        text = text_of(raw, "requirement", place)
        optional_text(raw, "name")
        objects(raw.get("options"), f"{place}.options")
        worth = _scaled(_weight(raw, place), scale)
        items.append(
            BankItem(
                item_id(query_id, text, facet_id),
                ItemKind.NUGGET,
                text,
                facet_id,
                importance=worth.importance,
                weight=worth.weight,
                facet_text=section.name.strip(),
                parts=parts(raw),
                foreign=raw,
            )
        )
    refuse_twins(items, section.place)
    return items


def _scaled(weight: float, scale: float) -> importance.Weighed:
    return importance.of_weight(max(-WEIGHT, min(WEIGHT, weight / scale)), "weight")


def parts(raw: Json) -> Parts:
    return ours("autorubric", raw, without=("requirement", "weight"))


def head_parts(raw: Json) -> Parts:
    document, scale = raw["document"], raw["scale"]
    outer = {key: value for key, value in document.items() if key not in (_LIST, "rubric")}
    held = document.get("rubric")
    stated = outer | (held if isinstance(held, dict) else {}) | ({"scale": scale} if scale != 1 else {})
    return ours("autorubric", stated, without=("sections", "criteria"))


def write(line: BankLine) -> Json:
    """Return the rubric in the shape that it was read in; a new one has sections if it has subtopics."""
    items = [item for item in line.items if item.kind is ItemKind.NUGGET]
    is_sectioned = any(item.facet_id for item in items)
    head = line.foreign or {"document": {"sections": []} if is_sectioned else {_LIST: []}, "scale": 1}
    by_section: dict[str, Entries] = {}
    names: dict[str, str] = {}
    for item in items:
        names.setdefault(item.facet_id, item.facet_text or item.facet_id or "General")
        by_section.setdefault(item.facet_id, []).append(_written(item, head["scale"]))
    return _filled(head["document"], lambda facet_id: by_section.pop(facet_id, []), by_section, names)


def _written(item: BankItem, scale: float) -> Json:
    now = importance.weighed(item.importance, item.weight).weight
    raw: dict[str, Any] = dict(item.foreign or {"weight": now * scale, "requirement": item.text})
    if raw["requirement"].strip() != item.text.strip():
        raw["requirement"] = item.text
    is_same = abs(_scaled(_weight(raw, ""), scale).weight - now) < _NEARLY
    return raw if is_same else raw | {"weight": round(now * scale, 6)}


def _filled(
    raw: Json, fill: Fill, others: dict[str, Entries] | None = None, names: dict[str, str] | None = None
) -> Json:
    """Return the document with the criteria that `fill` has for each subtopic, and then those of others."""
    listed, _, is_sectioned = _listed(raw)
    if is_sectioned or any("criteria" in entry for entry in listed):
        filled = [entry | {"criteria": fill(slug(entry["name"]))} for entry in listed]
        filled += [{"name": (names or {})[facet], "criteria": held} for facet, held in (others or {}).items()]
    else:
        filled = fill("")
        filled += [entry for held in (others or {}).values() for entry in held]
    if _LIST in raw:
        return {_LIST: filled}
    held = raw.get("rubric", raw)
    if isinstance(held, list):
        return raw | {"rubric": filled}
    inner: Json = held | {("sections" if "sections" in held else "criteria"): filled}
    return raw | {"rubric": inner} if "rubric" in raw else inner


def notes(line: BankLine) -> list[str]:
    """Return how the weights were scaled, and which criteria have options, which are not used."""
    scale = (line.foreign or {}).get("scale", 1)
    with_options = [item for item in line.items if item.foreign and item.foreign.get("options")]
    named = [brief(item.foreign.get("name") or item.text) for item in with_options if item.foreign]
    scaled = [f"weights go up to {scale * WEIGHT:g}: all are divided by {scale:g} here"] if scale != 1 else []
    options = [f"options are kept and not graded by: {', '.join(named)}"] if named else []
    return scaled + options


AUTORUBRIC = Dialect(
    "autorubric",
    "AutoRubric",
    recognises,
    read,
    write,
    "AutoRubric 1.6.1 (arXiv 2603.00077), rubric 2",
    parts,
    head_parts,
    file_name=FILE_NAME,
    split=split,
    join=join,
    notes=notes,
    keys=("weight", "requirement"),
)


_RESEARCH_SHAPE = "{qid, rubrics: [{criterion, weight, axis}, ...]}"


def _read_research(raw: Json, source: RecordPlace) -> BankLine:
    query_id = identifier(raw, "qid", "query_id")
    if not query_id:
        raise BadFormat(f"no qid, expected {_RESEARCH_SHAPE}")
    if raw.get("rubrics") is None:
        raise BadFormat(f"no rubrics, expected {_RESEARCH_SHAPE}")
    entries = objects(raw["rubrics"], "rubrics")
    items = [_research_item(entry, query_id, f"rubrics[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, "rubrics")
    return BankLine(
        query_id, source.line, items, parts=_research_head_parts(raw), foreign=emptied(raw, "rubrics")
    )


def _research_item(raw: Json, query_id: str, place: str) -> BankItem:
    text = text_of(raw, "criterion", place)
    weighed = importance.of_weight(raw.get("weight"), f"{place}.weight")
    return BankItem(
        item_id(query_id, text),
        ItemKind.NUGGET,
        text,
        importance=weighed.importance,
        weight=weighed.weight,
        parts=_research_parts(raw),
        foreign=raw,
    )


def _research_parts(raw: Json) -> Parts:
    return ours("researchrubrics", raw, without=("criterion", "weight"))


def _research_head_parts(raw: Json) -> Parts:
    return ours("researchrubrics", raw, without=("qid", "query_id", "rubrics"))


def _write_research(line: BankLine) -> Json:
    head = line.foreign or {"qid": line.query_id}
    return head | {
        "rubrics": [_written_criterion(item) for item in line.items if item.kind is ItemKind.NUGGET]
    }


def _written_criterion(item: BankItem) -> Json:
    now = importance.weighed(item.importance, item.weight)
    raw: dict[str, Any] = dict(item.foreign or {"criterion": item.text, "weight": now.weight})
    raw["criterion"] = raw["criterion"] if raw["criterion"].strip() == item.text.strip() else item.text
    return raw if raw["weight"] == now.weight else raw | {"weight": now.weight}


RESEARCH_RUBRICS = Dialect(
    "researchrubrics",
    "ResearchRubrics",
    lambda records: "rubrics" in records[0],
    _read_research,
    _write_research,
    "TREC RAG 2026",
    _research_parts,
    _research_head_parts,
    keys=("qid", "rubrics"),
)
