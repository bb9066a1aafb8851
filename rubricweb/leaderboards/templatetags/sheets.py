"""Tables of results: on the page, and as text to paste."""

from __future__ import annotations

from django import template

from grading.formats.data_table import tsv_lines
from grading.formats.sheets import PrintedTable, tex_lines

register = template.Library()


@register.inclusion_tag("leaderboards/_sheet.html")
def sheet(found: PrintedTable, name: str, caption: str = "") -> dict[str, object]:
    """The table, with the same as LaTeX and TSV to copy; `name` makes its ids unique on the page."""
    return {
        "sheet": found,
        "name": name,
        "caption": caption or found.title,
        "heads": [(label, found.is_number(place)) for place, label in enumerate(found.columns)],
        "rows": [
            [(cell, place == 0, found.is_number(place)) for place, cell in enumerate(cells)]
            for cells in found.rows
        ],
        "tex": "\n".join(tex_lines(found)),
        "tsv": "\n".join(tsv_lines(found.data)),
    }
