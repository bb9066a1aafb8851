"""Boards of collections in cold storage, kept as files beside the grades.

Until its grades are brought back nothing changes that such a board is computed from, so that it is computed
once for all processes instead of once in each: with 10,000 topics that takes seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, get_type_hints

import msgspec
import numpy as np
from django.db.models import Model
from msgspec.structs import asdict

from rubricweb import __version__
from rubricweb.grades import visibility
from rubricweb.grades.cold import folder_of
from rubricweb.leaderboards.board import Board, BoardSpec

LAYOUT = 1
"""Raised where a board is computed in another way, so that earlier files are not read."""
MOST = 50
"""The most files of a collection; those that were written first go."""
OF_ROWS = {"spec", "calibration"}
"""What has rows of the database, and is not kept."""
KeptBoard = msgspec.defstruct(
    "KeptBoard", [(name, kind) for name, kind in get_type_hints(Board).items() if name not in OF_ROWS]
)


def kept(spec: BoardSpec, compute: Callable[[BoardSpec], Board]) -> Board:
    """Return what `compute` returns, which of a cold collection comes from a file once there is one.

    A board from a file has no `calibration`.
    """
    if spec.collection.cold_at is None:
        return compute(spec)
    file = folder_of(spec.collection.pk) / "boards" / _name(spec)
    with suppress(OSError, msgspec.MsgspecError):
        return Board(spec=spec, **asdict(msgspec.msgpack.decode(file.read_bytes(), type=KeptBoard)))
    computed = compute(spec)
    with suppress(OSError):  # the disk is full, or the grades are brought back meanwhile
        _write(file, computed)
    return computed


def _write(file: Path, computed: Board) -> None:
    values = KeptBoard(*(getattr(computed, name) for name in KeptBoard.__struct_fields__))
    file.parent.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, prefix=".", delete=False) as new:
        new.write(msgspec.msgpack.encode(values))
    Path(new.name).replace(file)
    for old in sorted(file.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST]:
        old.unlink()


def _name(spec: BoardSpec) -> str:
    """Return the name of the file: a digest of all that the board depends on."""
    collection = spec.collection
    state = [__version__, LAYOUT, collection.cold_at, collection.stamp]
    what = [state, visibility.what_reader_lacks(collection), spec]
    return hashlib.sha256(msgspec.json.encode(_plain(what), order="deterministic")).hexdigest()


def _plain(value: object) -> Any:  # Any: what msgspec encodes
    return msgspec.to_builtins(value, enc_hook=_of_other, order="deterministic")


def _of_other(value: object) -> object:
    if isinstance(value, Model):
        return [value._meta.label, value.pk]
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value)} in a board's spec")
