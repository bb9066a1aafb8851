"""The layout of an archive: a zip with a signed manifest, JSON lines for each table, and uploaded files.

`manifest.json` has the version of this layout, the newest migration of each app, and for each table its
columns, rows, bytes and SHA-256. A line of a table is the JSON list of one row's columns. Its number, from 1,
is its key: foreign keys hold these numbers. The same collection gives the same bytes on every database.

The manifest has a digest of every file and is signed with a key of the server. An archive is trusted as a
dump of the database is: whoever can make one decides what becomes rows. So the browser restores only what
this server signed, or one whose key an operator lists in RUBRIC_ARCHIVE_KEYS.

An archive that lacks a table or a column is read: its rows get the column's default. A change that defaults
cannot bridge needs another `VERSION`, and a step in `reading` that brings older archives up to it. Those of
version 1 are not signed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

TAG = b"rubricweb.archives.key.1"
"""What the key is for: no other use of RUBRIC_SECRET_KEY makes the same."""

VERSION = 2
FORMAT = "rubricweb-archive"
MANIFEST = "manifest.json"
SIGNATURE = "signature.txt"
LARGEST_PLAIN_FLOAT = 1e16
"""From here on Python writes an exponent, where PostgreSQL's JSON has digits only."""


def own_key() -> str:
    """Return the key of this server, in hexadecimal: with it one signs in its name, so that it is a secret.

    It follows from RUBRIC_SECRET_KEY, which does not follow from it.
    """
    return hmac.new(settings.SECRET_KEY.encode(), TAG, hashlib.sha256).hexdigest()


def signature(manifest: bytes, key: str = "") -> str:
    """Return the HMAC-SHA256 of a manifest in hexadecimal, with the key of this server if none is given."""
    return hmac.new(bytes.fromhex(key or own_key()), manifest, hashlib.sha256).hexdigest()


def is_own(manifest: bytes, signed: str) -> bool:
    """Return whether the manifest was signed with the key of this server."""
    return _is_by(own_key(), manifest, signed)


def is_known(manifest: bytes, signed: str) -> bool:
    """Return whether it was signed with a key that an operator lists."""
    return any(_is_by(key, manifest, signed) for key in settings.ARCHIVE_KEYS)


def _is_by(key: str, manifest: bytes, signed: str) -> bool:
    return hmac.compare_digest(signature(manifest, key).encode(), signed.encode())


@dataclass(frozen=True, slots=True)
class Part:
    """One table of an archive, or one uploaded file (without columns and rows)."""

    name: str
    """Its path in the zip."""
    bytes: int
    sha256: str
    columns: tuple[str, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    collection: str
    """The slug."""
    tables: Mapping[str, Part]
    """Keyed by the label of the model, such as `corpus.Topic`."""
    files: Mapping[str, Part] = field(default_factory=dict)
    """Keyed by label and number of the row to which the file belongs: `imports.ImportFile/3`."""
    migrations: Mapping[str, str] = field(default_factory=dict)
    """The newest migration of each app, to identify the version that wrote an archive."""


def table_path(label: str) -> str:
    return f"tables/{label}.jsonl"


def file_path(label: str, number: int) -> str:
    return f"files/{label}/{number}"


def line_of(values: list[Any]) -> str:
    r"""Return one row as JSON, the same for the same values on every database.

    >>> line_of([1, {"b": 1e20, "a": "\u00fc"}, None])
    '[1,{"a":"\\u00fc","b":100000000000000000000},null]\n'
    """
    text = _dumped(values)
    if "e+" in text or "-0.0" in text:
        text = _dumped(_plain_numbers(json.loads(text)))
    return f"{text}\n"


def _dumped(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=_as_json)


def _as_json(value: object) -> str:
    """Return dates in UTC, and UUIDs and decimals as their own text."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def _plain_numbers(value: Any) -> Any:
    """Return the value as PostgreSQL gives JSON back: large floats as whole numbers, and no negative zero."""
    if isinstance(value, dict):
        return {key: _plain_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    if isinstance(value, float) and abs(value) >= LARGEST_PLAIN_FLOAT and value - value == 0:
        return int(Decimal(repr(value)))
    return value + 0.0 if isinstance(value, float) else value
