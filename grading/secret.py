"""A value that nobody may read: a key, a password."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from grading.errors import BadSecret

MASK = "[secret]"
SHORTEST = 4
"""Characters. What is shorter is not redacted: half of every text would go with it."""
_ESCAPES = "%\\&+"
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_SHORTEST_PART = 8
"""Characters of a piece of base64 that is taken for a part of the secret."""


@dataclass(frozen=True, slots=True)
class Secret:
    r"""A secret without the blanks around it, which files and copying leave there. It never shows itself.

    >>> key = Secret(" sk-0123456789\n", "RUBRIC_OPENAI_API_KEY")
    >>> print(key, repr(key), key.value == "sk-0123456789")
    [secret] Secret(RUBRIC_OPENAI_API_KEY) True
    """

    value: str = field(default="", repr=False)
    name: str = field(default="the key", compare=False)
    """The name of the setting that it is from, for messages."""
    is_sent_in_header: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        """Raise BadSecret, which names the setting and never the value."""
        object.__setattr__(self, "value", self.value.strip())
        if any(unicodedata.category(character) in {"Cc", "Cs"} for character in self.value):
            raise BadSecret(
                f"{self.name} has a line end or another control character in it: give it on one line"
            )
        if self.is_sent_in_header and not self.value.isascii():
            raise BadSecret(
                f"{self.name} has a character outside ASCII, which no HTTP header can carry: copy it again, "
                "without typographic quotes or dashes"
            )

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Secret({self.name})"

    def __str__(self) -> str:
        return MASK if self.value else ""


def redacted(text: str, values: Iterable[str]) -> str:
    r"""Return `text` without these secrets, in whatever spelling they stand in it.

    >>> redacted("Illegal header value b'Bearer s3cr\'et!'", ["s3cr'et!"])
    "Illegal header value b'Bearer [secret]'"
    """
    is_escaped = any(mark in text for mark in _ESCAPES)
    for value in map(str.strip, values):
        if len(value) < SHORTEST:
            continue
        text = text.replace(value, MASK)
        if is_escaped:
            text = _escaped(value).sub(MASK, text)
        for written in _in_base64(value):
            text = text.replace(written, MASK)
    return text


@lru_cache(maxsize=128)
def _escaped(value: str) -> re.Pattern[str]:
    """Return the value with any of its characters escaped, once or several times.

    Escapes are those of Python's repr, of JSON, of URLs and of HTML.
    """
    begins = re.escape(f"{value[0]}%\\&+")  # so that other places cost next to nothing
    return re.compile(
        f"(?=[{begins}])"
        + "".join(f"(?:{'|'.join(_spellings(each))})" for each in re.findall(r"(?s)\\\\+|.", value))
    )


def _spellings(part: str) -> Iterator[str]:
    """Yield patterns of one character, or of several backslashes: possessive, so that no text takes long."""
    if part.startswith("\\"):
        yield rf"\\{{{len(part)},{8 * len(part)}}}+"
        yield from (f"(?:{spelling}){{{len(part)}}}" for spelling in _codes("\\"))
        return
    yield rf"\\{{0,8}}+{re.escape(part)}"
    yield from _codes(part)
    if part in _ENTITIES:
        yield rf"\\{{0,8}}+&(?:amp;){{0,4}}{_ENTITIES[part]};"
    if part == " ":
        yield r"\+"


def _codes(character: str) -> Iterator[str]:
    code, raw, units = ord(character), _bytes(character), character.encode("utf-16-be", "surrogatepass")
    yield "".join(f"%(?:25){{0,4}}(?i:{byte:02x})" for byte in raw)
    yield "".join(rf"\\{{1,8}}+(?i:x{byte:02x})" for byte in raw)
    yield "".join(rf"\\{{1,8}}+(?i:u{units[at]:02x}{units[at + 1]:02x})" for at in range(0, len(units), 2))
    yield rf"\\{{1,8}}+(?i:x{code:02x}|U{code:08x})"
    yield rf"\\{{0,8}}+&(?:amp;){{0,4}}#(?:0*{code}|(?i:x0*{code:x}));"


@lru_cache(maxsize=128)
def _in_base64(value: str) -> tuple[str, ...]:
    """Return the value in base64, alone and within a longer text, such as `user:password`."""
    raw = _bytes(value)
    written = [base64.b64encode(raw).decode()]
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        first, last = (0, 2, 3)[before], len(whole) - ((before + len(raw)) % 3 > 0)
        written.append(whole[first:last])
    long = {each for each in written if len(each) >= _SHORTEST_PART}
    return tuple(sorted(long | {each.translate(_URL_SAFE) for each in long}, key=len, reverse=True))


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


_URL_SAFE = str.maketrans("+/", "-_")
