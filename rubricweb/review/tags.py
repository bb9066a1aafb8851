"""Heads of sortable columns, the grid's head and rows, and flags where other rooms show an item.

The grid is written in Python: templates take three times as long for a thousand cells.
"""

from __future__ import annotations

import html
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from django import template
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from rubricweb.accounts import roles
from rubricweb.banks.selectors import ItemRow, key_counts
from rubricweb.core.formatting import counted
from rubricweb.core.tags import DASH, bdi, fill, grade_chip, icon, joined, percent
from rubricweb.corpus.models import Topic
from rubricweb.editor.rows import ItemWriter, change_addresses, separation_sign
from rubricweb.review import flags
from rubricweb.review.selectors.columns import GridColumn
from rubricweb.review.selectors.grid import Grid
from rubricweb.review.selectors.window import (
    ANSWER_SHADES,
    ANSWER_SIGNS,
    ANSWER_WORDS,
    GridCell,
    PlacedCell,
    Row,
    RowGroup,
)

register = template.Library()
register.simple_tag(separation_sign)

FALLING_FIRST = "num"
"""The class of number columns: the first click sorts the highest value to the top."""
NOTHING = SafeString("")
ROW = """
<tr aria-rowindex="{number}"{opens_group}>
  <th scope="row" aria-colindex="1" tabindex="-1" id="p{pk}"{uncovered}>
    {group}
    <span class="passage-head">
      %s
      <span class="passage-words" title="{doc_id}"><span class="doc-id">{doc_id}</span> <span
        dir="auto" class="muted">{excerpt}</span></span>
      {flags}
      <span class="judgment-chip"{unjudged} title="human judgment"><span
        class="visually-hidden">judged </span>{judgment}</span>
      <span class="visually-hidden">label </span>{label}
      <span class="visually-hidden">{covered} covered</span>
    </span>
    {runs}
  </th>
  {cells}
</tr>"""
COLUMN_HEAD = """
<th scope="col" aria-colindex="{number}" id="i{pk}" class="column-head{states}" data-revision="{revision}">
  {kind_line}
  <a href="?{address}card={pk}" id="h{pk}" class="head" title="{title}"{current}><span class="head-text"><span
    class="head-number"><span class="visually-hidden">{kind} </span>{name}</span> {text}</span></a>
  <span class="head-measures">
    <span class="head-share{spurious}">{share}<span
      class="visually-hidden"> of the graded passages cover it{perhaps}</span> {warning}</span>
    <meter min="0" max="1" value="{covered}" aria-label="Covered share"></meter>
    {flags}
    %s
  </span>
</th>"""
TICK = """<label class="tick"><input type="checkbox" name="%s" value="{pk}" form="bulk"><span
  class="visually-hidden">Select %s</span></label>"""
PASSAGE_TICK, ITEM_TICK = TICK % ("passage", "passage {doc_id}"), TICK % ("item", "{item}")
HIDE = '<label title="{title}"><input type="checkbox" name="hide" value="{pk}"{checked}> {name}</label>'
FLAG = """<a class="flag-mark" href="{at}?{name}={pk}"><span aria-hidden="true">⚑</span> {flags}<span
  class="visually-hidden"> open flag{s}</span></a>"""
GROUP = '<span class="group-line" aria-hidden="true"><strong>{judgment}</strong> {relevance}{passages}</span>'
RUN = '<span class="run-rank" title="{run_tag}, rank {rank}">#{rank} {run_tag}</span>'
RUNS = (
    '<span class="small muted">{covered} of {items} covered{of}</span> <span class="run-ranks">{runs}</span>'
)
KIND = '<span class="kind-line" aria-hidden="true">{kind}s</span>'
WORDLESS = '<bdi><span class="mono">{uid}</span> no text yet</bdi>'
WARNING = SafeString('<span aria-hidden="true">⚠</span>')


@dataclass(frozen=True, slots=True)
class GridWriter:
    """What the head and the rows of one window share."""

    grid: Grid
    flags_at: str
    """The address of the topic's flags."""
    suffix: str
    """The query string that links to cells keep, escaped."""
    has_ticks: bool
    """Passages and items are selected to change many cells at once."""
    shows_runs: bool
    address: SafeString
    """The query string to which heads add their item."""
    opened: int | None
    """The item whose card is open."""
    columns: tuple[tuple[str, int, str], ...]
    """How the cells of each column begin, the key of its item, and its name."""
    written: dict[GridCell, tuple[str, str]] = field(default_factory=dict)
    """Cells so far: their colour, and what follows the names of passage and item."""

    def rows(self) -> SafeString:
        return joined(self.row(row) for row in self.grid.rows)

    def row(self, row: Row) -> SafeString:
        return fill(
            ROW % (PASSAGE_TICK if self.has_ticks else ""),
            number=row.number + 1,
            opens_group=SafeString(" data-opens-group") if row.group else NOTHING,
            pk=row.passage_pk,
            uncovered=SafeString(" data-uncovered") if row.is_uncovered else NOTHING,
            group=group_line(row.group) if row.group else NOTHING,
            doc_id=row.doc_id,
            excerpt=row.excerpt,
            flags=self._flags("passage", row.passage_pk, row.flags),
            unjudged=SafeString(" data-none") if row.judgment is None else NOTHING,
            judgment=DASH if row.judgment is None else row.judgment,
            label=grade_chip(row.label),
            covered=counted(row.covered, "item"),
            runs=self._runs(row) if self.shows_runs else NOTHING,
            cells=self.cells(row),
        )

    def cells(self, row: Row) -> SafeString:
        passage, doc_id, written = row.passage_pk, html.escape(row.doc_id), self.written
        for cell in row.cells:
            if cell not in written:
                shade, rest = _shade_and_rest(cell)
                written[cell] = shade, f'{html.escape(cell.description)}"{rest}'
        parts = [written[cell] for cell in row.cells]
        return SafeString(
            "".join(
                f'{opening}<a id="c{passage}-{pk}" href="cells/{passage}/{pk}/{self.suffix}"'
                f' data-grade="{shade}" aria-label="passage {doc_id}, {name}, {rest}</td>'
                for (opening, pk, name), (shade, rest) in zip(self.columns, parts, strict=True)
            )
        )

    def column_heads(self) -> SafeString:
        first = self.grid.columns.start_index() + 1
        return joined(
            self.column_head(number, column) for number, column in enumerate(self.grid.columns, first)
        )

    def column_head(self, number: int, column: GridColumn) -> SafeString:
        kind = column.kind.capitalize()
        return fill(
            COLUMN_HEAD % (ITEM_TICK if self.has_ticks else ""),
            number=number,
            pk=column.pk,
            states=" opens-kind" * column.opens_kind + " is-wordless" * (not column.text),
            revision=column.revision_pk,
            kind_line=fill(KIND, kind=kind) if column.opens_kind else NOTHING,
            address=self.address,
            title=column.text or column.uid,
            current=SafeString(' aria-current="true"') if column.pk == self.opened else NOTHING,
            kind=kind,
            name=column.short_name,
            text=bdi(column.text) if column.text else fill(WORDLESS, uid=column.uid[-6:]),
            spurious=" is-spurious" * column.is_spurious,
            share=percent(column.covered),
            perhaps=", perhaps misleading" * column.is_spurious,
            warning=WARNING if column.is_spurious else NOTHING,
            covered=column.covered_value,
            flags=self._flags("item", column.pk, column.flags),
            item=column.name,
        )

    def _flags(self, name: str, pk: int, flags: int) -> SafeString:
        if not flags:
            return NOTHING
        return fill(FLAG, at=self.flags_at, name=name, pk=pk, flags=flags, s=pluralize(flags))

    def _runs(self, row: Row) -> SafeString:
        runs = joined(fill(RUN, run_tag=run.run_tag, rank=run.rank) for run in row.runs)
        of = f", {counted(row.run_count, 'run')}" if row.run_count else ""
        items = counted(self.grid.counts.items, "item")
        return fill(RUNS, covered=row.covered, items=items, of=of, runs=runs)


def group_line(group: RowGroup) -> SafeString:
    """Return the line above the passages of one judgment."""
    judgment, relevance = "Not judged", ""
    if group.judgment is not None:
        judgment = f"Judged {group.judgment}"
        relevance = "relevant · " if group.is_relevant else "not relevant · "
    return fill(GROUP, judgment=judgment, relevance=relevance, passages=counted(group.passages, "passage"))


@register.simple_tag
def item_boxes(columns: Iterable[GridColumn], hidden: Container[int]) -> SafeString:
    """Return a box for each item, ticked where it is hidden."""
    return joined(
        fill(
            HIDE,
            title=column.text or column.uid,
            pk=column.pk,
            checked=" checked" if column.pk in hidden else "",
            name=column.name,
        )
        for column in columns
    )


@register.simple_tag
def grid_cell(place: PlacedCell, suffix: str) -> SafeString:
    """Return one cell by itself."""
    shade, rest = _shade_and_rest(place.cell)
    href = f"cells/{place.passage_pk}/{place.column.pk}/{conditional_escape(suffix)}"
    label = html.escape(place.name)
    return SafeString(f'<a id="{place.id}" href="{href}" data-grade="{shade}" aria-label="{label}"{rest}')


def _shade_and_rest(cell: GridCell) -> tuple[str, str]:
    """Return a cell's colour, and what follows its name; rare attributes are left out when empty."""
    seldom = " data-mark" if cell.mark else ""
    seldom += " data-flags" if cell.flags else ""
    seldom += f' data-marks="{cell.marks}"' if cell.marks else ""
    seldom += f' data-seen="{cell.seen}"' if cell.seen else ""
    own = f"<b>{cell.own}</b>" if cell.own else ""
    text = icon("lock") if cell.state == "hidden" else cell.text
    return cell.shade, f"{seldom}>{text}{own}</a>"


@register.simple_tag(takes_context=True)
def sort_head(context: dict[str, Any], label: str, name: str, sort: str, kind: str = "") -> SafeString:
    """Render a column head that sorts by `name`; a second click reverses the order."""
    request: HttpRequest = context["request"]
    is_sorted, falls = sort.removeprefix("-") == name, sort.startswith("-")
    first = f"-{name}" if kind == FALLING_FIRST or name == "flags" else name
    turned = name if falls else f"-{name}"
    address = request.GET.copy()
    address["sort"] = turned if is_sorted else first
    address.pop("page", None)
    state = ("descending" if falls else "ascending") if is_sorted else ""
    return format_html(
        '<th scope="col" class="{}"{}><a href="?{}">{}{}</a></th>',
        kind,
        format_html(' aria-sort="{}"', state) if state else "",
        address.urlencode(),
        label,
        {"": "", "ascending": " ↑", "descending": " ↓"}[state],
    )


@register.filter
def correlation(value: float) -> str:
    """Format with two decimals, no leading 0 and a true minus sign; a dash where undefined."""
    if value != value:
        return f" {DASH}"
    return f" {value:z.2f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}")


@register.simple_tag(takes_context=True)
def grid_writer(context: dict[str, Any], flags_at: str, *, has_ticks: bool) -> GridWriter:
    """Return what writes the head and the rows of the page's grid."""
    grid: Grid = context["grid"]
    address, card = context["request"].GET.copy(), context["card"]
    for name in ("at", "card"):
        address.pop(name, None)
    columns = enumerate(grid.columns, grid.columns.start_index() + 1)
    return GridWriter(
        grid,
        flags_at,
        conditional_escape(context["suffix"]),
        has_ticks=has_ticks,
        shows_runs=context["query"].is_roomy,
        address=SafeString(html.escape(f"{address.urlencode()}&" if address else "")),
        opened=card.column.pk if card else None,
        columns=tuple(
            (f'<td aria-colindex="{number}" data-item="{column.short_name}">', column.pk, column.name)
            for number, column in columns
        ),
    )


@register.simple_tag
def answer_chip(state: str) -> SafeString:
    """Render the verdict on an answer as a coloured sign: see `window.ANSWER_SIGNS`."""
    sign, label = ANSWER_SIGNS[state], ANSWER_WORDS[state]
    shade = ANSWER_SHADES[state]
    return format_html('<span class="grade-chip" data-grade="{}" title="{}">{}</span>', shade, label, sign)


@register.simple_tag(takes_context=True)
def item_writer(context: dict[str, Any], topic: Topic, kept: str) -> ItemWriter:
    """Return what writes the rows of a topic's list of items; changes keep the query string `kept`."""
    bank, address = context["bank"], context["request"].GET.copy()
    for name in ("changed", "retired", "wording", "beside", "item"):
        address.pop(name, None)
    place = [bank.pk, topic.pk]
    shared = {
        "topic_at": reverse("review:topic", args=place),
        "flags_at": reverse("review:subject-flags", args=place),
        "beside": html.escape(f"{address.urlencode()}&" if address else ""),
        "token": str(context["csrf_token"]),
        "focus": " autofocus" if context.get("is_fresh") else "",
    }
    return ItemWriter(
        {name: SafeString(part) for name, part in shared.items()},
        change_addresses(bank.pk, kept),
        flags.open_counts(bank, topic.pk).items,
        key_counts(topic),
        can_edit=context["can_edit"],
        may_see_secrets=roles.holds(context["user"], bank.collection, roles.TO_SEE_SECRETS),
        shows_grades=bool(context.get("beside")),
    )


@register.filter
def written_by(row: ItemRow, writer: ItemWriter) -> SafeString:
    """Return an item as a row of its list."""
    return writer.row(row)


@register.simple_tag(takes_context=True)
def own_flags(context: dict[str, Any], bank_id: int) -> str:
    """Return the keys of what the reader has flagged in the bank: "spurious-12 uncovered-7"."""
    own = flags.own_flags(bank_id, context["user"])
    return " ".join(f"{kind}-{passage if item is None else item}" for kind, item, passage in own)
