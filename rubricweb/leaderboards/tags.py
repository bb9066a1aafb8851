"""Numbers and tables of results as their templates print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from grading.formats.tables import PrintedTable, TextCell, tex_lines, tsv_lines
from rubricweb.core.tags import bdi
from rubricweb.core.widgets import fill
from rubricweb.leaderboards.board_rows import board_rows, dot_svg
from rubricweb.leaderboards.comparison import number
from rubricweb.leaderboards.influence import signed

if TYPE_CHECKING:
    from rubricweb.leaderboards.board_page import Parting

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
register.simple_tag(board_rows)
register.simple_tag(dot_svg)


def _cell(table: PrintedTable, place: int, cell: TextCell) -> SafeString:
    """Render a cell here: a template loop over hundreds of them is slow."""
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    if not place:
        head = f'<th scope="row"{title}>{_linked(cell.text, cell.href)}</th>'
        return mark_safe(head)  # noqa: S308  (escaped here)
    number = ' class="num"' if table.is_number(place) else ""
    mark = f' data-mark="{escape(cell.mark)}"' if cell.mark else ""
    content = ", ".join(_linked(*link) for link in cell.links or [(cell.text, cell.href)])
    return mark_safe(f"<td{number}{mark}{title}>{content}</td>")  # noqa: S308  (escaped here)


def _linked(text: str, href: str) -> SafeString:
    return fill('<a dir="auto" href="{href}">{text}</a>', href=href, text=text) if href else bdi(text)


@register.simple_tag
def parting_ticks(parting: Parting) -> SafeString:
    """Draw where the runs stand on a topic: short lines, and long ones for the first runs."""
    lines = [f'<line x1="{x}%" x2="{x}%" y1="2" y2="14" />' for x in parting.others]
    lines += [f'<line class="is-first" x1="{x}%" x2="{x}%" y1="0" y2="16" />' for x in parting.first]
    return mark_safe("".join(lines))  # noqa: S308  (numbers)


@register.inclusion_tag("leaderboards/_sheet.html")
def sheet(table: PrintedTable, name: str, caption: str = "") -> dict[str, object]:
    """Return the table, with the same as LaTeX and TSV to copy; `name` makes its ids unique on the page."""
    return {
        "sheet": table,
        "name": name,
        "caption": caption or table.title,
        "heads": [(label, table.is_number(place)) for place, label in enumerate(table.columns)],
        "rows": [[_cell(table, place, cell) for place, cell in enumerate(cells)] for cells in table.rows],
        "tex": "\n".join(tex_lines(table)),
        "tsv": "\n".join(tsv_lines(table.data)),
    }
