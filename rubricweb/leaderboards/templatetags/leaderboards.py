"""Numbers and tables of results as their templates print them."""

from __future__ import annotations

from django import template

from grading.formats.tables import PrintedTable, tex_lines, tsv_lines
from rubricweb.leaderboards.comparison import number
from rubricweb.leaderboards.influence import signed

register = template.Library()


@register.filter
def three(value: float | None) -> str:
    """Return three decimals; a dash for what is undefined."""
    return "\N{EN DASH}" if value is None else number(value)


@register.filter
def plus(value: float) -> str:
    """Return three decimals with their sign; 0 has none."""
    return number(value, signed=True)


@register.filter
def unlocalized(value: float) -> str:
    """Return a number of an SVG, whatever the language."""
    return f"{value:g}"


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
