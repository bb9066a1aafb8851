"""The envelope `castorini.cli.v1` that RankLLM, ragnarok, nuggetizer and UMBRELA put around their output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat
from grading.formats.dictionary import MAX_DOCUMENT_BYTES
from grading.formats.reading import lines, refuse_escaped_nul

ENVELOPE = "castorini.cli.v1"


def unwrapped(value: Any) -> list[Any]:
    """The records of an envelope's artifacts, which may be none; anything else is a record itself."""
    if not isinstance(value, dict) or value.get("schema_version") != ENVELOPE:
        return [value]
    artifacts = value.get("artifacts")
    held: list[Any] = []
    for artifact in artifacts if isinstance(artifacts, list) else []:
        content = artifact.get("data", artifact.get("value")) if isinstance(artifact, dict) else None
        held += content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    return held


def record_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, JSON) of a file's records: its lines, or where it is one envelope what that holds.

    Raises `BadFormat` as `reading.lines` does, and for an envelope without records.
    """
    if not _is_envelope(path):
        yield from lines(path)
        return
    numbered = list(lines(path, max_bytes=MAX_DOCUMENT_BYTES))
    for number, text in numbered:
        try:
            refuse_escaped_nul(text)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
    records = unwrapped(msgspec.json.decode("\n".join(text for _, text in numbered)))
    if not records:
        problem = f"no records in artifacts, expected data or value in the envelope {ENVELOPE}"
        raise BadFormat(problem, file=path.name, line=1)
    for record in records:
        yield 1, msgspec.json.encode(record).decode()


def _is_envelope(path: Path) -> bool:
    """Whether the whole file is one; damaged JSON is no envelope, and its reader says what is wrong."""
    first = next((text for _, text in lines(path) if text.strip()), "")
    if ENVELOPE not in first and _is_json(first):
        return False
    try:
        whole = "\n".join(text for _, text in lines(path, max_bytes=MAX_DOCUMENT_BYTES))
        value = msgspec.json.decode(whole)
    except (msgspec.DecodeError, BadFormat, RecursionError):
        return False
    return isinstance(value, dict) and value.get("schema_version") == ENVELOPE


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
