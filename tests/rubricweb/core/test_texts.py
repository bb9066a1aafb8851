"""Scripts take their texts from the page, and counts have their plurals."""

from __future__ import annotations

import json
import re
from pathlib import Path

from django.conf import settings
from django.template import Context, Template
from django.urls import reverse

from rubricweb.core.tags import TEXTS

SCRIPTS = sorted(Path(settings.FILES_DIR, "static", "js").glob("*.js"))
SENTENCE = re.compile(r"""["`'][A-Z][a-z]+[ .…][^"`']*["`']""")
CALL = re.compile(r"\btext\(([^()]*)")


def test_scripts_take_their_texts_from_the_page():
    sources = {path.name: re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in SCRIPTS}
    own = {name: texts for name, source in sources.items() if (texts := SENTENCE.findall(source))}
    assert own == {}
    used = {name for source in sources.values() for call in CALL.findall(source) for name in named(call)}
    assert used == {name for name in TEXTS if not name.startswith("refused")}  # by the status of an answer


def named(call: str) -> list[str]:
    """The names of texts in the arguments of `text()`, before the values."""
    return re.findall(r'"([^"]+)"', re.sub(r"\w+ === \"\w+\"|\{.*", "", call))


def test_a_page_brings_the_texts_of_its_scripts(client):
    page = client.get(reverse("accounts:login")).content.decode()
    [texts] = re.findall(r'<script id="texts" type="application/json">(.*?)</script>', page)
    assert json.loads(texts)["all saved"] == "Everything is saved."


def test_counts_have_their_plurals():
    source = "{% load core %}{{ 1|counted:'passage' }}, {{ 1234|counted:'passage' }}"
    assert Template(source).render(Context()) == "1 passage, 1,234 passages"
