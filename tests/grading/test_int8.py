"""Linear layers in int8, beside the same ones in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grading.errors import GraderUnavailable  # noqa: E402
from grading.graders import GraderSpec, hf_kernels, hf_model  # noqa: E402
from grading.graders.registry import build  # noqa: E402
from grading.types import Grade  # noqa: E402
from tests.grading import tiny_gpt2, tiny_t5  # noqa: E402

pytestmark = pytest.mark.models

RATE = "QuestionSelfRatedUnanswerablePromptWithChoices"


def ratings(backend: str, folder: Path, prompt_class: str, pairs: Any, dtype: str) -> dict[str, int | None]:
    made = build(GraderSpec(backend, str(folder), prompt_class, {"dtype": dtype}))
    assert dtype != "int8" or made.device == "cpu (int8)"
    return {grade.passage_id: grade.rating for grade in made.grade(pairs) if isinstance(grade, Grade)}


@pytest.mark.parametrize("has_instructions", [True, False])
def test_a_t5_rates_nearly_as_in_float32(
    tiny_t5_folder: Path, monkeypatch: pytest.MonkeyPatch, has_instructions: bool
) -> None:
    hf_model.let_go_of_latest()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_vnni": has_instructions})
    usual, small = (
        ratings("hf_seq2seq", tiny_t5_folder, RATE, tiny_t5.pairs(), dtype) for dtype in ("float32", "int8")
    )
    assert usual.keys() == small.keys()
    assert sum(small[name] == rating for name, rating in usual.items()) >= 0.9 * len(usual)


def test_a_causal_model_rates_nearly_as_in_float32(tiny_gpt2_folder: Path) -> None:
    usual, small = (
        ratings("hf_causal", tiny_gpt2_folder, tiny_gpt2.RATE, tiny_gpt2.pairs(), dtype)
        for dtype in ("float32", "int8")
    )
    assert sum(small[name] == rating for name, rating in usual.items()) >= 0.9 * len(usual)


@pytest.mark.parametrize("is_conv1d", [True, False])
def test_a_layer_keeps_its_products_up_to_rounding(is_conv1d: bool) -> None:
    torch.manual_seed(3)
    layer = transformers.pytorch_utils.Conv1D(24, 64) if is_conv1d else torch.nn.Linear(64, 24)
    torch.nn.init.normal_(layer.bias)
    states = torch.randn(2, 5, 64) * torch.tensor([[[1.0]], [[50.0]]])
    with torch.inference_mode():
        expected = layer(states)
        hf_kernels._replace(layer, hf_kernels._Latest(), hf_kernels._product())
        output = layer(states)
    assert output.shape == expected.shape
    error = (output - expected).norm(dim=-1) / expected.norm(dim=-1)
    assert 0 < error.max() < 0.03, "small tokens lose no more than large ones"
    assert layer.weight.dtype == torch.float32
    assert not layer.weight.numel()


def test_the_slow_product_is_the_same() -> None:
    first, second = torch.randint(-127, 128, (40, 1024)), torch.randint(-127, 128, (1024, 32))
    given = first.to(torch.int8), second.to(torch.int8)
    assert torch.equal(hf_kernels._slow_product(*given).long(), first @ second)
    assert torch.equal(torch._int_mm(*given).long(), first @ second)


def test_states_are_converted_once_for_all_layers_that_read_them() -> None:
    latest = hf_kernels._Latest()
    first, second = torch.randn(3, 8), torch.randn(3, 8)
    assert latest.whole(first)[0] is latest.whole(first)[0]
    assert torch.equal(latest.whole(second)[0], hf_kernels._whole(second, dim=1)[0])
    assert latest.whole(first)[1].shape == (3, 1)


def test_states_of_nothing_stay_nothing() -> None:
    whole, scale = hf_kernels._whole(torch.zeros(2, 4), dim=1)
    assert not whole.any()
    assert torch.isfinite(scale).all()


def test_a_model_without_linear_layers_is_refused() -> None:
    model = torch.nn.Embedding(3, 3)
    model.config = transformers.PretrainedConfig()
    model.base_model, model.get_output_embeddings = model, lambda: None
    with pytest.raises(GraderUnavailable, match="Embedding has no linear layers"):
        hf_kernels.quantize(model)


def test_a_gpu_is_refused(tiny_t5_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_model, "_device", lambda name, torch: name)
    spec = GraderSpec("hf_seq2seq", str(tiny_t5_folder), RATE, {"dtype": "int8", "device": "cuda"})
    with pytest.raises(GraderUnavailable, match="int8 is computed by the processor"):
        build(spec)
