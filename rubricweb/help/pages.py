"""The help: the Markdown files of docs/ as HTML, which page explains which screen, and its views."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from django import template
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

PICTURES = "img/"
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)

INDEX = "index"
CONTENTS: dict[str, tuple[str, ...]] = {
    "Start": (
        INDEX,
        "tutorials/assessor",
        "tutorials/topic-developer",
        "tutorials/organizer",
        "tutorials/participant",
    ),
    "Work with it": ("topics", "work", "results", "runs", "files", "graders", "people"),
    "Run it": ("server", "sign-in", "local-models", "programs", "judges", "commands"),
    "Look up": ("measures", "certainty", "glossary"),
}
"""The names of the pages by section; `measures` is `docs/help/measures.md` or `docs/measures.md`."""
PAGES = {
    "accounts": "people#your-account",
    "api": "programs#the-api",
    "arena": "work#vote",
    "arena:board": "results#votes",
    "archives": "server#archive-and-restore-a-collection",
    "campaigns": "work#rate",
    "campaigns:campaign-new": "work#open-a-campaign",
    "campaigns:campaigns": "work#open-a-campaign",
    "campaigns:decide": "work#decide",
    "core": INDEX,
    "corpus": "people#settings-of-a-collection",
    "corpus:people": "people#invite-people",
    "corpus:runs": "runs",
    "corpus:run-edit": "runs",
    "editor": "topics",
    "editor:drafts": "topics#draft-with-a-model",
    "editor:history": "topics#history",
    "editor:trial": "topics#retire-weigh-try",
    "exports": "files#take-files-out",
    "grades": "graders#grade",
    "grades:pool": "runs#the-pool",
    "help": INDEX,
    "home": INDEX,
    "home:results": "results",
    "home:work": "work",
    "imports": "files#bring-files-in",
    "leaderboards": "results#read-the-board",
    "leaderboards:compare": "results#compare-two-runs",
    "leaderboards:sure": "results#how-sure-are-we",
    "leaderboards:public": "results#publish-a-board",
    "graders": "graders#choose-a-grader",
    "graders:write": "graders#prompts-of-your-own",
    "releases": "files#take-files-out",
    "review:topic": "topics",
    "review": "topics#read-the-grid",
    "review:flags": "work#flags",
    "review:problems": "topics#problems",
    "review:verify": "work#verify",
    "submissions": "runs#take-submissions",
    "submissions:submission": "runs#submit-a-run",
    "submissions:submit": "runs#submit-a-run",
    "support": "results#support",
    "support:label": "work#label-citations",
    "systems": "runs#make-a-run",
    "webhooks": "programs#webhooks",
}
"""Page and anchor by the name of a route, or of its namespace for all others in it."""


@dataclass(frozen=True, slots=True)
class HelpSection:
    """What is between two headings."""

    level: int
    anchor: str
    heading: str
    text: str
    """The text without markup."""


@dataclass(frozen=True, slots=True)
class HelpPage:
    name: str
    title: str
    html: SafeString
    parts: tuple[HelpSection, ...]
    """The first is the title's; its anchor is empty."""

    @property
    def address(self) -> str:
        return address_of(self.name)

    @property
    def headings(self) -> list[HelpSection]:
        """Return the headings of the second level."""
        return [part for part in self.parts if part.level == 2]

    @property
    def anchors(self) -> set[str]:
        return {part.anchor for part in self.parts}


def address_of(name: str) -> str:
    return reverse("help:index") if name == "index" else reverse("help:page", args=[name])


def parse(
    name: str,
    text: str,
    link: Callable[[str, str], str] | None = None,
    picture: Callable[[str, str], str] | None = None,
) -> HelpPage:
    """Return the document. Raises ValueError if the text does not begin with a title.

    `link` and `picture` take what the text has as address, and the name of the page, and return where that
    is served; without them, where this server has it.
    """
    tokens = _MARKDOWN.parse(_COMMENT.sub("", text))
    if not tokens or tokens[0].tag != "h1":
        raise ValueError(f"{name}.md does not begin with a title (# ...)")
    starts = [place for place, token in enumerate(tokens) if token.type == "heading_open"]
    parts: list[HelpSection] = []
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        heading = _plain(tokens[start + 1])
        anchor = "" if start == 0 else slugify(heading)
        if anchor in {part.anchor for part in parts}:
            anchor = f"{anchor}-{len(parts)}"
        tokens[start].attrSet("id", anchor)
        content = " ".join(filter(None, map(_plain, tokens[start + 3 : end])))
        parts.append(HelpSection(int(tokens[start].tag[1]), anchor, heading, content))
    for token in tokens:
        _point(token, name, link or _target, picture or _picture)
    html = _MARKDOWN.renderer.render(tokens[3:], _MARKDOWN.options, {})
    # The renderer escapes what it is given: html is False.
    return HelpPage(name, parts[0].heading, mark_safe(html), tuple(parts))  # noqa: S308


def _plain(token: Token) -> str:
    if token.type == "fence":
        return token.content
    return "".join(" " if child.type == "softbreak" else child.content for child in token.children or ())


def _point(
    token: Token, name: str, link: Callable[[str, str], str], picture: Callable[[str, str], str]
) -> None:
    """Point links and pictures to where they are served; links to files that are not pages become text."""
    if token.type == "th_open":
        token.attrSet("scope", "col")
    if token.attrs.pop("style", None) == "text-align:right":  # no page may bring styles of its own
        token.attrSet("class", "num")
    for child in token.children or ():
        if child.type == "image":
            child.attrSet("src", picture(str(child.attrGet("src")), name))
            child.attrSet("loading", "lazy")
        elif child.type == "link_open":
            child.attrSet("href", link(str(child.attrGet("href")), name))


def _picture(source: str, name: str) -> str:
    return static(f"help/{source.rpartition('/')[2]}")


def _target(href: str, name: str) -> str:
    parts = urlsplit(href)
    if parts.scheme or not parts.path:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path))
    page = re.sub(r"^(?:\.\./)*(?:docs/)?(?:help/)?", "", path).removesuffix(".md")
    return address_of(page) + (f"#{parts.fragment}" if parts.fragment else "")


_TABLE = '<div class="table-frame" tabindex="0" role="group" aria-label="Table"><table class="table">'
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_MARKDOWN.add_render_rule("table_open", lambda *_: _TABLE)
_MARKDOWN.add_render_rule("table_close", lambda *_: "</table></div>")


def page_names() -> list[str]:
    return [name for names in CONTENTS.values() for name in names if path_of(name)]


def path_of(name: str) -> Path | None:
    """Return the file of a page; None where the name is not in the contents, or has no file."""
    if not any(name in names for names in CONTENTS.values()):
        return None
    paths = (settings.HELP_DIR / "help" / f"{name}.md", settings.HELP_DIR / f"{name}.md")
    return next((path for path in paths if path.is_file()), None)


def document(name: str) -> HelpPage | None:
    """Return the page, parsed again when its file has changed."""
    path = path_of(name)
    return _parsed(name, path, path.stat().st_mtime_ns) if path else None


@lru_cache(maxsize=64)
def _parsed(name: str, path: Path, modified: int) -> HelpPage:
    return parse(name, path.read_text(encoding="utf-8"))


def table_of_contents() -> list[tuple[str, list[HelpPage]]]:
    """Return the sections with their pages."""
    return [
        (section, [page for name in names if (page := document(name))]) for section, names in CONTENTS.items()
    ]


def sections_with(query: str) -> list[tuple[HelpPage, str, str, str]]:
    """Return the parts of pages that have every word: page, anchor, heading and the beginning of the text.

    Hits in headings come first, otherwise in the order of the contents.
    """
    terms = query.casefold().split()
    hits = []
    for page in filter(None, map(document, page_names())):
        for part in page.parts if terms else ():
            heading = f"{page.title} {part.heading}".casefold()
            if all(word in heading or word in part.text.casefold() for word in terms):
                hits.append((-sum(word in heading for word in terms), page, part))
    hits.sort(key=lambda hit: hit[0])
    return [(page, part.anchor, part.heading, part.text[:200]) for _, page, part in hits]


def help_for(route: str) -> str:
    """Return the address of the page for a route such as `review:topic`, else of the first page."""
    page = PAGES.get(route) or PAGES.get(route.partition(":")[0], INDEX)
    name, _, anchor = page.partition("#")
    return address_of(name) + (f"#{anchor}" if anchor else "")


@require_safe
@login_not_required
def index(request: HttpRequest) -> HttpResponse:
    return _page(request, INDEX)


@require_safe
@login_not_required
def page(request: HttpRequest, page: str) -> HttpResponse:
    return _page(request, page)


@require_safe
@login_not_required
def source(request: HttpRequest, page: str) -> HttpResponse:
    """Answer with the Markdown of a page, for programs that read it."""
    path = path_of(page)
    if path is None:
        raise Http404("The help has no such page.")
    return HttpResponse(path.read_text(encoding="utf-8"), content_type="text/markdown; charset=utf-8")


@require_safe
@login_not_required
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    context = {"words": query, "hits": sections_with(query), "contents": table_of_contents()}
    return render(request, "help/search.html", context)


def _page(request: HttpRequest, name: str) -> HttpResponse:
    shown_page = document(name)
    if shown_page is None:
        raise Http404("The help has no such page.")
    context = {"page": shown_page, "contents": table_of_contents()}
    return render(request, "help/page.html", context)


register = template.Library()


@register.simple_tag(takes_context=True)
def help_url(context: Context) -> str:
    match = getattr(context.get("request"), "resolver_match", None)
    return help_for(match.view_name if match else "")
