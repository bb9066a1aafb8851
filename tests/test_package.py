"""What the package says of itself, in each file that says it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from rubricweb import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
SOURCE = PROJECT["project"]["urls"]["Source"]
README_LINES = 120
FILM_BYTES = 1_000_000


def test_version_is_the_same_everywhere():
    assert CITATION["version"] == CODEMETA["version"] == __version__
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_source_and_authors_are_the_same_everywhere():
    assert CITATION["repository-code"] == CODEMETA["codeRepository"] == SOURCE
    names = [author["name"] for author in PROJECT["project"]["authors"]]
    assert [author["name"] for author in CITATION["authors"]] == names
    assert [author["name"] for author in CODEMETA["author"]] == names


def test_citation_names_the_papers_of_the_readme():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert all(reference["title"] in readme for reference in CITATION["references"])


def test_page_of_the_package_index_has_absolute_links_and_pictures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    targets = re.findall(r"\]\((.*?)\)", text)
    assert len(targets) > 10
    assert all(target.startswith(("https://", "#")) for target in targets)
    ours = {target for target in targets if target.startswith(SOURCE)}
    for path in {re.sub(r"^.*?/main/|#.*$", "", target) for target in ours}:
        assert (ROOT / path).exists(), path


def test_pythons_of_the_classifiers_are_those_required():
    minors = [
        int(each.rpartition(".")[2]) for each in PROJECT["project"]["classifiers"] if "Python :: 3." in each
    ]
    lowest, highest = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
    assert minors == list(range(int(lowest), int(highest)))


def test_tools_of_contributors_are_no_extras():
    assert PROJECT["dependency-groups"].keys() == {"test", "dev"}
    assert not PROJECT["dependency-groups"].keys() & PROJECT["project"]["optional-dependencies"].keys()


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_issue_form_is_one(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form["contact_links"][0]["url"].startswith(SOURCE)
        return
    assert form["name"]
    assert form["description"]
    ids = [each["id"] for each in form["body"]]
    assert len(ids) == len(set(ids))
    assert {each["type"] for each in form["body"]} <= {
        "textarea",
        "input",
        "dropdown",
        "checkboxes",
        "markdown",
    }


def test_readme_is_one_screen_with_a_picture_that_moves():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES
    film = (ROOT / "docs/img/board.webp").read_bytes()
    assert b"ANIM" in film[:64]
    assert len(film) <= FILM_BYTES
