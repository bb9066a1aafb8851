"""The examples in the docstrings of every module are run."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def modules_with_examples() -> list[str]:
    sources = [source for package in ("grading", "rubricweb") for source in (ROOT / package).rglob("*.py")]
    with_examples = [source for source in sources if ">>> " in source.read_text(encoding="utf-8")]
    return sorted(".".join(source.relative_to(ROOT).with_suffix("").parts) for source in with_examples)


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed
