"""Texts of a collection have their own direction: each is in an element that takes it from its letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from django import forms
from django.conf import settings
from django.db.models import CharField, TextField

from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Response
from rubricweb.imports.views import FilesForm
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb import two_worlds
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

ARABIC = "\u0646\u0635"
LETTER = re.compile("[\u0600-\u06ff]")
WRITTEN = {
    "answer", "background", "comment", "description", "detail", "first_name", "headings", "name", "narrative",
    "note", "reason", "rejection", "reply", "team", "text", "title",
}  # fmt: skip
"""The names of fields that people or models write, in whatever language."""
OPTIONAL = {"background", "comment", "description", "headings", "narrative", "note", "title"}
"""Of these, what the world leaves empty."""
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
NO_ELEMENTS = {"script", "style", "title", "option"}
"""What has no elements inside; of options a style takes care."""
PROGRAMS = "sheet-copy"
"""The class of tables as TSV and LaTeX."""
TEMPLATES = Path(settings.FILES_DIR, "templates")


class Walk(HTMLParser):
    """Collects the texts with Arabic letters that stand in no element with a direction of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.astray: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if LETTER.search(data) and self.open[-1][0] not in NO_ELEMENTS and not any(map(_directs, self.open)):
            self.astray.append(f"<{self.open[-1][0]}>{' '.join(data.split())[:90]}")


def _directs(element: tuple[str, dict[str, str | None]]) -> bool:
    tag, attributes = element
    is_program = PROGRAMS in (attributes.get("class") or "")
    return tag == "bdi" or attributes.get("dir") == "auto" or is_program


def astray(html: str) -> list[str]:
    walk = Walk()
    walk.feed(html)
    walk.close()
    return walk.astray


def write_in_arabic() -> None:
    """Begin whatever people or models wrote with an Arabic word."""
    for model in two_worlds.models():
        fields = [
            field
            for field in model._meta.concrete_fields
            if isinstance(field, CharField | TextField) and field.name in WRITTEN and not field.choices
        ]
        for row in model._base_manager.all() if fields else ():
            words = {
                field.name: f"{ARABIC} {value}"[: field.max_length]
                for field in fields
                if (value := getattr(row, field.name)) or field.name in OPTIONAL
            }
            model._base_manager.filter(pk=row.pk).update(**words)
    for response in Response.objects.all():
        sentences = [dict(one, text=f"{ARABIC} {one['text']}") for one in response.sentences]
        Response.objects.filter(pk=response.pk).update(sentences=sentences)


@pytest.mark.django_db
@pytest.mark.portable
def test_every_text_of_a_page_has_a_direction_of_its_own(collection, owner, client_of):
    second = UserFactory(username="second")
    MembershipFactory(user=second, collection=collection, role=Role.ASSESSOR)
    bank = world(collection, owner, second)
    values = parameters(bank, owner, blind_campaign(bank, by=owner))
    write_in_arabic()
    client, wrong, pages = client_of(owner), [], 0
    for route in readable_routes():
        response = client.get(route.address(values))
        if response.get("Content-Type", "").startswith("text/html") and not response.streaming:
            page = response.content.decode()
            pages += bool(LETTER.search(page))
            wrong += [f"{route.name}: {text}" for text in astray(page)]
    assert not wrong, "\n".join(wrong)
    assert pages > 90


TOKEN = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->|<(?=/?[a-zA-Z])|[\"'>]", re.DOTALL)
TEXTS = re.compile(r"(?:^|\.)(text|narrative|description|background|answer|comment|revision)$")
NAMED = re.compile(r"^(?:\w+\.)*(?:(?:bank|collection|campaign)(?:\.name)?|topic|item)$")
CODED = re.compile(
    r"^(?:form|forms|field|\w+_form|fact|remark|text)\b|\b(?:price|state|status|stored|error)\.text$"
)
"""What has such a name and is of the program, or is a field, which the renderer takes care of."""


class Printed(NamedTuple):
    """What a template prints into the content of an element."""

    line: int
    expression: str
    is_directed: bool


def printed(source: str) -> Iterator[Printed]:
    """Read a template as HTML: what it prints outside of tags, titles, options and fields."""
    tags: list[str] = []
    tag_at, quote, block = -1, "", ""
    for match in TOKEN.finditer(source):
        token = match[0]
        if token.startswith("{%"):
            words = token[2:-2].split()
            block = words[1] if words[0] == "block" else "" if words[0] == "endblock" else block
        elif token.startswith("{{"):
            is_content = tag_at < 0 and block not in {"title", "trail"}
            if is_content and not (tags and re.match(r"<(title|option|textarea|script|style)\b", tags[-1])):
                line = source.count("\n", 0, match.start()) + 1
                is_directed = any(tag.startswith("<bdi") or 'dir="auto"' in tag for tag in tags)
                yield Printed(line, token[2:-2].strip(), is_directed)
        elif token == "<" and tag_at < 0:
            tag_at, quote = match.start(), ""
        elif tag_at >= 0 and token in {'"', "'"}:
            quote = "" if quote == token else quote or token
        elif tag_at >= 0 and token == ">" and not quote:
            _close(tags, source[tag_at : match.end()])
            tag_at = -1


def _close(tags: list[str], tag: str) -> None:
    name = re.match(r"</?([a-zA-Z0-9]+)", tag)[1]
    if tag.startswith("</"):
        while tags and re.match(r"<([a-zA-Z0-9]+)", tags.pop())[1] != name:
            pass
    elif name not in VOID:
        tags.append(tag)


def test_every_template_gives_texts_a_direction():
    """Also those parts that the pages of the test above do not show."""
    wrong = []
    for path in sorted(TEMPLATES.rglob("*.html")):
        for one in printed(path.read_text(encoding="utf-8")):
            name, *filters = one.expression.split("|")
            is_text = (TEXTS.search(name) or NAMED.search(name)) and not CODED.search(name)
            if is_text and not one.is_directed and filters[-1:] != ["bdi"]:
                wrong.append(f"{path.relative_to(TEMPLATES)}:{one.line}: {one.expression}")
    assert not wrong, "\n".join(wrong)


def test_whatever_is_typed_has_a_direction():
    """Fields of forms have it from the renderer; these stand in templates."""
    fields = [
        (path.name, tag)
        for path in TEMPLATES.rglob("*.html")
        for tag in re.findall(r"<(?:textarea|input)\b[^>]*", path.read_text(encoding="utf-8"))
        if tag.startswith("<textarea") or 'type="search"' in tag or 'type="text"' in tag or "type=" not in tag
    ]
    assert [field for field in fields if 'dir="auto"' not in field[1]] == []
    assert len(fields) > 5


def test_a_field_for_files_has_a_fixed_direction():
    """Chromium looks at all lines anew for each one: of 100,000 it would stand still for half a minute."""
    [tag] = re.findall(r"<textarea[^>]*>", str(FilesForm()))
    assert 'dir="ltr"' in tag
    assert "auto" not in tag


def test_a_form_gives_its_texts_a_direction():
    class Note(forms.Form):
        line = forms.CharField()
        lines = forms.CharField(widget=forms.Textarea)
        number = forms.IntegerField()

    html = str(Note())
    assert re.findall(r'<(?:input|textarea)[^>]*name="(\w+)"[^>]*dir="auto"', html) == ["line", "lines"]
