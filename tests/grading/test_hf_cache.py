"""The cache with room beside the library's own: the same keys and values, and no copy a step."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from transformers.cache_utils import DynamicLayer  # noqa: E402

from grading.graders.hf_causal import ROOM, with_room  # noqa: E402

pytestmark = pytest.mark.models

HEADS, WIDTH = 2, 4


def layer_with_room() -> DynamicLayer:
    return with_room(transformers.GPT2Config(n_layer=1)).layers[0]


def states(rows: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, HEADS, tokens, WIDTH), torch.randn(rows, HEADS, tokens, WIDTH)


def both_update(layers: tuple[DynamicLayer, DynamicLayer], rows: int, tokens: int) -> None:
    more = states(rows, tokens)
    ours, theirs = (layer.update(*more) for layer in layers)
    assert torch.equal(ours[0], theirs[0])
    assert torch.equal(ours[1], theirs[1])


def test_it_holds_what_the_librarys_own_holds() -> None:
    layers = layer_with_room(), DynamicLayer()
    both_update(layers, 1, 20)
    for layer in layers:
        layer.batch_repeat_interleave(3)
    for tokens in (7, 1, ROOM, 2):
        both_update(layers, 3, tokens)
        assert layers[0].get_seq_length() == layers[1].get_seq_length()
    for tokens in (3, 5, 2):  # branches: read, and gone back
        both_update(layers, 3, tokens)
        for layer in layers:
            layer.crop(-tokens)
    order = torch.tensor([2, 0, 1])
    for layer in layers:
        layer.reorder_cache(order)
    both_update(layers, 3, 1)


def test_a_few_tokens_more_move_nothing() -> None:
    layer = layer_with_room()
    layer.update(*states(2, 20))
    before = layer.keys.data_ptr()
    layer.update(*states(2, ROOM))
    assert layer.keys.data_ptr() == before
    layer.update(*states(2, 1))
    assert layer.keys.data_ptr() != before
