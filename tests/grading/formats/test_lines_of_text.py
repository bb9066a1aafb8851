"""Lines are split as bytes are: what Python or httpx also takes for line breaks is text, in every file."""

import ast
import gzip
import json
from pathlib import Path

import pytest

from grading.formats import registry
from grading.formats.reading import lines, streamed_lines, text_lines
from grading.types import text_md5
from tests.grading.formats.samples import READ

ROOT = Path(__file__).resolve().parents[3]
ODD = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Line breaks to `str.splitlines`, and to no file."""
CLOSED = {"rating", "importance"}
"""Fields whose texts are one of a few."""
SPLITTING = {"splitlines", "readlines", "iter_lines", "aiter_lines", "TextIOWrapper"}
OWN_FILES = {
    "grading/generation/__init__.py",
    "grading/graders/lexical.py",
    "grading/prompts/prompt.py",
    "grading/prompts/chat.py",
    "grading/submissions/rules.py",
    "grading/systems/retrieval.py",
    "rubricweb/releases/boards.py",
    "rubricweb/core/static_files.py",
    "rubricweb/demo/management/commands/demo.py",
    "rubricweb/demo/loading.py",
    "rubricweb/help/pages.py",
    "rubricweb/jobs/worker_state.py",
    "rubricweb/plots/__init__.py",
}
"""They read whole texts of this project or of the system by `read_text`, and nobody's data."""


def test_odd_characters_are_within_a_line(tmp_path):
    path = tmp_path / "odd.txt"
    path.write_bytes(f"a{ODD}b\r\nc\n".encode())
    assert [text for _, text in lines(path)] == [f"a{ODD}b", "c"]
    assert text_lines(f"a{ODD}b\r\nc\n\nd") == [f"a{ODD}b", "c", "", "d"]
    assert text_lines("") == []
    whole = f"a{ODD}b\r\nc\n\nd".encode()
    for size in (1, 2, 3, 100):
        chunks = [whole[place : place + size] for place in range(0, len(whole), size)]
        assert list(streamed_lines(chunks)) == [f"a{ODD}b", "c", "", "d"]


NOT_YAML = [(path, name) for path, name in READ if path.suffix != ".yaml"]
"""YAML allows such characters as escapes alone."""


@pytest.mark.parametrize(("path", "name"), NOT_YAML, ids=lambda value: getattr(value, "name", value))
def test_texts_with_odd_characters_are_read_back_whole(path, name, tmp_path):
    each, odd, written = registry.find(name), tmp_path / "odd" / path.name, tmp_path / "written" / path.name
    odd.parent.mkdir()
    written.parent.mkdir()
    odd.write_bytes(_with_odd_texts(path))
    rows = list(each.read(odd))
    assert len(rows) == len(list(each.read(path)))
    if each.write is None:
        return
    each.write(written, each.read(odd))
    assert each in registry.candidates(written)
    assert list(each.read(written)) == rows or not each.is_lossless


def _with_odd_texts(path: Path) -> bytes:
    """The file with odd characters raw in every text that has a space, as far as JSON lets them stand raw."""
    content = path.read_bytes()
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    text = plain.decode()
    documents = [text] if _is_json(text) else text.split("\n")
    return "\n".join(_odd_document(each) for each in documents).encode()


def _odd_document(text: str) -> str:
    if not _is_json(text):
        return text.replace(" ", f" {ODD}")
    changes: dict[str, str] = {}
    odd = json.dumps(_odd_values(json.loads(text), changes), ensure_ascii=False)
    for before, after in changes.items():  # ids of items carry the md5 of their text
        odd = odd.replace(text_md5(before), text_md5(after))
    return odd


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return text.lstrip().startswith(("{", "["))


def _odd_values(value, changes: dict[str, str], key: str = ""):
    if isinstance(value, dict):
        return {_odd_values(name, changes): _odd_values(each, changes, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_odd_values(each, changes, key) for each in value]
    if not isinstance(value, str) or key in CLOSED:
        return value
    if _is_json(value):
        return json.dumps(_odd_values(json.loads(value), changes), ensure_ascii=False)
    return changes.setdefault(value, value.replace(" ", f" {ODD}", 1))


@pytest.mark.parametrize("folder", ["grading", "rubricweb"])
def test_nothing_splits_text_at_other_characters(folder):
    """Of the whole program: `text_lines`, `lines` and `streamed_lines` split; files are opened as bytes."""
    wrong = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute | ast.Name) and _called(node) in SPLITTING:
                wrong.append(f"{name}:{node.lineno}: {_called(node)}, expected text_lines or lines")
            elif isinstance(node, ast.Call) and _opens_text(node):
                wrong.append(f'{name}:{node.lineno}: a file opened as text, expected "rb"')
            elif isinstance(node, ast.Attribute) and node.attr == "read_text" and name not in OWN_FILES:
                wrong.append(f"{name}:{node.lineno}: read_text, expected lines")
    assert wrong == []


def _called(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _opens_text(call: ast.Call) -> bool:
    """Whether it opens a file to read, and translates line breaks."""
    if not isinstance(call.func, ast.Attribute | ast.Name) or _called(call.func) != "open":
        return False
    keywords = {keyword.arg for keyword in call.keywords}
    modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    reads = not any(set(mode) & set("wxab") for mode in modes)
    return "encoding" in keywords and "newline" not in keywords and reads


def test_an_exception_stays_used():
    for name in OWN_FILES:
        assert "read_text" in (ROOT / name).read_text(encoding="utf-8"), f"{name} reads no text any more"
