"""The quickened T5 beside transformers' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grading.graders import hf_kernels  # noqa: E402

pytestmark = pytest.mark.models


def load(folder: Path, dtype: Any = torch.float32) -> Any:
    return transformers.T5ForConditionalGeneration.from_pretrained(folder, dtype=dtype).eval()


def inputs(folder: Path) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["Context: Ember. It rains. Nobody knows why.", "Context: Birch.", "The river is long and wide."]
    return tokenizer(texts, padding=True, return_tensors="pt")


@pytest.mark.parametrize("as_on_a_gpu", [False, True])
def test_the_same_states_and_logits(
    tiny_t5_folder: Path, monkeypatch: pytest.MonkeyPatch, as_on_a_gpu: bool
) -> None:
    if as_on_a_gpu:
        monkeypatch.setattr(hf_kernels, "can_pack", lambda dtype: False)
        monkeypatch.setattr(hf_kernels, "_on_processor", lambda tensor: False)
    usual, quick, given = load(tiny_t5_folder), load(tiny_t5_folder), inputs(tiny_t5_folder)
    assert hf_kernels.quicken_t5(quick)
    there = given["attention_mask"].bool()
    with torch.inference_mode():
        expected = usual.get_encoder()(**given).last_hidden_state
        states = hf_kernels.encode(quick, given["input_ids"], given["attention_mask"])
        assert torch.allclose(states[there], expected[there], atol=1e-4)
        prefixes = torch.tensor([[0, 5, 7]] * 3)
        outputs = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=states)
        logits = [
            model(
                encoder_outputs=outputs,
                attention_mask=given["attention_mask"],
                decoder_input_ids=prefixes,
                use_cache=False,
            ).logits
            for model in (usual, quick)
        ]
    assert torch.allclose(*logits, atol=1e-3)


def test_generation_says_the_same(tiny_t5_folder: Path) -> None:
    usual, quick, given = load(tiny_t5_folder), load(tiny_t5_folder), inputs(tiny_t5_folder)
    hf_kernels.quicken_t5(quick)
    replies = [
        model.generate(**given, max_new_tokens=8, do_sample=False).tolist() for model in (usual, quick)
    ]
    assert replies[0] == replies[1]


@pytest.mark.parametrize("as_on_a_gpu", [False, True])
def test_half_precision(tiny_t5_folder: Path, monkeypatch: pytest.MonkeyPatch, as_on_a_gpu: bool) -> None:
    monkeypatch.setattr(hf_kernels, "_on_processor", lambda tensor: not as_on_a_gpu)
    usual, quick = load(tiny_t5_folder, torch.bfloat16), load(tiny_t5_folder, torch.bfloat16)
    given = inputs(tiny_t5_folder)
    assert hf_kernels.quicken_t5(quick)
    there = given["attention_mask"].bool()
    with torch.inference_mode():
        expected = usual.get_encoder()(**given).last_hidden_state[there].float()
        states = hf_kernels.encode(quick, given["input_ids"], given["attention_mask"])[there].float()
    assert (states - expected).abs().mean() < 0.03 * expected.abs().mean()


def test_what_is_quick_stays_as_it_is(tiny_t5_folder: Path) -> None:
    quick = load(tiny_t5_folder)
    assert hf_kernels.quicken_t5(quick)
    forward = quick.decoder.block[0].layer[1].EncDecAttention.forward
    assert hf_kernels.quicken_t5(quick)
    assert quick.decoder.block[0].layer[1].EncDecAttention.forward is forward


def test_other_models_are_left_alone(tiny_t5_folder: Path) -> None:
    config = transformers.BartConfig(
        vocab_size=20,
        d_model=8,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_position_embeddings=16,
    )
    assert not hf_kernels.quicken_t5(transformers.BartForConditionalGeneration(config))
    assert not hf_kernels.quicken_t5(load(tiny_t5_folder, torch.float16))
