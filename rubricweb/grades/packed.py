"""Keys and masks of many cells as short texts, which rows, archives and every database can hold."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

KEY = np.dtype("<i8")


def pack_keys(keys: Sequence[int]) -> str:
    """Primary keys in their order. Those that follow each other take next to nothing.

    >>> unpack_keys(pack_keys([7, 8, 9, 4])).tolist()
    [7, 8, 9, 4]
    """
    return _text(np.diff(np.asarray(keys, dtype=KEY), prepend=KEY.type(0)).tobytes())


def unpack_keys(text: str) -> NDArray[np.int64]:
    return np.cumsum(np.frombuffer(_bytes(text), dtype=KEY), dtype=np.int64)


def pack_mask(mask: NDArray[np.bool_]) -> str:
    """One bit a cell, row by row; empty where all are true."""
    return "" if mask.all() else _text(np.packbits(mask).tobytes())


def unpack_mask(text: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """
    >>> unpack_mask(pack_mask(np.array([[True, False]])), (1, 2)).tolist()
    [[True, False]]
    """
    if not text:
        return np.ones(shape, dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(_bytes(text), dtype=np.uint8), count=shape[0] * shape[1])
    return bits.reshape(shape).astype(np.bool_)


def _text(content: bytes) -> str:
    return b64encode(zlib.compress(content)).decode("ascii")


def _bytes(text: str) -> bytes:
    return zlib.decompress(b64decode(text))
