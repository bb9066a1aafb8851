"""What a first visit of the grid brings over the wire."""

import gzip
import re
from pathlib import Path

from django.contrib.staticfiles import finders

MAX_BYTES = 200_000
MAX_REQUESTS = 8


def found(attributes: str, page: str) -> set[str]:
    """Addresses of static files."""
    return set(re.findall(rf'\s(?:{attributes})="(/static/[^"#]+)', page))


def test_the_first_grid_is_light(autumn, viewer, client_of):
    page = client_of(viewer).get(autumn.grid).content.decode()
    at_once, on_demand = found("href|src", page), found("data-script|data-styles", page)
    files = {name: Path(finders.find(name.removeprefix("/static/"))) for name in at_once | on_demand}
    sizes = {"page": len(gzip.compress(page.encode()))}
    sizes |= {name: len(gzip.compress(path.read_bytes())) for name, path in files.items()}

    assert on_demand, "search, topics and keys count"
    assert b"class Outbox" in files["/static/bundles/grid.js"].read_bytes(), "imports count"
    assert sum(sizes.values()) < MAX_BYTES, sizes

    fetched_by_htmx = page.count("sse-connect=") + page.count('hx-trigger="load"')
    assert 1 + len(at_once) + fetched_by_htmx <= MAX_REQUESTS, at_once
