"""Small files of one JSON dictionary or TSV, told apart by the first character; errors name their line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.reading import lines, refuse_escaped_nul

MAX_DOCUMENT_BYTES = 16_000_000
"""After decompression: queries and leaderboards are read whole, also by the web process."""

_KEY = re.compile(r'("(?:[^"\\]|\\.)*")\s*:')


class JsonObject(list[tuple[str, object]]):
    """A JSON dictionary as its list of pairs, so that repeated keys are kept."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file, with its lines numbered from 1."""

    file: str
    lines: list[tuple[int, str]]
    shape: str
    """The expected content, in words."""

    @property
    def is_json(self) -> bool:
        return next(text for _, text in self.lines if text.strip()).lstrip().startswith("{")

    def columns(self) -> Iterator[tuple[int, list[str]]]:
        """(line, columns between tabs) of each line that is not blank."""
        return ((number, text.split("\t")) for number, text in self.lines if text.strip())

    def pairs(self) -> list[tuple[str, object, int]]:
        """(key, value, line) of a JSON dictionary in the file's order, keys that occur twice included.

        A dictionary inside it is a `Pairs` of its own.
        """
        try:
            document = json.loads("\n".join(text for _, text in self.lines), object_pairs_hook=JsonObject)
        except json.JSONDecodeError as error:
            problem = f"malformed JSON ({error.msg}, column {error.colno}), expected {self.shape}"
            raise self.error(problem, error.lineno) from error
        except (RecursionError, ValueError) as error:
            raise self.error(
                f"JSON nested too deeply or with a number too long, expected {self.shape}", 1
            ) from error
        if not isinstance(document, JsonObject):
            raise self.error(f"JSON that is no dictionary, expected {self.shape}", 1)
        return self.placed(document)

    def value(self) -> object:
        """The JSON value of the file. Raises `BadFormat` where there is none that a database can store."""
        for number, text in self.lines:
            try:
                refuse_escaped_nul(text)
            except BadFormat as error:
                raise self.error(error.problem, number) from error
        whole = "\n".join(text for _, text in self.lines)
        try:
            return msgspec.json.decode(whole)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = f"malformed JSON ({error}), expected {self.shape}"
            raise self.error(problem, _line_of_error(whole)) from error

    def placed(self, pairs: Sequence[tuple[str, object]]) -> list[tuple[str, object, int]]:
        """Each pair with the line on which its key stands; the n-th use of a key is on the n-th such line."""
        where: dict[str, list[int]] = {}
        keys = {key for key, _ in pairs}
        for number, text in self.lines:
            for key in _keys(text):
                if key in keys:
                    where.setdefault(key, []).append(number)
        counts: dict[str, int] = {}
        placed = []
        for key, value in pairs:
            use = counts[key] = counts.get(key, 0) + 1
            lines = where.get(key, [1])
            line = lines[min(use, len(lines)) - 1]
            self._refuse_unstorable(f"{key} {value}", line)
            placed.append((key, value, line))
        return placed

    def _refuse_unstorable(self, text: str, line: int) -> None:
        """Escapes can make text that no database stores."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error("half a surrogate pair, expected whole characters", line) from error
        if "\0" in text:
            raise self.error("a NUL character, expected text", line)

    def error(self, problem: str, line: int) -> BadFormat:
        return BadFormat(problem, file=self.file, line=line)


def read_document(path: Path, *, shape: str) -> Document:
    """The whole file, of at most MAX_DOCUMENT_BYTES. Raises `BadFormat` as `reading.lines` does."""
    return Document(path.name, list(lines(path, max_bytes=MAX_DOCUMENT_BYTES)), shape)


def _keys(text: str) -> Iterator[str]:
    for match in _KEY.finditer(text):
        try:
            yield json.loads(match[1])
        except ValueError:
            continue


def _line_of_error(text: str) -> int:
    """The line where JSON goes wrong; 1 where only msgspec refuses it."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (RecursionError, ValueError):
        return 1
    return 1
