"""The help: every page is served, every link leads somewhere, every screen has its page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from rubricweb.help import pages
from rubricweb.help.pages import PAGES, help_for, parse
from tests.browser.tutorials import FOLDER, FURTHER, steps
from tests.rubricweb.routes import routes

pytestmark = pytest.mark.portable

ROOT = Path(__file__).resolve().parents[3]


def documents() -> dict[str, pages.HelpPage]:
    return {name: pages.document(name) for name in pages.page_names()}


@pytest.mark.django_db
@pytest.mark.parametrize("name", pages.page_names())
def test_everybody_can_read_every_page(client: Client, name):
    document = pages.document(name)
    answer = client.get(document.address)
    assert answer.status_code == 200
    assert f"<h1>{document.title}</h1>" in answer.text


def test_every_link_leads_to_a_place_of_the_help():
    by_address = {page.address: page for page in documents().values()}
    missing = []
    for page in documents().values():
        for href in re.findall(r'href="([^"]+)"', page.html):
            address, _, anchor = href.partition("#")
            target = by_address.get(address) if address else page
            if not href.startswith("http") and (target is None or anchor not in target.anchors):
                missing.append(f"{page.name}: {href}")
    assert missing == []


def test_every_screen_has_a_page_and_a_place_on_it():
    missing = [name for name in PAGES.values() if not has_place(name)]
    assert missing == []
    unknown = [name for name in PAGES if name not in names_of_routes()]
    assert unknown == []


def has_place(named: str) -> bool:
    name, _, anchor = named.partition("#")
    document = pages.document(name)
    return document is not None and anchor in document.anchors


def names_of_routes() -> set[str]:
    names = {route.name for route in routes()}
    return names | {name.partition(":")[0] for name in names}


def test_every_room_with_screens_is_explained():
    rooms = {route.name.partition(":")[0] for route in routes()}
    assert rooms - set(PAGES) == set()


@pytest.mark.django_db
def test_the_question_mark_of_a_screen_opens_its_page(client_of, assessor, collection):
    page = client_of(assessor).get(reverse("leaderboards:board", args=[collection.slug])).text
    assert f'href="{help_for("leaderboards:board")}"' in page
    assert help_for("leaderboards:board") == "/help/results/#read-the-board"
    assert help_for("review:verify") == "/help/work/#verify"
    assert help_for("") == "/help/"


@pytest.mark.django_db
def test_the_first_page_is_called_help_once(client: Client):
    page = client.get(reverse("help:index")).text
    assert re.search(r"<title>\s*Help\b(?!\s*,)", page)
    trail = page[page.index('aria-label="Where you are"') :]
    assert trail[: trail.index("</nav>")].count("Help") == 1


def test_search_finds_parts_that_have_every_word_headings_first(client: Client):
    hits = pages.sections_with("Rank Interval")
    assert hits
    assert all("rank" in f"{page.title} {page.html}".lower() for page, *_ in hits)
    assert next(heading for _, _, heading, _ in pages.sections_with("problems")) == "Problems"
    assert pages.sections_with("") == []
    answer = client.get(reverse("help:search"), {"q": "zebra crossing"})
    assert "0 places with" in answer.text
    assert "<script>" not in client.get(reverse("help:search"), {"q": "<script>"}).text


def test_markdown_cannot_bring_html_of_its_own():
    document = parse("page", "# Title\n\nA <script>alert(1)</script> [link](javascript:alert(1))\n")
    assert "<script>" not in document.html
    assert 'href="javascript' not in document.html


def test_columns_of_numbers_have_a_class_and_no_page_a_style():
    html = parse("x", "# X\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n").html
    assert '<td class="num">2</td>' in html
    assert "style=" not in html


def test_headings_of_the_same_words_have_their_own_anchors():
    document = parse("page", "# Title\n\n## More\n\none\n\n## More\n\ntwo\n")
    assert [part.anchor for part in document.parts] == ["", "more", "more-2"]
    assert document.parts[1].text == "one"


def test_a_page_without_a_title_is_refused():
    with pytest.raises(ValueError, match="does not begin with a title"):
        parse("page", "Words\n")


@pytest.mark.django_db
def test_a_page_that_does_not_exist_is_not_found(client: Client):
    assert client.get("/help/../settings/").status_code == 404
    assert client.get("/help/architecture/").status_code == 404


def test_a_wheel_carries_every_page():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    carried = wheel["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    paths = [pages.path_of(name).relative_to(ROOT) for name in pages.page_names()]
    missing = [path for path in paths if not any(str(path).startswith(source) for source in carried)]
    assert missing == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_a_tutorial_is_made_of_steps(path):
    assert len(steps(path)) > 10
    assert path.read_text(encoding="utf-8").count(f"## {FURTHER}") == 1


def vocabulary() -> dict[str, tuple[str, ...]]:
    """Return each term of the glossary with the synonyms that its meaning has in italics."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|(]+?)(?: \(.*\))? \| ([^|]+) \| `", text, re.MULTILINE)
    return {term: (term, *re.findall(r"\*([\w ]+)\*", meaning)) for term, meaning in rows}


def terms_in(text: str) -> set[str]:
    """Return the terms that the prose uses; what stands on screens and in addresses is no prose."""
    prose = " ".join(line for line in text.splitlines() if not line.startswith("- "))
    prose = re.sub(r"`[^`]*`", "", prose.casefold())
    forms = {
        term: "|".join(word.removesuffix("ed") for word in synonyms)
        for term, synonyms in vocabulary().items()
    }
    return {term for term, stems in forms.items() if re.search(rf"\b(?:{stems})(?:s|d|ed)?\b", prose)}


@pytest.mark.parametrize(
    ("name", "result", "most"),
    [
        ("assessor", "- Press the key `4`", 6),
        ("topic-developer", "## Name a version", 10),
        ("organizer", "- Press **Publish**", 14),
    ],
)
def test_a_tutorial_needs_few_words_before_its_first_result(name, result, most):
    before, reached, _ = (FOLDER / f"{name}.md").read_text(encoding="utf-8").partition(result)
    assert reached
    assert 3 < len(terms_in(before)) <= most, terms_in(before)


def test_the_glossary_begins_with_the_words_that_come_first():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    counts = [len(re.findall(r"^\| [^|]+ \| [^|]+ \| `", part, re.MULTILINE)) for part in text.split("\n## ")]
    assert counts[:4] == [0, 6, 4, 4]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("## Begin\n\nRead on.\n", "nothing is to be done under 'Begin'"),
        ("## Begin\n\n- Enjoy the view.\n", "no test can do this: Enjoy the view"),
    ],
)
def test_a_tutorial_that_no_test_can_follow_is_refused(tmp_path, text, refusal):
    path = tmp_path / "holiday.md"
    path.write_text(f"# Holiday\n\n{text}", encoding="utf-8")
    with pytest.raises(ValueError, match=refusal):
        steps(path)


@pytest.mark.django_db
def test_each_page_is_there_as_markdown(client: Client):
    answer = client.get("/help/topics.md")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.text == pages.path_of("topics").read_text(encoding="utf-8")
    assert 'href="/help/topics.md"' in client.get("/help/topics/").text
    assert client.get("/help/tutorials/assessor.md").status_code == 200
    assert client.get("/help/architecture.md").status_code == 404
