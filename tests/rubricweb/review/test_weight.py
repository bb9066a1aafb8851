"""What a first visit of the grid brings over the wire."""

import gzip
import re
from pathlib import Path
from urllib.parse import urljoin

from django.contrib.staticfiles import finders

MAX_BYTES = 200_000


def brought(address: str) -> dict[str, bytes]:
    """The file at the address, and the modules that it imports."""
    content = Path(finders.find(address.removeprefix("/static/"))).read_bytes()
    files = {address: content}
    if address.endswith(".js") and "/static/js/" in address:
        for name in re.findall(r'^import (?:.+ from )?"(\./[^"]+)"', content.decode(), re.MULTILINE):
            files |= brought(urljoin(address, name))
    return files


def test_the_first_grid_is_light(autumn, viewer, client_of):
    page = client_of(viewer).get(autumn.grid).content
    files = {}
    for address in re.findall(r'(?:href|src)="(/static/[^"#]+)', page.decode()):
        files |= brought(address)
    sizes = {"page": len(gzip.compress(page))} | {name: len(gzip.compress(files[name])) for name in files}

    assert any(name.endswith("outbox.js") for name in sizes), "imports count"
    assert sum(sizes.values()) < MAX_BYTES, sizes
