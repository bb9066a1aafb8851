"""Build the public site from the documents of this repository: `make site`.

    python docs/site/build.py [FOLDER] [--url https://rubric.example.org/]

Writes each document as HTML by the renderer of `/help/`, its Markdown beside it, the pictures, an index for
the search, and `llms.txt`, without a network. `--url` makes the links of `llms.txt` absolute. Addresses are
relative, so that any folder of any server will do.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

from rubricweb.help.pages import CONTENTS, HelpPage, parse  # noqa: E402

OWN = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FRONT = "README.md"
ABOUT = (
    "docs/reproduce.md",
    "docs/screens.md",
    "docs/architecture.md",
    "CONTRIBUTING.md",
    "DECISIONS.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
)
STYLES = ("tokens", "base", "components", "help")
EXTRA_STYLES = """
.help { max-width: 84rem; margin: 0 auto; padding: var(--space-4); }
#hits ul { max-height: 20rem; overflow-y: auto; margin-bottom: var(--space-3); }
"""
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


@dataclass(frozen=True, slots=True)
class Document:
    source: str
    """Its path from the root of the repository."""
    page: HelpPage

    @property
    def html(self) -> str:
        return published(self.source).removesuffix(".md") + ".html"

    @property
    def description(self) -> str:
        """The first sentence, or the headings of a page that begins with one."""
        [first, *_] = re.split(r"(?<=[.?])\s", self.page.parts[0].text, maxsplit=1)
        return first or ", ".join(part.heading for part in self.page.headings) + "."


def sections() -> dict[str, tuple[str, ...]]:
    """The documents by section: those of the help, and what a server does not show."""
    return {
        "Project": (FRONT,),
        **{section: tuple(map(of_help, names)) for section, names in CONTENTS.items()},
        "About": ABOUT,
    }


def of_help(name: str) -> str:
    inside = f"docs/help/{name}.md"
    return inside if (ROOT / inside).is_file() else f"docs/{name}.md"


SOURCES = tuple(source for group in sections().values() for source in group)


def published(source: str) -> str:
    """The path of a file of the repository in the site: docs/ is its root, and README.md its first page."""
    return "index.md" if source == FRONT else source.removeprefix("docs/")


def relative(target: str, source: str) -> str:
    """The address of a path of the site as the page of `source` has it."""
    return posixpath.relpath(target, posixpath.dirname(published(source)) or ".")


def resolved(href: str, source: str) -> str:
    """The path in the repository to which a document's link leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), href))


def link(href: str, source: str, ending: str = ".html") -> str:
    """A link of a document as the site has it; what is no page of the site is on the project's own."""
    path, _, fragment = href.partition("#")
    if not path or re.match(r"[a-z]+:", href):
        return href
    target = resolved(path, source)
    anchor = f"#{fragment}" if fragment else ""
    if target not in SOURCES:
        return f"{PROJECT['urls']['Source']}/blob/main/{target}{anchor}"
    return relative(published(target).removesuffix(".md") + ending, source) + anchor


def picture(href: str, source: str) -> str:
    return relative(published(resolved(href, source)), source)


def markdown(source: str, text: str) -> str:
    """The text with links that hold beside the page."""

    def replaced(match: re.Match[str]) -> str:
        href = match[1] + (match[2] or "")
        is_picture = match[1].endswith((".webp", ".png", ".svg"))
        return picture(href, source) if is_picture else link(href, source, ".md")

    return LINK.sub(replaced, text)


def documents() -> list[Document]:
    texts = {source: (ROOT / source).read_text(encoding="utf-8") for source in SOURCES}
    return [Document(source, parse(source, text, link, picture)) for source, text in texts.items()]


def contents(of: Document, by_source: dict[str, Document]) -> str:
    """The list of all pages, as the page of one has it."""
    lines = []
    for section, sources in sections().items():
        lines.append(f"<h2>{section}</h2><ul>")
        for each in map(by_source.__getitem__, sources):
            current = ' aria-current="page"' if each == of else ""
            href = relative(each.html, of.source)
            lines.append(f'<li><a href="{href}"{current}>{escape(each.page.title)}</a></li>')
        lines.append("</ul>")
    return "\n".join(lines)


def headings(page: HelpPage) -> str:
    if len(page.headings) < 3:
        return ""
    links = (f'<li><a href="#{part.anchor}">{escape(part.heading)}</a></li>' for part in page.headings)
    return f'<nav class="help-headings" aria-label="On this page"><ul>{"".join(links)}</ul></nav>'


def write_page(document: Document, by_source: dict[str, Document], folder: Path) -> None:
    path = folder / document.html
    path.parent.mkdir(parents=True, exist_ok=True)
    text = Template((OWN / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(document.page.title),
        description=escape(document.description),
        root=relative(".", document.source).rstrip("/") + "/",
        markdown=posixpath.basename(document.html).removesuffix(".html") + ".md",
        headings=headings(document.page),
        html=document.page.html,
        contents=contents(document, by_source),
    )
    path.write_text(text, encoding="utf-8")
    source = (ROOT / document.source).read_text(encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(document.source, source), encoding="utf-8")


def write_search(all_documents: list[Document], folder: Path) -> None:
    parts = [
        {
            "page": document.page.title,
            "heading": part.heading,
            "address": document.html + (f"#{part.anchor}" if part.anchor else ""),
            "text": part.text,
        }
        for document in all_documents
        for part in document.page.parts
    ]
    index = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    (folder / "search.json").write_text(index, encoding="utf-8")


def write_llms(by_source: dict[str, Document], folder: Path, url: str) -> None:
    """What a language model should read of the site, as llmstxt.org has it."""
    lines = [f"# {by_source[FRONT].page.title}", "", f"> {PROJECT['description']}"]
    for section, sources in sections().items():
        lines += ["", f"## {section}", ""]
        for each in map(by_source.__getitem__, sources):
            address = url + each.html.removesuffix(".html") + ".md"
            lines.append(f"- [{each.page.title}]({address}): {each.description}")
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def copy_assets(all_documents: list[Document], folder: Path) -> None:
    pictures = {
        resolved(match[1], document.source)
        for document in all_documents
        for match in re.finditer(r"!\[[^\]]*\]\(([^)\s]+)\)", (ROOT / document.source).read_text("utf-8"))
    }
    files = {source: published(source) for source in pictures}
    files |= {f"static/{name}": name for name in ("fonts/inter.woff2", "img/icon.svg")}
    files["docs/site/search.js"] = "search.js"
    for source, target in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, folder / target)
    styles = [(ROOT / f"static/css/{name}.css").read_text(encoding="utf-8") for name in STYLES]
    (folder / "css").mkdir(exist_ok=True)
    (folder / "css/site.css").write_text("\n".join([*styles, EXTRA_STYLES]), encoding="utf-8")


def build(folder: Path, url: str = "") -> None:
    """Write the site into `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    all_documents = documents()
    by_source = {document.source: document for document in all_documents}
    for document in all_documents:
        write_page(document, by_source, folder)
    write_search(all_documents, folder)
    write_llms(by_source, folder, url)
    copy_assets(all_documents, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the public site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist" / "site")
    parser.add_argument("--url", default="", help="where the site will be, for the links of llms.txt")
    arguments = parser.parse_args()
    build(arguments.folder, arguments.url)
    print(arguments.folder)
