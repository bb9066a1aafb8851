"""Numbers and tables of results as their templates print them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from django import template
from django.utils.safestring import SafeString, mark_safe

from grading.formats.tables import PrintedTable, TextCell, tex_lines, tsv_lines
from rubricweb.core.tags import bdi
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


def _row(cells: Sequence[TextCell], are_numbers: Sequence[bool]) -> str:
    """Return a row as HTML: a template loop over hundreds of cells is slow."""
    (head, _), *others = zip(cells, are_numbers, strict=True)
    first = f'<th scope="row"{_attribute("title", head.title)}>{_linked(head.text, head.href)}</th>'
    return f"<tr>{first}{''.join(_cell(cell, is_number=is_number) for cell, is_number in others)}</tr>"


def _cell(cell: TextCell, *, is_number: bool) -> str:
    number = ' class="num"' if is_number else ""
    attributes = f"{number}{_attribute('data-mark', cell.mark)}{_attribute('title', cell.title)}"
    content = ", ".join(_linked(*link) for link in cell.links or [(cell.text, cell.href)])
    return f"<td{attributes}>{content}</td>"


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else ""


def _linked(text: str, href: str) -> str:
    return f'<a dir="auto" href="{escape(href)}">{escape(text)}</a>' if href else bdi(text)


@register.simple_tag
def parting_ticks(parting: Parting) -> SafeString:
    """Draw where the runs stand on a topic: short lines, and long ones for the first runs."""
    lines = [f'<line x1="{x}%" x2="{x}%" y1="2" y2="14" />' for x in parting.others]
    lines += [f'<line class="is-first" x1="{x}%" x2="{x}%" y1="0" y2="16" />' for x in parting.first]
    return mark_safe("".join(lines))  # noqa: S308  (numbers)


@register.inclusion_tag("leaderboards/_sheet.html")
def sheet(table: PrintedTable, name: str, caption: str = "") -> dict[str, object]:
    """Return the table, with the same as LaTeX and TSV to copy; `name` makes its ids unique on the page."""
    are_numbers = [table.is_number(place) for place in range(len(table.columns))]
    return {
        "sheet": table,
        "name": name,
        "caption": caption or table.title,
        "heads": list(zip(table.columns, are_numbers, strict=True)),
        "rows": SafeString("".join(_row(cells, are_numbers) for cells in table.rows)),
        "tex": "\n".join(tex_lines(table)),
        "tsv": "\n".join(tsv_lines(table.data)),
    }
