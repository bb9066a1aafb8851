"""Linear layers in int8 on a processor: whole numbers of 8 bits for weights and states, float32 for all else.

Each output has a scale of its own for the weights, each token one for its states, found when it comes by.
With one scale for a whole batch, as in torch's dynamic quantisation, a small Llama lost nearly every rating:
its states have a few very large values.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from grading.errors import GraderUnavailable

if TYPE_CHECKING:
    import torch

    Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

logger = logging.getLogger(__name__)

LARGEST = 127
INSTRUCTIONS = ("avx512_vnni", "avx_vnni", "amx_int8")
"""Of processors that multiply int8 several times as fast as float32; others are not known to sum without
overflow."""


def quantize(model: Any) -> None:
    """Give the linear layers that read prompts int8 weights, in place; the head stays as it is.

    An encoder-decoder's decoder stays as it is too. Raises GraderUnavailable for a model without such layers.
    """
    import torch

    layers = list(_layers(model))
    if not layers:
        raise GraderUnavailable(f"{type(model).__name__} has no linear layers that int8 could compute")
    multiply = _product()
    latest = _Latest()
    with torch.no_grad():
        for layer in layers:
            _replace(layer, latest, multiply)


def _layers(model: Any) -> Iterator[Any]:
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    body = model.get_encoder() if model.config.is_encoder_decoder else model.base_model
    head = model.get_output_embeddings()
    return (module for module in body.modules() if type(module) in {Linear, Conv1D} and module is not head)


def _replace(layer: Any, latest: _Latest, multiply: Product) -> None:
    import torch

    weight = layer.weight.detach()
    weight = weight.t() if isinstance(layer, torch.nn.Linear) else weight  # (inputs, outputs)
    whole, scale = _whole(weight, dim=0)
    whole, bias = whole.contiguous(), layer.bias

    def forward(states: torch.Tensor) -> torch.Tensor:
        given, scales = latest.whole(states)
        # To multiply whole numbers by others takes ten times as long as to convert them first.
        output = multiply(given, whole).float().mul_(scales).mul_(scale)
        output = output if bias is None else output.add_(bias)
        return output.view(*states.shape[:-1], -1)

    layer.forward = forward
    # Code around it still asks for the type of the weight.
    layer.weight = torch.nn.Parameter(torch.empty(0, dtype=weight.dtype), requires_grad=False)


class _Latest:
    """The states that were converted last: several layers read the same ones, one after the other."""

    def __init__(self) -> None:
        self._states: Callable[[], Any] = lambda: None
        self._converted: Any = None

    def whole(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Int8 (tokens, inputs), and the scale of each token."""
        if self._states() is not states:
            self._converted = _whole(states.reshape(-1, states.shape[-1]), dim=1)
            self._states = weakref.ref(states)
        converted: tuple[torch.Tensor, torch.Tensor] = self._converted
        return converted


def _whole(values: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Int8 values, and the scales along `dim` by which they are to be multiplied."""
    import torch

    scale = values.abs().amax(dim, keepdim=True).div_(LARGEST).clamp_(min=torch.finfo(torch.float32).tiny)
    return (values / scale).round_().to(torch.int8), scale


def _product() -> Product:
    """The product of int8 matrices; without the instructions by float32: as exact, and slow."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    if any(capabilities.get(name) for name in INSTRUCTIONS):
        product: Product = torch._int_mm
        return product
    logger.warning("this processor has no int8 products (%s): int8 is slow here", ", ".join(INSTRUCTIONS))
    return _slow_product


def _slow_product(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return first.float() @ second.float()
