"""From Markdown to the HTML of a help page: anchors on headings, links between pages, no raw HTML."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

PICTURES = "img/"
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """What is between two headings."""

    level: int
    anchor: str
    heading: str
    text: str
    """Without markup."""


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    title: str
    html: SafeString
    parts: tuple[Part, ...]
    """The first is the title's; its anchor is empty."""

    @property
    def address(self) -> str:
        return address_of(self.name)

    @property
    def headings(self) -> list[Part]:
        """Those of the second level."""
        return [part for part in self.parts if part.level == 2]

    @property
    def anchors(self) -> set[str]:
        return {part.anchor for part in self.parts}


def address_of(name: str) -> str:
    return reverse("help:index") if name == "index" else reverse("help:page", args=[name])


def parse(name: str, text: str) -> Document:
    """Raises ValueError where the text does not begin with a title."""
    tokens = _MARKDOWN.parse(_COMMENT.sub("", text))
    if not tokens or tokens[0].tag != "h1":
        raise ValueError(f"{name}.md does not begin with a title (# ...)")
    parts = _anchored(tokens)
    for token in tokens:
        _point(token, name)
    html = _MARKDOWN.renderer.render(tokens[3:], _MARKDOWN.options, {})
    # The renderer escapes what it is given: html is False.
    return Document(name, parts[0].heading, mark_safe(html), tuple(parts))  # noqa: S308


def _anchored(tokens: list[Token]) -> list[Part]:
    """Give each heading an id, and return the parts that they begin."""
    starts = [place for place, token in enumerate(tokens) if token.type == "heading_open"]
    parts: list[Part] = []
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        heading = _plain(tokens[start + 1])
        anchor = "" if start == 0 else slugify(heading)
        if anchor in {part.anchor for part in parts}:
            anchor = f"{anchor}-{len(parts)}"
        tokens[start].attrSet("id", anchor)
        words = " ".join(filter(None, map(_plain, tokens[start + 3 : end])))
        parts.append(Part(int(tokens[start].tag[1]), anchor, heading, words))
    return parts


def _plain(token: Token) -> str:
    if token.type == "fence":
        return token.content
    return "".join(" " if child.type == "softbreak" else child.content for child in token.children or ())


def _point(token: Token, name: str) -> None:
    """Point links and pictures to where they are served; links to files that are not pages become text."""
    if token.type == "th_open":
        token.attrSet("scope", "col")
    if token.attrs.pop("style", None) == "text-align:right":  # no page may bring styles of its own
        token.attrSet("class", "num")
    for child in token.children or ():
        if child.type == "image":
            picture = str(child.attrGet("src")).rpartition("/")[2]
            child.attrSet("src", static(f"help/{picture}"))
            child.attrSet("loading", "lazy")
        elif child.type == "link_open":
            child.attrSet("href", _target(str(child.attrGet("href")), name))


def _target(href: str, name: str) -> str:
    parts = urlsplit(href)
    if parts.scheme or not parts.path:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path))
    page = re.sub(r"^(?:\.\./)*(?:docs/)?(?:help/)?", "", path).removesuffix(".md")
    return address_of(page) + (f"#{parts.fragment}" if parts.fragment else "")


def _table_open(*_: object) -> str:
    return '<div class="table-frame" tabindex="0" role="group" aria-label="Table"><table class="table">'


def _table_close(*_: object) -> str:
    return "</table></div>"


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", _table_open)
    markdown.add_render_rule("table_close", _table_close)
    return markdown


_MARKDOWN = _markdown()
