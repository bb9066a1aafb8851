"""How many tokens a batch has: as asked, or as many as the device has memory for.

On a GPU the first batch is of a known, moderate size. What it took tells how many tokens fit into the memory
that is free; a batch that runs out of memory all the same lowers that for good.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

CPU_TOKENS = 4096
"""More would not fit into the caches."""
CUDA_FIRST_TOKENS = 16_384
CUDA_MOST_TOKENS = 131_072
"""Larger batches gain nothing: the cores have been busy for long."""
FREE_SHARE = 0.7
"""Of the free memory; the allocator needs some for what does not fit between other things."""


class BatchSize:
    """The size of a grader's batches; it is kept as long as the grader."""

    def __init__(self, asked: int, device: torch.device) -> None:
        """`asked` tokens; 0 leaves it to the device."""
        self._device = device
        self._is_measured = bool(asked) or device.type != "cuda"
        self._most = asked or (CUDA_MOST_TOKENS if device.type == "cuda" else CPU_TOKENS)
        self.tokens = self._most if self._is_measured else CUDA_FIRST_TOKENS
        """Of a batch, with its padding."""

    @contextmanager
    def measuring(self, tokens: int) -> Iterator[None]:
        """Note what the first batch, of so many tokens, takes of the device's memory."""
        if self._is_measured:
            yield
            return
        before = start_of_peak(self._device)
        yield
        taken = peak(self._device) - before
        self.fit(tokens, taken, free(self._device))

    def fit(self, tokens: int, taken: int, available: int) -> None:
        """Set the size by what a batch of so many tokens took, in bytes, and by the bytes that are free."""
        self._is_measured = True
        wished = int(FREE_SHARE * available * tokens / max(1, taken))
        self.tokens = max(1, min(self._most, wished))
        logger.info(
            "batches of %d tokens on %s: %d bytes a token, %d bytes free",
            self.tokens,
            self._device,
            taken // max(1, tokens),
            available,
        )

    def lower(self, tokens: int) -> None:
        """A batch of so many tokens ran out of memory: from now on no batch has more than half as many."""
        self._is_measured = True
        self._most = self.tokens = max(1, min(self.tokens, tokens // 2))
        logger.warning("out of memory with %d tokens; batches have %d from now on", tokens, self.tokens)


def start_of_peak(device: torch.device) -> int:
    """Bytes that tensors take now; `peak` is counted from here."""
    import torch

    torch.cuda.reset_peak_memory_stats(device)
    return int(torch.cuda.memory_allocated(device))


def peak(device: torch.device) -> int:
    """Most bytes that tensors took."""
    import torch

    return int(torch.cuda.max_memory_allocated(device))


def free(device: torch.device) -> int:
    """Bytes that tensors could take: what nobody uses, and what the allocator keeps for reuse."""
    import torch

    unused, _ = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(unused + kept)
