"""Loads a sequence-to-sequence model once, and keeps it for as long as the process lives."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grading.errors import GraderUnavailable

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

DTYPES = ("auto", "float32", "bfloat16", "float16")

_loaded: dict[tuple[str, str, str], LoadedModel] = {}
_loading = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model in inference mode, and its tokenizer."""

    model: Any  # transformers' models and tokenizers are only typed as their common bases
    tokenizer: Any
    device: torch.device
    dtype: str

    @property
    def description(self) -> str:
        return f"{self.device.type} ({self.dtype})"

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        """The tokens of each text with the end mark, as many as there are."""
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=True, verbose=False)["input_ids"]
        return ids


def load(llm: str, *, dtype: str = "auto", device: str = "auto") -> LoadedModel:
    """The model of that name or folder; a second call with the same arguments returns the same one.

    Raises GraderUnavailable where torch or transformers is missing, or where the weights cannot be loaded.
    """
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise GraderUnavailable(
            f"{error}; install the models extra: pip install 'rubricweb[models]'"
        ) from error
    device = _device(device, torch)
    dtype = _dtype(device) if dtype == "auto" else dtype
    key = (llm, dtype, device)
    with _loading:
        if key not in _loaded:
            _loaded[key] = _load(llm, dtype, torch.device(device))
        return _loaded[key]


def _load(llm: str, dtype: str, device: torch.device) -> LoadedModel:
    try:
        try:
            tokenizer, model = _pretrained(llm, dtype, local_files_only=True)
        except OSError:  # not on this machine yet
            tokenizer, model = _pretrained(llm, dtype, local_files_only=False)
        model = model.to(device).eval()
    except Exception as error:  # the library raises many kinds; the remedy is the same for all
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise GraderUnavailable(
            f"{llm} could not be loaded ({reason}); name a folder that holds a sequence-to-sequence model, "
            f"or fetch it once where there is a network: hf download {llm}"
        ) from error
    logger.info("loaded %s on %s as %s", llm, device, dtype)
    return LoadedModel(model, tokenizer, device, dtype)


def _pretrained(llm: str, dtype: str, *, local_files_only: bool) -> tuple[Any, Any]:
    """Tokenizer and model. Files that are here are not asked for over a network, which may be down."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    return (
        AutoTokenizer.from_pretrained(llm, local_files_only=local_files_only),
        AutoModelForSeq2SeqLM.from_pretrained(
            llm, dtype=getattr(torch, dtype), local_files_only=local_files_only
        ),
    )


def _device(wanted: str, torch: Any) -> str:  # Any: a module
    has_cuda = torch.cuda.is_available()
    if wanted == "auto":
        return "cuda" if has_cuda else "cpu"
    if wanted.startswith("cuda") and not has_cuda:
        raise GraderUnavailable("this machine has no CUDA device; choose device auto or cpu")
    return wanted


def _dtype(device: str) -> str:
    """bfloat16 where the processor multiplies it natively (twice to several times as fast), else float32."""
    import torch

    if device.startswith("cuda"):
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        capabilities = torch.cpu.get_capabilities()
        native = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return "bfloat16" if native else "float32"
