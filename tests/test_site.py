"""The public site: every link leads somewhere, each page has its Markdown, and the search knows all parts."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.portable


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, ROOT / "docs/site/build.py", folder, "--url", "https://rubric.example.org/"]
    subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return folder


def ids_of(path: Path) -> set[str]:
    return {"", *re.findall(r'\sid="([^"]+)"', path.read_text(encoding="utf-8"))}


def test_every_link_of_every_page_leads_to_a_file_and_a_place_in_it(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    wrong = []
    for page in pages:
        for href in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            parts = urlsplit(href)
            target = page if not parts.path else page.parent / parts.path
            if parts.scheme:
                path = parts.path.partition("/blob/main/")[2]
                is_right = not path or (ROOT / path).exists()
            else:
                is_right = target.is_file() and (not parts.fragment or parts.fragment in ids_of(target))
            if not is_right:
                wrong.append(f"{page.relative_to(site)}: {href}")
    assert wrong == []


def test_each_page_has_its_markdown_beside_it_whose_links_hold(site):
    for page in site.rglob("*.html"):
        text = page.with_suffix(".md").read_text(encoding="utf-8")
        links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
        assert [link for link in links if not (page.parent / link).is_file()] == []


def test_llms_txt_names_every_page_with_a_line_on_it(site):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# RubricWeb\n\n> ")
    listed = re.findall(r"^- \[.+\]\(https://rubric\.example\.org/(.+)\): \S", text, re.MULTILINE)
    assert set(listed) == {str(page.relative_to(site).with_suffix(".md")) for page in site.rglob("*.html")}


def test_index_of_the_search_leads_to_every_part(site):
    parts = json.loads((site / "search.json").read_text(encoding="utf-8"))
    for part in parts:
        path, _, anchor = part["address"].partition("#")
        assert anchor in ids_of(site / posixpath.normpath(path))
    assert any("rank interval" in part["text"].lower() for part in parts)
