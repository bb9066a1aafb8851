"""Checksummed, compressed arrays bound to a key."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]  # Any: numbers of each kind

DIGEST_BYTES = 16
LENGTH_BYTES = 4
SMALL, PLAIN = b"z", b"-"
"""First byte of compressed and of plain content."""
LEVEL = 1
"""zlib's fastest level. Ratings shrink to a third, and hardly further at higher levels."""
WORTHWHILE = 2
"""Least compression ratio; less compressible content stays plain, since reading it would be slower."""


class Damaged(ValueError):
    """Raised for bytes that are damaged, or packed for something else."""


def pack(key: str, arrays: Arrays) -> bytes:
    """Return the arrays, of any shapes, as bytes that only the same `key` opens."""
    layout = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    header = json.dumps(layout).encode()
    parts = [len(header).to_bytes(LENGTH_BYTES, "big"), header]
    plain = b"".join(parts + [array.tobytes() for array in arrays.values()])
    small = zlib.compress(plain, LEVEL)
    content = SMALL + small if WORTHWHILE * len(small) < len(plain) else PLAIN + plain
    return _digest(key, content) + content


def unpack(key: str, packed: bytes | memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays by name, read-only. Raise Damaged unless `pack` made these bytes for `key`."""
    view = memoryview(packed)  # the databases' drivers have types of their own
    digest, content = bytes(view[:DIGEST_BYTES]), view[DIGEST_BYTES:]
    if digest != _digest(key, content):
        raise Damaged(key)
    plain = zlib.decompress(content[1:]) if content[:1] == SMALL else bytes(content[1:])
    begin = LENGTH_BYTES + int.from_bytes(plain[:LENGTH_BYTES], "big")
    arrays = {}
    for name, kind, shape in json.loads(plain[LENGTH_BYTES:begin]):
        size = math.prod(shape)
        arrays[name] = np.frombuffer(plain, kind, size, begin).reshape(shape)
        begin += arrays[name].nbytes
    return arrays


def of_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return an array that `pack` takes; `texts` reads it."""
    return np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)


def texts(array: NDArray[Any]) -> tuple[str, ...]:
    """Return the texts that `of_texts` made an array of.

    >>> texts(of_texts(["q1", "größer"]))
    ('q1', 'größer')
    """
    return tuple(json.loads(array.tobytes()))


def _digest(key: str, content: bytes | memoryview) -> bytes:
    digest = blake2b(key.encode(), digest_size=DIGEST_BYTES)
    digest.update(content)
    return digest.digest()
