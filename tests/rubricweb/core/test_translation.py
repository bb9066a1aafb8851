"""Scripts take their texts from the page, and numbers follow the language."""

from __future__ import annotations

import json
import re
from pathlib import Path

from django.conf import settings
from django.template import Context, Template
from django.urls import reverse
from django.utils import translation

from rubricweb.core.script_texts import TEXTS

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
        "{% load core humanize %}{{ n|intcomma }} {{ 1234|counted:'pair' }} {{ share|floatformat:1 }}"
    )
    with translation.override("de"):
        assert source.render(Context({"n": 1234567, "share": 0.25})) == "1.234.567 1.234 pairs 0,3"
