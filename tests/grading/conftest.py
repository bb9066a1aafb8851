"""Tiny models, each trained once a session."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest


def _model(module: str) -> Callable[[pytest.TempPathFactory], Path]:
    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        made = tmp_path_factory.mktemp(module)
        import_module(f"tests.grading.{module}").build(made)
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
