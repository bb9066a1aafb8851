"""How many tokens a batch has, on a device with as much memory as a test says."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from grading.graders import hf_batches  # noqa: E402
from grading.graders.hf_batches import (  # noqa: E402
    CPU_TOKENS,
    CUDA_FIRST_TOKENS,
    CUDA_MOST_TOKENS,
    FREE_SHARE,
    BatchSize,
)

pytestmark = pytest.mark.models

CPU, CUDA = torch.device("cpu"), torch.device("cuda")  # naming one needs none
KB, GB = 2**10, 2**30


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes that are taken before and at most, and that are free."""
    says = {"before": 2 * GB, "peak": 2 * GB, "free": GB}
    monkeypatch.setattr(hf_batches, "start_of_peak", lambda device: says["before"])
    monkeypatch.setattr(hf_batches, "peak", lambda device: says["peak"])
    monkeypatch.setattr(hf_batches, "free", lambda device: says["free"])
    return says


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_what_somebody_asks_for_counts(device: torch.device, memory: dict[str, int]) -> None:
    size = BatchSize(1_000, device)
    with size.measuring(1_000):
        memory["peak"] += 1_000 * KB
    assert size.tokens == 1_000


def test_a_processor_has_a_fixed_size() -> None:
    size = BatchSize(0, CPU)
    with size.measuring(10):
        pass
    assert size.tokens == CPU_TOKENS


def test_the_first_batch_on_a_gpu_tells_what_fits(memory: dict[str, int]) -> None:
    size = BatchSize(0, CUDA)
    assert size.tokens == CUDA_FIRST_TOKENS
    with size.measuring(10_000):
        memory["peak"] += 10_000 * 16 * KB
    assert size.tokens == int(FREE_SHARE * GB / (16 * KB))
    with size.measuring(10):
        memory["peak"] += GB
    assert size.tokens == int(FREE_SHARE * GB / (16 * KB)), "only the first batch counts"


def test_more_than_keeps_a_gpu_busy_is_not_taken(memory: dict[str, int]) -> None:
    memory["free"] = 1_000 * GB
    size = BatchSize(0, CUDA)
    with size.measuring(10_000):
        memory["peak"] += 10_000 * KB
    assert size.tokens == CUDA_MOST_TOKENS


def test_a_batch_without_room_is_remembered(memory: dict[str, int]) -> None:
    size = BatchSize(0, CUDA)
    size.lower(CUDA_FIRST_TOKENS)
    with size.measuring(100):
        memory["peak"] += 100
    assert size.tokens == CUDA_FIRST_TOKENS // 2
    size.lower(200)
    assert size.tokens == 100
    size.lower(1)
    assert size.tokens == 1


def test_a_first_batch_that_fails_measures_nothing(memory: dict[str, int]) -> None:
    size = BatchSize(0, CUDA)
    with pytest.raises(ValueError, match="no model"), size.measuring(100):
        raise ValueError("no model")
    assert size.tokens == CUDA_FIRST_TOKENS


def test_what_runs_out_of_memory_after_all_is_halved_and_stays_so(memory: dict[str, int]) -> None:
    size = BatchSize(4_096, CUDA)
    size.lower(4_000)
    assert size.tokens == 2_000
