"""Every format is recognised from its content, and docs/help/files.md lists it."""

import gzip
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats import Content, registry
from tests.grading.formats.samples import READ, SAMPLES

ROOT = Path(__file__).resolve().parents[3]
FORMATS = ROOT / "fixtures" / "formats"


def test_the_document_has_the_table_of_the_registry():
    text = (ROOT / "docs" / "help" / "files.md").read_text(encoding="utf-8")
    lines = text.partition("\n## Formats\n")[2].splitlines()
    assert [line for line in lines if line.startswith("| ")] == registry.table()


def test_names_are_of_one_format_each():
    names = [one.name for one in registry.FORMATS]
    assert len(set(names)) == len(names)
    assert [registry.find(name) for name in names] == list(registry.FORMATS)
    with pytest.raises(BadFormat, match="no format 'trec-runs', expected"):
        registry.find("trec-runs")


@pytest.mark.parametrize("one", registry.FORMATS, ids=lambda one: one.name)
def test_each_has_a_sample_that_is_read(one):
    paths = [path for path, name in SAMPLES if name == one.name]
    assert paths, f"fixtures/formats has no file that is recognised as {one.name}"
    if one.is_read:
        assert all(list(one.read(path)) for path in paths)
        return
    with pytest.raises(BadFormat, match=rf"{paths[0].name}:1: a listing that is only written, expected"):
        one.read(paths[0])


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for path, name in READ if registry.find(name).write],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_is_written_is_recognised_and_reads_the_same(path, name, tmp_path):
    one = registry.find(name)
    first, second = tmp_path / path.name, tmp_path / f"second-{path.name}"
    one.write(first, one.read(path))
    assert one in registry.candidates(first)
    assert not one.is_lossless or list(one.read(first)) == list(one.read(path))
    one.write(second, one.read(first))
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(("path", "name"), READ, ids=lambda value: getattr(value, "name", value))
def test_blank_lines_at_the_end_say_nothing(path, name, tmp_path):
    file_format, content = registry.find(name), path.read_bytes()
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    longer = tmp_path / path.name
    longer.write_bytes(plain.rstrip(b"\n") + b"\n\n \t\r\n")
    assert file_format in registry.candidates(longer)
    assert list(file_format.read(longer)) == list(file_format.read(path))


@pytest.mark.parametrize("path", sorted({path for path, _ in SAMPLES}), ids=lambda path: path.name)
def test_the_name_of_a_file_says_nothing(path, tmp_path):
    text = path.read_bytes()
    plain = gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text
    (tmp_path / "anything.zip").write_bytes(plain)
    (tmp_path / "anything").write_bytes(gzip.compress(plain))
    known = registry.candidates(path)
    assert registry.candidates(tmp_path / "anything.zip") == known
    assert registry.candidates(tmp_path / "anything") == known


def test_the_content_narrows_what_is_recognised():
    assert registry.recognise(FORMATS / "bm25.run").name == "trec-run"
    assert registry.recognise(FORMATS / "queries.tsv", Content.TOPICS).name == "topics-tsv"
    with pytest.raises(BadFormat, match=r"bm25.run:1: the content is TREC run, expected topics or bank"):
        registry.recognise(FORMATS / "bm25.run", Content.TOPICS, Content.BANK)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("a file of prose\n", "no known format, expected topics, passages, graded passages, bank, run, "),
        ('{"t1": "one"\n "t2": "two"}', "malformed JSON"),
        ("[" * 5_000, "malformed JSON"),
        ("\n\n", "the file is empty"),
    ],
)
def test_unknown_content_is_refused_with_what_could_be_read(text, phrase, tmp_path):
    path = tmp_path / "unknown"
    path.write_text(text)
    with pytest.raises(BadFormat) as caught:
        registry.recognise(path)
    assert caught.value.file == "unknown"
    assert caught.value.line is not None
    assert phrase in caught.value.problem
    assert "expected" in caught.value.problem
