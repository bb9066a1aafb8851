"""Room for a few tokens more behind the keys and values of what a model has read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROOM = 16
"""Tokens: replies that rate have fewer."""


def with_room(config: Any) -> Any:
    """Return an empty cache whose layers have room, or None for a model that does not keep every token."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    cache = DynamicCache(config=config)
    if not cache.layers or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    for layer in cache.layers:
        room = _Room(layer)
        layer.update, layer.batch_repeat_interleave = room.update, room.repeat
    return cache


class _Room:
    """Writes what follows behind what a `DynamicLayer` has, which by itself copies all of it each time."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._rooms: list[torch.Tensor] = []
        """Of keys and values, which are their beginnings."""

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add keys and values, shape (rows, heads, tokens, width), and return all."""
        layer = self._layer
        if not layer.is_initialized:
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys[..., :0, :], values[..., :0, :]
        length, wanted = layer.keys.shape[-2], layer.keys.shape[-2] + keys.shape[-2]
        if not self._is_enough(wanted, len(keys)):
            self._rooms = [_moved(known, wanted + ROOM, len(keys)) for known in (layer.keys, layer.values)]
        for room, states in zip(self._rooms, (keys, values), strict=True):
            room[..., length:wanted, :] = states
        layer.keys, layer.values = (room[..., :wanted, :] for room in self._rooms)
        return layer.keys, layer.values

    def repeat(self, repeats: int) -> None:
        """Show the only row so many times; `update` copies it to where each has its own."""
        layer = self._layer
        layer.keys, layer.values = (
            states.expand(repeats, -1, -1, -1) for states in (layer.keys, layer.values)
        )

    def _is_enough(self, tokens: int, rows: int) -> bool:
        if not self._rooms or self._rooms[0].data_ptr() != self._layer.keys.data_ptr():
            return False
        return len(self._rooms[0]) == rows and self._rooms[0].shape[-2] >= tokens


def _moved(known: torch.Tensor, tokens: int, rows: int) -> torch.Tensor:
    room = known.new_empty((rows, known.shape[1], tokens, known.shape[3]))
    room[..., : known.shape[2], :] = known
    return room
