"""Tiny models, each trained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.grading.kept_models import copy_model


def _model(module: str) -> Callable[[pytest.TempPathFactory], Path]:
    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        made = tmp_path_factory.mktemp(module)
        copy_model(module, made)
        return made

    return folder


tiny_t5_folder = _model("tiny_t5")
tiny_gpt2_folder = _model("tiny_gpt2")
tiny_bert_qa_folder = _model("tiny_bert_qa")
tiny_t5_qa_folder = _model("tiny_t5_qa")


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    from tests.grading import smollm2

    return smollm2.folder()
