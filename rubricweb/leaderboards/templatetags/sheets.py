"""Tables of results: on the page, and as text to paste."""

from __future__ import annotations

from django import template

from grading.formats.tables import PrintedTable, tex_lines, tsv_lines
from rubricweb.leaderboards.influence.items import signed

register = template.Library()
register.filter(signed)


@register.inclusion_tag("leaderboards/_sheet.html")
def sheet(table: PrintedTable, name: str, caption: str = "") -> dict[str, object]:
    """Return the table, with the same as LaTeX and TSV to copy; `name` makes its ids unique on the page."""
    return {
        "sheet": table,
        "name": name,
        "caption": caption or table.title,
        "heads": [(label, table.is_number(place)) for place, label in enumerate(table.columns)],
        "rows": [
            [(cell, place == 0, table.is_number(place)) for place, cell in enumerate(cells)]
            for cells in table.rows
        ],
        "tex": "\n".join(tex_lines(table)),
        "tsv": "\n".join(tsv_lines(table.data)),
    }
