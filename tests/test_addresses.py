"""One address, one room: an address names the folder that serves it, its templates and its url names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = "collections/<slug:slug>/"
OF_THE_ROOT = {
    "home": {
        "",
        "join/",
        "search/",
        "collections/",
        COLLECTION,
        f"{COLLECTION}work/",
        f"{COLLECTION}results/",
    },
    "corpus": {
        f"{COLLECTION}{page}/" for page in ("attributes", "audit", "events", "people", "runs", "settings")
    },
    "core": {"patterns/"},
}
"""The pages of a site and of a collection themselves, by the room that serves them."""
SECTIONS = {("archives", "imports"), ("webhooks", "corpus"), ("grades", "jobs")}
"""(room, folder): what a room shows as a section of another room's page, or as its line."""


def _pages(
    resolver: URLResolver | None = None, prefix: str = "", namespace: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield (address, namespace, room of the view) of each page of ours."""
    for entry in (resolver or get_resolver()).url_patterns:
        address = prefix + str(entry.pattern).removeprefix("^")
        if isinstance(entry, URLResolver):
            yield from _pages(entry, address, entry.namespace or namespace)
        elif isinstance(entry, URLPattern) and (room := _room(entry, namespace)):
            yield address, namespace, room


def _room(entry: URLPattern, namespace: str) -> str:
    """Return the room whose code answers; that of the namespace where Django's view does; "" of others."""
    view = getattr(entry.callback, "view_class", entry.callback)
    if view.__module__.startswith("django.contrib.auth.views"):
        return namespace
    parts = view.__module__.split(".")
    return parts[1] if parts[0] == "rubricweb" and "admin" not in parts else ""


def _is_of_the_root(address: str, room: str) -> bool:
    return any(
        address == page or (page.startswith(COLLECTION) and page != COLLECTION and address.startswith(page))
        for page in OF_THE_ROOT.get(room, ())
    )


def test_an_address_names_the_room_that_serves_it():
    others = [
        f"{address} is served by {room}"
        for address, _, room in _pages()
        if not address.removeprefix(COLLECTION).startswith(f"{room}/") and not _is_of_the_root(address, room)
    ]
    assert others == []


def test_a_name_of_an_address_begins_with_its_room():
    others = [
        f"{namespace}: {address} of {room}" for address, namespace, room in _pages() if namespace != room
    ]
    assert others == []


def test_a_room_renders_templates_of_its_folder():
    """Pages only: fragments of other rooms are included by templates, not rendered by views."""
    rendered = re.compile(r"""["']([a-z_]+)/[a-z_/]+\.html["'#]""")
    folders = {path.name for path in (ROOT / "templates").iterdir() if path.is_dir()}
    others = [
        f"{path.relative_to(ROOT)} renders {folder}/"
        for path in sorted((ROOT / "rubricweb").rglob("*.py"))
        for room in [path.relative_to(ROOT / "rubricweb").parts[0]]
        for folder in rendered.findall(path.read_text(encoding="utf-8"))
        if folder in folders - {"core", room} and (room, folder) not in SECTIONS
    ]
    assert others == []
