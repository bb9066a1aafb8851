"""Tiny models, each trained once a session, and one thread for torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest


@contextmanager
def _one_thread() -> Iterator[None]:
    """Threads only get into each other's way on so small a model."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def one_thread() -> Iterator[None]:
    with _one_thread():
        yield


def _model(module: str) -> Callable[[pytest.TempPathFactory], Path]:
    @pytest.fixture(scope="session")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        made = tmp_path_factory.mktemp(module)
        with _one_thread():
            import_module(f"tests.grading.{module}").build(made)
        return made

    return folder


tiny_t5_folder = _model("tiny_t5")
tiny_gpt2_folder = _model("tiny_gpt2")
tiny_bert_qa_folder = _model("tiny_bert_qa")
