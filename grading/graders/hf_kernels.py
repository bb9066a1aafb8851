"""T5 and Llama models that score first steps faster on a processor, with the same results up to rounding.

T5: 1. The encoder as plain operations: the position bias and the mask are one tensor for all layers, the
   activation is one fused operation, and so are sums with the product before them.
2. Attention over the encoder's output without a cache: few queries look at many tokens, so the key and value
   projections are applied to the queries and to the mixed states, not to every token.
3. On a CPU, weights in the layout that oneDNN multiplies fastest, and in bfloat16 attention as two plain
   products, which oneDNN computes faster than torch's fused operation.

Llama: 1. Positions are turned in place; keys and values of a group of heads are not copied for each head.
2. Norms and activations overwrite tensors that are not read again.
3. The weights have the layout that oneDNN multiplies fastest.
4. In bfloat16 a few tokens look at all before them by two plain products, where torch's fused operation takes
   three to seven times as long.

Linear layers in int8: weights and states in 8 bits, float32 for all else. Each output has a scale of its own
for the weights, each token one for its states, computed at run time. With one scale for a whole batch, as in
torch's dynamic quantisation, a small Llama lost nearly every rating: its states have a few very large values.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from grading.errors import GraderUnavailable

if TYPE_CHECKING:
    import torch

    Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    Linear = Callable[[torch.Tensor], torch.Tensor]


logger = logging.getLogger(__name__)

LARGEST = 127
INSTRUCTIONS = ("avx512_vnni", "avx_vnni", "amx_int8")
"""Instructions that multiply int8 several times as fast as float32; others may overflow in sums."""
FEW_QUERIES = 8


def quantize(model: Any) -> None:
    """Give the linear layers that read prompts int8 weights, in place; the head stays as it is.

    An encoder-decoder's decoder stays as it is too. Raises GraderUnavailable for a model without such layers.
    """
    import torch
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    body = model.get_encoder() if model.config.is_encoder_decoder else model.base_model
    head = model.get_output_embeddings()
    layers = [module for module in body.modules() if type(module) in {Linear, Conv1D} and module is not head]
    if not layers:
        raise GraderUnavailable(f"{type(model).__name__} has no linear layers that int8 could compute")
    multiply = _product()
    latest = _Latest()
    with torch.no_grad():
        for layer in layers:
            _replace(layer, latest, multiply)


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
        """Return the states as int8 (tokens, inputs), and the scale of each token."""
        if self._states() is not states:
            self._converted = _whole(states.reshape(-1, states.shape[-1]), dim=1)
            self._states = weakref.ref(states)
        converted: tuple[torch.Tensor, torch.Tensor] = self._converted
        return converted


def _whole(values: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return int8 values, and the scales along `dim` by which they are to be multiplied."""
    import torch

    scale = values.abs().amax(dim, keepdim=True).div_(LARGEST).clamp_(min=torch.finfo(torch.float32).tiny)
    return (values / scale).round_().to(torch.int8), scale


def _product() -> Product:
    """Return the product of int8 matrices; without the instructions by float32: as exact, and slow."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    if any(capabilities.get(name) for name in INSTRUCTIONS):
        product: Product = torch._int_mm
        return product
    logger.warning("this processor has no int8 products (%s): int8 is slow here", ", ".join(INSTRUCTIONS))
    return _slow_product


def _slow_product(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return first.float() @ second.float()


def quicken_t5(model: Any) -> bool:
    """Prepare a T5 in place, once; False for other models, which stay as they are.

    So does a T5 in float16, which the library guards against overflow.
    """
    import torch
    from torch import nn
    from transformers.activations import NewGELUActivation
    from transformers.models.t5 import modeling_t5 as t5

    dtypes = {torch.float32, torch.bfloat16}
    if not isinstance(model, t5.T5ForConditionalGeneration) or model.dtype not in dtypes:
        return False
    if getattr(model, "is_quick", False):
        return True
    module: Any
    for module in model.modules():
        if isinstance(getattr(module, "act", None), NewGELUActivation):
            module.act = nn.GELU(approximate="tanh")
        if isinstance(module, t5.T5LayerCrossAttention):
            attention: Any = module.EncDecAttention
            attention.forward = _few_queries(attention)
    if model.device.type == "cpu" and can_pack(model.dtype):
        for module in model.encoder.modules():
            if type(module) is nn.Linear and module.weight.numel():  # not in int8
                pack(module)
    model.__dict__["is_quick"] = True
    return True


def encode(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the encoder's last states, of a model that was quickened."""
    import torch

    encoder = model.encoder
    bias = encoder.block[0].layer[0].SelfAttention.compute_bias(ids.shape[1], ids.shape[1], ids.device)
    if not bool(mask.all()):
        bias = bias.masked_fill(mask[:, None, None, :] == 0, torch.finfo(bias.dtype).min)
    states = encoder.embed_tokens(ids)
    for block in encoder.block:
        own, feed = block.layer
        states = _attend(own.SelfAttention, normed(own.layer_norm, states), bias, states)
        states = _feed(feed.DenseReluDense, normed(feed.layer_norm, states), states)
    return normed(encoder.final_layer_norm, states)


def normed(norm: Any, states: torch.Tensor) -> torch.Tensor:
    """Return the states by their root mean square, with sums in float32 as T5 has them."""
    import torch

    if not _on_processor(states):
        return torch.nn.functional.rms_norm(states, states.shape[-1:], norm.weight, norm.variance_epsilon)
    length = torch.linalg.vector_norm(states, dim=-1, keepdim=True, dtype=torch.float32)
    scale = (length.square_().div_(states.shape[-1])).add_(norm.variance_epsilon).rsqrt_()
    return torch.mul(states, scale, out=torch.empty_like(states)).mul_(norm.weight)


def _attend(attention: Any, states: torch.Tensor, bias: torch.Tensor, onto: torch.Tensor) -> torch.Tensor:
    shape = (*states.shape[:2], attention.n_heads, attention.key_value_proj_dim)
    query, key, value = (
        part(states).view(shape).transpose(1, 2) for part in (attention.q, attention.k, attention.v)
    )
    mixed = _mixed(query, key, value, bias)
    return added(attention.o, mixed.transpose(1, 2).flatten(2), onto)


def _mixed(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Mix (rows, heads, tokens, width); the bias is (rows or 1, heads, tokens, tokens)."""
    import torch

    if _on_processor(query) and query.dtype == torch.bfloat16:
        return torch.matmul((torch.matmul(query, key.mT).add_(bias)).softmax(-1), value)
    fused = torch.nn.functional.scaled_dot_product_attention
    return fused(query, key, value, attn_mask=bias, scale=1.0)


def _on_processor(tensor: torch.Tensor) -> bool:
    return bool(tensor.device.type == "cpu")


def _feed(feed: Any, states: torch.Tensor, onto: torch.Tensor) -> torch.Tensor:
    from torch.nn import GELU
    from transformers.models.t5.modeling_t5 import T5DenseGatedActDense

    if not isinstance(feed, T5DenseGatedActDense) or not isinstance(feed.act, GELU):
        return onto.add_(feed(states))
    fused = getattr(feed.wi_0, "gelu", None)
    gate = fused(states) if fused else feed.act(feed.wi_0(states))
    return added(feed.wo, multiplied(feed.wi_1, states, gate), onto)


def added(layer: Any, states: torch.Tensor, onto: torch.Tensor) -> torch.Tensor:
    """Return what a linear layer makes of the states, plus `onto`, which nobody may read afterwards."""
    fused = getattr(layer, "binary", None)
    total: torch.Tensor = fused(states, onto, "add") if fused else onto.add_(layer(states))
    return total


def multiplied(layer: Any, states: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Return what a linear layer makes of the states, times `by`, which nobody may read afterwards."""
    fused = getattr(layer, "binary", None)
    product: torch.Tensor = fused(states, by, "mul") if fused else by.mul_(layer(states))
    return product


def _few_queries(attention: Any) -> Callable[..., Any]:
    """Return its `forward`, which without a cache never projects the encoder's output.

    q (K h) = (q K) h and sum(a V h) = V sum(a h), where h are the states of all tokens.
    """
    usual = attention.forward

    def forward(
        hidden_states: torch.Tensor,
        mask: torch.Tensor | None = None,
        key_value_states: torch.Tensor | None = None,
        position_bias: torch.Tensor | None = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> Any:
        if past_key_values is not None or key_value_states is None:
            return usual(hidden_states, mask, key_value_states, position_bias, past_key_values, **kwargs)
        return _look(attention, hidden_states, mask, key_value_states), position_bias, None

    return forward


def _look(attention: Any, asking: torch.Tensor, mask: Any, states: torch.Tensor) -> torch.Tensor:
    import torch

    heads, width = attention.n_heads, attention.key_value_proj_dim
    rows, queries, _ = asking.shape
    keys, values = (part.weight.view(heads, width, -1) for part in (attention.k, attention.v))
    queried = attention.q(asking).view(rows, queries, heads, width)
    queried = torch.einsum("bqhc,hcd->bhqd", queried, keys)
    scores = torch.matmul(queried.flatten(1, 2), states.mT).view(rows, heads, queries, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    shares = scores.softmax(-1, dtype=torch.float32).to(states.dtype)
    mixed = torch.matmul(shares.flatten(1, 2), states).view(rows, heads, queries, -1)
    attended = torch.einsum("bhqd,hcd->bqhc", mixed, values)
    projected: torch.Tensor = attention.o(attended.flatten(2))
    return projected


def pack(layer: Any) -> None:
    """Pack a linear layer's weight for oneDNN; `gelu` applies that too, `binary` adds or multiplies."""
    import torch

    operation = torch.ops.mkldnn._linear_pointwise
    with torch.inference_mode(mode=False), torch.no_grad():
        packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().clone())
    layer.forward = lambda states: operation(states, packed, None, "none", [], "")
    layer.gelu = lambda states: operation(states, packed, None, "gelu", [], "tanh")
    layer.binary = lambda states, other, name: operation.binary(states, other, packed, None, name)
    layer.weight = torch.nn.Parameter(torch.empty(0, dtype=layer.weight.dtype), requires_grad=False)


def can_pack(dtype: torch.dtype) -> bool:
    """Return whether torch has these operations, which are made for its compiler and may change."""
    import torch

    layer: Any = torch.nn.Linear(4, 4, bias=False, dtype=dtype)
    try:
        pack(layer)
        layer.gelu(torch.zeros(1, 4, dtype=dtype))
        layer.binary(torch.zeros(1, 4, dtype=dtype), torch.zeros(1, 4, dtype=dtype), "mul")
    except (AttributeError, RuntimeError, TypeError) as error:
        logger.info("the weights stay as they are: %s", error)
        return False
    return True


def quicken_llama(model: Any) -> bool:
    """Prepare a Llama on a processor in place, once; False for other models, which stay as they are.

    On a GPU transformers' own kernels do the same.
    """
    import torch
    from transformers.models.llama import modeling_llama as llama

    if not isinstance(model, llama.LlamaForCausalLM) or model.config._attn_implementation != "sdpa":
        return False
    if model.device.type != "cpu" or model.dtype not in {torch.float32, torch.bfloat16}:
        return False
    if getattr(model, "is_quick", False):
        return True
    forwards: dict[type, Callable[..., Any]] = {
        llama.LlamaRMSNorm: normed,
        llama.LlamaMLP: _fed,
        llama.LlamaAttention: _attended,
    }
    can = can_pack(model.dtype)
    module: Any
    for module in model.model.modules():
        if type(module) in forwards:
            module.forward = partial(forwards[type(module)], module)
        elif can and type(module) is torch.nn.Linear and module.bias is None and module.weight.numel():
            pack(module)
    model.__dict__["is_quick"] = True
    return True


def _fed(mlp: Any, states: torch.Tensor) -> torch.Tensor:
    from torch.nn.functional import silu

    gate = mlp.gate_proj(states)
    gate = silu(gate, inplace=True) if mlp.config.hidden_act == "silu" else mlp.act_fn(gate)
    fed: torch.Tensor = mlp.down_proj(multiplied(mlp.up_proj, states, gate))
    return fed


def _attended(
    attention: Any,
    hidden_states: torch.Tensor,
    position_embeddings: tuple[torch.Tensor, torch.Tensor],
    attention_mask: torch.Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as `LlamaAttention.forward`, by whose argument names it is called."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as fused

    shape = (*hidden_states.shape[:2], -1, attention.head_dim)
    query, key, value = (
        part(hidden_states).view(shape).transpose(1, 2)
        for part in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    query, key = (_turned(states, *position_embeddings) for states in (query, key))
    if past_key_values is not None:
        key, value = past_key_values.update(key, value, attention.layer_idx)
    is_causal = attention_mask is None and query.shape[2] > 1
    if query.dtype == torch.bfloat16 and query.shape[2] <= FEW_QUERIES and not is_causal:
        mixed = _looked(query, key, value, attention_mask, attention.scaling)
    else:
        settings = {"scale": attention.scaling, "enable_gqa": attention.num_key_value_groups > 1}
        mixed = fused(query, key, value, attn_mask=attention_mask, is_causal=is_causal, **settings)
    return attention.o_proj(mixed.transpose(1, 2).flatten(2)), None


def _looked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, scaling: float
) -> torch.Tensor:
    """Mix the values (rows, heads of keys, tokens, width) for few queries (rows, heads, queries, width).

    The mask (rows, 1, queries, tokens) has the places that each query sees, or what is added to its scores.
    """
    import torch

    rows, heads, queries, width = query.shape
    shape = (rows, key.shape[1], heads // key.shape[1], queries, -1)
    grouped = query.reshape(rows, key.shape[1], -1, width)
    scores = torch.matmul(grouped, key.mT).mul_(scaling).view(shape)
    if mask is not None:
        mask = mask[:, :, None]
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    shares = scores.softmax(-1, dtype=torch.float32).to(value.dtype).flatten(2, 3)
    return torch.matmul(shares, value).view(rows, heads, queries, width)


def _turned(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn queries or keys (rows, heads, tokens, width) by their positions (rows, tokens, width)."""
    half = states.shape[-1] // 2
    turned = states * cos[:, None]
    sin = sin[:, None]
    turned[..., :half].addcmul_(states[..., half:], sin[..., :half], value=-1)
    turned[..., half:].addcmul_(states[..., :half], sin[..., half:])
    return turned
