"""A causal model over a batch of prompts, whose common beginning is computed once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grading.graders.first_step import Tokens
from grading.graders.hf_batches import padded
from grading.graders.hf_model import LoadedModel

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


WORTHWHILE = 16
"""A shorter common beginning is not worth a pass of its own."""


def common_start(rows: Sequence[list[int]]) -> int:
    """How many tokens all rows begin with; at least one token of each is left over, and 0 is too few."""
    if len(rows) < 2:
        return 0
    first, last = min(rows), max(rows)  # what these two share, all that lie between share
    most = min(map(len, rows)) - 1
    shared = next((place for place in range(most) if first[place] != last[place]), most)
    return shared if shared >= WORTHWHILE else 0


class Continuation:
    """The steps after the prompts (`first_step.Steps`)."""

    def __init__(self, loaded: LoadedModel, rows: Sequence[list[int]]) -> None:
        self._model, self._device = loaded.model, loaded.device
        self._takes = frozenset(inspect.signature(loaded.model.forward).parameters)
        self._n = len(rows)
        shared = common_start(rows)
        cache = self._read_shared(rows[0][:shared]) if shared else with_room(self._model.config)
        ids, mask = padded([row[shared:] for row in rows], loaded.pad, self._device, left=True)
        self._mask = _widened(mask, shared, left=True)
        self._first, self._cache = self._step(ids, self._mask, cache, last_only=True)

    @property
    def rows(self) -> int:
        return self._n

    def after(self, prefixes: Sequence[Tokens]) -> dict[Tokens, torch.Tensor]:
        """A longer prefix is read together with its own beginnings."""
        by_prefix: dict[Tokens, torch.Tensor] = {(): self._first[:, -1].float().log_softmax(dim=1)}
        for prefix in sorted(prefixes, key=len, reverse=True):
            if prefix not in by_prefix:
                steps = self._branch([list(prefix)] * self._n).float().log_softmax(dim=2)
                by_prefix |= {prefix[: place + 1]: steps[:, place] for place in range(len(prefix))}
        return by_prefix

    def best_along(self, tokens: list[list[int]]) -> list[list[int]]:
        best: list[list[int]] = self._branch(tokens).argmax(dim=2).tolist()
        return best

    def _read_shared(self, start: list[int]) -> Any:
        """The cache of the common beginning, once for each row."""
        import torch

        ids = torch.tensor([start], device=self._device)
        _, cache = self._step(ids, torch.ones_like(ids), with_room(self._model.config), last_only=True)
        cache.batch_repeat_interleave(self._n)
        return cache

    def _branch(self, tokens: list[list[int]]) -> torch.Tensor:
        """Logits after each of the tokens; the cache is afterwards as before."""
        import torch
        from transformers.cache_utils import DynamicLayer

        ids = torch.tensor(tokens, device=self._device)
        can_crop = all(type(layer) is DynamicLayer for layer in self._cache.layers)
        cache = self._cache if can_crop else copy.deepcopy(self._cache)
        logits, _ = self._step(ids, _widened(self._mask, ids.shape[1]), cache)
        if can_crop:
            cache.crop(-ids.shape[1])
        return logits

    def _step(
        self, ids: torch.Tensor, mask: torch.Tensor, cache: Any, *, last_only: bool = False
    ) -> tuple[torch.Tensor, Any]:
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        extra: dict[str, Any] = {"position_ids": positions, "logits_to_keep": int(last_only)}
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            **{name: value for name, value in extra.items() if name in self._takes},
        )
        return output.logits, output.past_key_values


def _widened(mask: torch.Tensor, by: int, *, left: bool = False) -> torch.Tensor:
    """The mask extended by this many tokens, after it or before."""
    import torch

    ones = mask.new_ones((mask.shape[0], by))
    return torch.cat([ones, mask] if left else [mask, ones], dim=1)
