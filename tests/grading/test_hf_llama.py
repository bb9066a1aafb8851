"""The quickened Llama beside transformers' own."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grading.graders import hf_kernels  # noqa: E402

pytestmark = pytest.mark.models


def llama(dtype: Any = torch.float32, **settings: Any) -> Any:
    """Always the same weights: 4 heads that share 2 keys."""
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        **settings,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return transformers.LlamaForCausalLM(config).to(dtype).eval()


def logits(model: Any) -> Any:
    """Of prompts of two lengths, and of two tokens that follow them."""
    ids = torch.arange(22).view(2, 11) * 7 % 50
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        first = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True)
        mask = torch.cat([mask, mask.new_ones(2, 2)], dim=1)
        second = model(
            input_ids=ids[:, :2],
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1)[:, -2:],
            past_key_values=first.past_key_values,
        )
        alone = model(input_ids=ids)
    return torch.cat([first.logits[:, 4:], second.logits, alone.logits], dim=1)


@pytest.mark.parametrize("settings", [{}, {"attention_bias": True}, {"hidden_act": "gelu"}])
@pytest.mark.parametrize("packs", [True, False])
def test_the_same_logits(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], packs: bool) -> None:
    if not packs:
        monkeypatch.setattr(hf_kernels, "can_pack", lambda dtype: False)
    usual, quick = llama(**settings), llama(**settings)
    assert hf_kernels.quicken_llama(quick)
    assert torch.allclose(logits(usual), logits(quick), atol=1e-4)


def test_half_precision() -> None:
    usual, quick = llama(torch.bfloat16), llama(torch.bfloat16)
    assert hf_kernels.quicken_llama(quick)
    expected = logits(usual).float()
    assert (logits(quick).float() - expected).abs().mean() < 0.03 * expected.abs().mean()


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("kind", ["none", "places", "added"])
def test_few_queries_see_what_the_fused_operation_lets_them_see(queries: int, kind: str) -> None:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (
        torch.randn(2, heads, tokens, 8, generator=generator)
        for heads, tokens in ((4, queries), (2, 11), (2, 11))
    )
    places = torch.rand(2, 1, queries, 11, generator=generator) < 0.7
    places[..., 0] = True
    added = torch.zeros(places.shape).masked_fill(~places, torch.finfo(torch.float32).min)
    mask = {"none": None, "places": places, "added": added}[kind]
    fused = torch.nn.functional.scaled_dot_product_attention
    expected = fused(query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True)
    assert torch.allclose(hf_kernels._looked(query, key, value, mask, 0.3), expected, atol=1e-5)


def test_int8_stays_int8() -> None:
    usual, small = llama(), llama()
    hf_kernels.quantize(small)
    assert hf_kernels.quicken_llama(small)
    expected = logits(usual)
    assert 0 < (logits(small) - expected).abs().mean() < 0.05 * expected.abs().mean()


def test_generation_says_the_same() -> None:
    usual, quick, ids = llama(), llama(), torch.tensor([[3, 1, 4, 1, 5]])
    assert hf_kernels.quicken_llama(quick)
    assert hf_kernels.quicken_llama(quick), "twice does no harm"
    replies = [model.generate(ids, max_new_tokens=8, do_sample=False).tolist() for model in (usual, quick)]
    assert replies[0] == replies[1]


def test_other_models_are_left_alone() -> None:
    config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2)
    assert not hf_kernels.quicken_llama(transformers.GPT2LMHeadModel(config))
    assert not hf_kernels.quicken_llama(llama(torch.float16))
    assert not hf_kernels.quicken_llama(llama(attn_implementation="eager"))
