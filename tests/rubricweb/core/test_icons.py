"""The sprite of icons, and the tag that draws one."""

import re
from pathlib import Path

from django.template import Context, Template

ROOT = Path(__file__).resolve().parents[3]
SPRITE = (ROOT / "static/img/icons.svg").read_text(encoding="utf-8")


def test_every_icon_of_a_template_is_in_the_sprite():
    symbols = set(re.findall(r'<symbol id="([^"]+)"', SPRITE))
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "templates").rglob("*.html")
        for name in re.findall(r'{% icon "([^"]+)" %}', path.read_text(encoding="utf-8"))
        if name not in symbols
    }
    assert not unknown


def test_an_icon_is_decoration():
    html = Template('{% load core %}{% icon "download" %}').render(Context())
    assert (
        html == '<svg class="icon" aria-hidden="true"><use href="/static/img/icons.svg#download"></use></svg>'
    )
