"""The documents lead to places that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "grading",
    "rubricweb",
    "templates",
    "static",
    "tests",
    "bench",
    "reproduce",
    "fixtures",
    "docker",
    "docs",
)
PLACE = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w./-]+)(?:::(\w+))?`")
MOST_TERMS = 70


def places(document: str) -> list[tuple[str, str]]:
    """Of each place that the document names: the path from the root, and the class or function in it."""
    return PLACE.findall((ROOT / document).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "document", ["docs/glossary.md", "docs/architecture.md", "CONTRIBUTING.md", "README.md"]
)
def test_every_place_that_a_document_names_exists(document):
    missing = [path for path, _ in places(document) if not (ROOT / path).exists()]
    unknown = [
        f"{path}::{name}"
        for path, name in places(document)
        if name
        and not re.search(rf"^(class|def) {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert (missing, unknown) == ([], [])


def test_the_glossary_is_short_and_has_each_term_once():
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \| `", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert 40 < len(rows) <= MOST_TERMS
    assert len(set(rows)) == len(rows)
