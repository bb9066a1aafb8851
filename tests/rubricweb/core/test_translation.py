"""Every text of the pages can be translated, and numbers follow the language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.urls import reverse
from django.utils import translation

from rubricweb.core.script_texts import TEXTS

TEMPLATES = sorted(Path(settings.FILES_DIR, "templates").rglob("*.html"))
MARKED = re.compile(
    r"\{% block body_class %\}.*?\{% endblock %\}|\{% (blocktranslate|comment)\b.*?\{% end\1 %\}"
    r"|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->",
    re.DOTALL,
)
UNREAD = re.compile(r"<(script|style|code|pre|kbd|textarea)\b[^>]*>.*?</\1>", re.DOTALL)
TAG = r"""<[/!]?[a-zA-Z](?:[^>"']|"[^"]*"|'[^']*')*>"""
READ_ALOUD = re.compile(
    r'\s(?:title|aria-label|aria-description|placeholder|alt|(?:hx|data)-confirm)="([^"]*)"'
)
NAMES = {"RubricWeb", "UTC", "LaTeX", "TSV", "CSV", "JSON", "Ctrl", "SHA"}
"""What is the same in every language."""


def unmarked(source: str) -> list[str]:
    """Return the texts of a template that no translation can reach."""
    bare = UNREAD.sub(" ", MARKED.sub("\N{BULLET}", source))
    texts = [*READ_ALOUD.findall(bare), *re.sub(TAG, "\n", bare).split("\n")]
    return [text.strip() for text in texts if set(re.findall(r"[A-Za-z]{2,}", text)) - NAMES]


def test_templates_have_no_text_that_cannot_be_translated():
    left = {str(path): texts for path in TEMPLATES if (texts := unmarked(path.read_text(encoding="utf-8")))}
    assert left == {}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>Save it</p>", "Save it"),
        ('<p>{% translate "Save it" %} now</p>', "\N{BULLET} now"),
        ('<a href="/" title="Save {{ name }}">{{ name }}</a>', "Save \N{BULLET}"),
        ("<p>{{ n }} run{{ n|pluralize }}</p>", "\N{BULLET} run\N{BULLET}"),
    ],
)
def test_an_unmarked_text_is_found(source, text):
    assert unmarked(source) == [text]


SCRIPTS = sorted(Path(settings.FILES_DIR, "static", "js").glob("*.js"))
SENTENCE = re.compile(r"""["`'][A-Z][a-z]+[ .…][^"`']*["`']""")
ASKED_FOR = re.compile(r"\btext\(([^()]*)")


def test_scripts_take_their_texts_from_the_page():
    sources = {path.name: re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in SCRIPTS}
    said = {name: found for name, source in sources.items() if (found := SENTENCE.findall(source))}
    assert said == {}
    asked = {
        name for source in sources.values() for call in ASKED_FOR.findall(source) for name in named(call)
    }
    assert asked == {name for name in TEXTS if not name.startswith("refused")}  # by the status of an answer


def named(call: str) -> list[str]:
    """The names of texts in the arguments of `text()`, before the values."""
    return re.findall(r'"([^"]+)"', re.sub(r"\w+ === \"\w+\"|\{.*", "", call))


def test_a_page_brings_the_texts_of_its_scripts(client):
    page = client.get(reverse("accounts:login")).content.decode()
    [texts] = re.findall(r'<script id="texts" type="application/json">(.*?)</script>', page)
    assert json.loads(texts)["all saved"] == "Everything is saved."


def test_counts_have_their_plurals():
    shown = Template("{% load core %}{{ 1|counted:'passage' }}, {{ 1234|counted:'passage' }}").render(
        Context()
    )
    assert shown == "1 passage, 1,234 passages"


def test_numbers_follow_the_language():
    source = Template(
        "{% load core humanize %}{{ n|intcomma }} {{ 1234|counted:'cell' }} {{ share|floatformat:1 }}"
    )
    with translation.override("de"):
        assert source.render(Context({"n": 1234567, "share": 0.25})) == "1.234.567 1.234 cells 0,3"
