"""JSON documents, one a line, decoded with their types; a wrong type names the line and the path inside the
JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from grading.errors import BadFormat
from grading.formats.reading import encoded_lines, refuse_escaped_nul

Raw = TypeVar("Raw")
Record = TypeVar("Record")


def records(
    path: Path,
    decoder: msgspec.json.Decoder[Raw],
    convert: Callable[[Raw, int], Record],
    *,
    shape: str,
    numbered: Iterable[tuple[int, str | bytes]] | None = None,
) -> Iterator[Record]:
    """Decode each line of `path`, or of `numbered` lines made of it, and yield `convert(raw, line number)`.

    `shape` says in words what a line should be. `convert` raises `BadFormat` without a place; file and line
    are added here. A blank line is an error.
    """
    for number, text in numbered if numbered is not None else encoded_lines(path):
        try:
            record = convert(decode(text, decoder, shape=shape), number)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        del text
        yield record
        del record  # which may be large, like its line, and is gone when the next one is read


def decode(
    text: str | bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Raw], *, shape: str, at: str = "$"
) -> Raw:
    """One JSON document as its type, or as `msgspec.Raw` the part of one that stands at the path `at`.

    Raises `BadFormat` (without a place in the file).
    """
    if not isinstance(text, msgspec.Raw):
        if not text or text.isspace():
            raise BadFormat(f"blank line, expected {shape}")
        refuse_escaped_nul(text)
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        place = path.strip("`").replace("$", at, 1) or at
        raise BadFormat(f"{problem} at {place}; a line is {shape}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadFormat(f"malformed JSON ({error}), expected {shape}") from error
