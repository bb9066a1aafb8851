"""Text files, read and written line by line: plain or gzip, in bounded memory, damaged bytes reported."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from grading.errors import BadFormat

MAX_LINE_BYTES = 64_000_000
"""The longest line (64 MB, decompressed, without its line break)."""
MAX_FILE_BYTES = 50_000_000_000
"""The longest file that is read line by line (50 GB, decompressed)."""
MAX_HELD_BYTES = 256_000_000
"""The longest file that a reader holds in memory, such as a run (256 MB, decompressed)."""

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_DECODED_AT_ONCE = 65_536
"""Bytes: a long line as text would take up to four times its bytes."""
_GZIP_MAGIC = b"\x1f\x8b"
_NUL = "a NUL character, expected text"
_BYTE_ORDER_MARK = "\ufeff"
_UNPACK = "unpack it first, expected text, plain or packed once with gzip"
_EXPORT = "export it as text, expected text in UTF-8"
_OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (0, _GZIP_MAGIC, f"the file is packed with gzip twice: {_UNPACK}"),
    (4, b"1AY&SY", f"the file is packed with bzip2: {_UNPACK}"),
    (0, b"\xfd7zXZ\x00", f"the file is packed with xz: {_UNPACK}"),
    (0, b"\x28\xb5\x2f\xfd", f"the file is packed with Zstandard: {_UNPACK}"),
    (0, b"7z\xbc\xaf\x27\x1c", f"the file is a 7z archive: {_UNPACK}"),
    (0, b"PK\x03\x04", f"the file is a zip archive, or of an office program: {_UNPACK}"),
    (257, b"ustar\x00", f"the file is a tar archive: {_UNPACK}"),
    (257, b"ustar  \x00", f"the file is a tar archive: {_UNPACK}"),
    (0, b"%PDF-", f"the file is a PDF: {_EXPORT}"),
    (0, b"PAR1\x15", f"the file is Parquet: {_EXPORT}"),
    (0, b"SQLite format 3\x00", f"the file is a SQLite database: {_EXPORT}"),
)
"""Kinds of files that have these bytes at this place."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SAVE = "save the file as UTF-8"

Line = TypeVar("Line", str, bytes)


MAX_TEXT_BYTES = 16_000_000
"""After decompression: queries and leaderboards are read whole, also by the web process."""
_KEY = re.compile(r'("(?:[^"\\]|\\.)*")\s*:')


def lines(path: Path, *, max_bytes: int = MAX_FILE_BYTES) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line break).

    gzip is known by its first bytes, not by the name.

    Blank lines between others are yielded as empty ones, those at the end are not. Raises `BadFormat` for a
    file that cannot be opened, a truncated or damaged gzip, bytes that are not UTF-8, a NUL, a line over
    `MAX_LINE_BYTES`, more than `max_bytes` after decompression, and a file without any non-blank line.
    """
    return _read(path, _as_text, max_bytes)


def encoded_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield what `lines` does, but in UTF-8.

    That takes a half or a quarter of the memory where a line has a character beyond Latin-1.
    """
    return _read(path, _as_bytes, MAX_FILE_BYTES)


def text_lines(text: str) -> list[str]:
    r"""Return the lines of a text without their line breaks, which are those of files: LF or CR LF.

    `str.splitlines` also splits at characters that JSON writes as they are, such as U+2028 and U+0085.

    >>> text_lines("one\r\ntwo\u2028still two\n")
    ['one', 'two\u2028still two']
    """
    *lines_of_text, rest = text.split("\n")
    return [line.removesuffix("\r") for line in (lines_of_text if rest == "" else [*lines_of_text, rest])]


def streamed_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a stream of UTF-8 as `text_lines` has them; httpx splits them as `str` does."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def column_count(columns: list[str]) -> str:
    """Return their number in words: "1 column", "3 columns"."""
    return f"{len(columns)} column{'' if len(columns) == 1 else 's'}"


def _read(
    path: Path, convert: Callable[[bytes, str, int], tuple[Line, bool]], max_bytes: int
) -> Iterator[tuple[int, Line]]:
    """Yield (line number, converted line).

    `convert` takes a line, the file's name and the line's number; it says whether the line has text.
    """
    number = size = with_text = 0
    with _open(path) as stream:
        while (raw := _line(stream, path.name, number + 1, max_bytes=max_bytes)) is not None:
            number += 1
            size += len(raw) + 1
            if size > max_bytes + 1:  # the last line may lack its line break
                problem = f"the file is too long, expected at most {max_bytes:,} bytes, decompressed"
                raise BadFormat(problem, file=path.name, line=number)
            if number == 1:
                _refuse_other_files(raw, path.name, is_all=b"\r" in raw and _is_at_end(stream))
            line, has_text = convert(raw, path.name, number)
            del raw
            if not has_text:
                continue
            for blank in range(with_text + 1, number):
                yield blank, line[:0]
            with_text = number
            yield number, line
            del line  # it may be long, and is gone when the next one is read
    if not with_text:
        raise BadFormat(
            "the file is empty, expected at least one line of text", file=path.name, line=max(number, 1)
        )


def refuse_escaped_nul(text: str | bytes) -> None:
    r"""Raise `BadFormat`, without a place, for JSON with the escape `\u0000`: databases store no NUL."""
    if isinstance(text, bytes):
        if b"\\u0000" in text:
            refuse_escaped_nul(text.decode("utf-8"))
    elif "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise BadFormat(_NUL)


def _open(path: Path) -> BufferedReader:
    try:
        plain = path.open("rb")
    except OSError as error:
        raise BadFormat(
            f"cannot be opened, expected a readable file ({error.strerror})", file=path.name
        ) from error
    is_gzip = plain.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    if not is_gzip:
        plain.seek(0)
        return plain
    plain.close()
    return cast("BufferedReader", gzip.open(path, "rb"))


def _line(stream: BufferedReader, file: str, number: int, *, max_bytes: int) -> bytes | None:
    """Return the next line without its line break; None at the end of the file."""
    longest = min(MAX_LINE_BYTES, max_bytes)
    try:
        raw = stream.readline(longest + 2)
    except EOFError as error:
        raise BadFormat(
            "the gzip data is truncated, expected its end marker", file=file, line=number
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        problem = f"the gzip data is damaged ({error}), expected a whole gzip file"
        raise BadFormat(problem, file=file, line=number) from error
    if not raw:
        return None
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(raw) > longest:
        problem = f"the line is too long, expected at most {longest:,} bytes"
        raise BadFormat(problem, file=file, line=number)
    return raw


def _refuse_other_files(raw: bytes, file: str, *, is_all: bool) -> None:
    """Raise `BadFormat` that names what the file is, by its first line, where that is no line of UTF-8."""
    problem = next((problem for place, mark, problem in _OTHERS if raw.startswith(mark, place)), "")
    if raw.startswith(_UTF_16) or _is_utf_16(raw):
        problem = f"the file is in UTF-16, as PowerShell writes it: {_SAVE}, expected UTF-8 text"
    elif not problem and is_all and b"\r" in raw:
        problem = (
            "the lines end in a carriage return alone: save the file with line feeds, expected \\n or \\r\\n"
        )
    if problem:
        raise BadFormat(problem, file=file, line=1)


def _is_utf_16(raw: bytes) -> bool:
    """Return whether every second byte at the beginning is NUL, as in UTF-16 of Latin letters."""
    halves = raw[:64:2], raw[1:64:2]
    return len(raw) > 2 and any(not any(half) and all(other) for half, other in (halves, halves[::-1]))


def _is_at_end(stream: BufferedReader) -> bool:
    """Return whether nothing follows; what is damaged there, the next line tells."""
    with suppress(EOFError, gzip.BadGzipFile, zlib.error):
        return not stream.peek(1)
    return False


def _as_text(raw: bytes, file: str, number: int) -> tuple[str, bool]:
    """Return the text of a line, and whether it has any.

    Raises `BadFormat` for what is not UTF-8, and for a NUL.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line is not UTF-8"
        around = raw[max(0, error.start - 12) : error.start + 12].decode("cp1252", errors="ignore")
        if (quoted := " ".join(around.split())).isprintable():
            problem += f" (in Latin-1 or Windows-1252: {quoted}): {_SAVE}"
        problem += ", expected UTF-8 text"
        raise BadFormat(problem, file=file, line=number) from error
    if "\0" in text:
        raise BadFormat(_NUL, file=file, line=number)
    text = text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    return text, bool(text.strip())


def _as_bytes(raw: bytes, file: str, number: int) -> tuple[bytes, bool]:
    """Return the line as UTF-8, and whether it has text.

    Raises as `_as_text` does, without a text of all of a long line.
    """
    line = raw.removeprefix(_BYTE_ORDER_MARK.encode()) if number == 1 else raw
    if len(raw) <= _DECODED_AT_ONCE:
        return line, _as_text(raw, file, number)[1]
    decoder = getincrementaldecoder("utf-8")()
    portions = (line[place : place + _DECODED_AT_ONCE] for place in range(0, len(line), _DECODED_AT_ONCE))
    has_text = False
    try:
        for portion in portions:
            text = decoder.decode(portion)
            has_text = has_text or bool(text.strip())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return line, _as_text(raw, file, number)[1]  # which says where
    if b"\0" in line:
        raise BadFormat(_NUL, file=file, line=number)
    return line, has_text


def write_lines(path: Path, rows: Iterable[bytes]) -> None:
    """Write each row and a line feed.

    Gzip output has neither time nor name, so that equal rows make equal files.
    """
    with path.open("wb") as file:
        if path.suffix != ".gz":
            file.writelines(row + b"\n" for row in rows)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            zipped.writelines(row + b"\n" for row in rows)


class JsonObject(list[tuple[str, object]]):
    """A JSON dictionary as its list of pairs, so that repeated keys are kept."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A whole file, with its lines numbered from 1."""

    file: str
    lines: list[tuple[int, str]]
    shape: str
    """The expected content, in words."""

    @property
    def is_json(self) -> bool:
        return next(text for _, text in self.lines if text.strip()).lstrip().startswith("{")

    def columns(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, columns between tabs) of each line that is not blank."""
        return ((number, text.split("\t")) for number, text in self.lines if text.strip())

    def pairs(self) -> list[tuple[str, object, int]]:
        """Return (key, value, line) of a JSON dictionary in the file's order, repeated keys included.

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
        """Return the JSON value of the file.

        Raises `BadFormat` where there is none that a database can store.
        """
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
        """Return each pair with the line of its key; the n-th use of a key is on the n-th such line."""
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
        """Refuse escapes that make text which no database stores."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error("half a surrogate pair, expected whole characters", line) from error
        if "\0" in text:
            raise self.error("a NUL character, expected text", line)

    def error(self, problem: str, line: int) -> BadFormat:
        return BadFormat(problem, file=self.file, line=line)


def read_text_file(path: Path, *, shape: str) -> TextFile:
    """Return the whole file, of at most MAX_TEXT_BYTES. Raises `BadFormat` as `reading.lines` does."""
    return TextFile(path.name, list(lines(path, max_bytes=MAX_TEXT_BYTES)), shape)


def _keys(text: str) -> Iterator[str]:
    for match in _KEY.finditer(text):
        try:
            yield json.loads(match[1])
        except ValueError:
            continue


def _line_of_error(text: str) -> int:
    """Return the line where JSON goes wrong; 1 where only msgspec refuses it."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (RecursionError, ValueError):
        return 1
    return 1
