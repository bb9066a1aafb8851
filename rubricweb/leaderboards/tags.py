"""Rows of a board, numbers and tables of results as HTML.

Of 100 runs, a template of the rows would take most of the page's time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from grading.formats.tables import PrintedTable, TextCell, tex_lines, tsv_lines
from grading.measures import registry
from rubricweb.accounts import roles
from rubricweb.core.formatting import counted
from rubricweb.core.tags import as_html, bdi, fill, joined, options, percent, score
from rubricweb.leaderboards.comparison import number
from rubricweb.leaderboards.influence import signed
from rubricweb.plots.cells import mean_of, shade

if TYPE_CHECKING:
    from grading.topic_attributes import TopicSlice
    from rubricweb.leaderboards.board import BoardRow
    from rubricweb.leaderboards.board.columns import BoardCell
    from rubricweb.leaderboards.board_page import BoardLine, Parting
    from rubricweb.leaderboards.comparison.pair import PairRow
    from rubricweb.leaderboards.plots import Dot
    from rubricweb.plots import Picture


register = template.Library()
register.filter(signed)

UNCHANGED = '<span class="muted" aria-hidden="true">·</span>'
ARROWS = {
    "up": '▲<span class="visually-hidden">up</span>',
    "down": '▼<span class="visually-hidden">down</span>',
    "": "",
}


@register.simple_tag
def board_rows(
    lines: Sequence[BoardLine], compare: str, query: str, ticked: Collection[int], judged_at: int
) -> SafeString:
    """Return the runs as rows of the board's table.

    At `compare` with `query` a run is looked into. The boxes of `ticked` runs are ticked.
    """
    rows = (
        _row(line, as_html(f"{compare}?{query}&a={line.row.run_id}"), line.row.run_id in ticked, judged_at)
        for line in lines
    )
    return mark_safe("\n".join(rows))  # noqa: S308  (escaped here)


def _row(line: BoardLine, href: str, is_ticked: bool, judged_at: int) -> str:
    row, run = line.row, as_html(line.row.run_tag)
    first, *others = map(_number, line.numbers)
    parts = [
        f"<tr{_attributes(line)}>{_band(line)}",
        f'<td class="board-rank"><input type="checkbox" name="tick" value="{row.run_id}"',
        f' id="tick-{row.run_id}" form="ticked" aria-label="Compare {run}" data-key-action="skip"',
        f"{' checked' if is_ticked else ''}> {row.interval}</td>",
        f'<th scope="row" class="board-run"><a href="{href}">{run}</a>',
        f" <small>{as_html(line.origin)} {_notes(row, judged_at)}</small></th>",
        f'<td class="board-axis">{dot_svg(line.dot, row) if line.dot else ""}</td>',
        f'<td class="num board-score">{first}</td><td class="board-change">{_change(line)}</td>',
        *(f'<td class="num">{number}</td>' for number in others),
    ]
    if line.topics:
        link = f'<a href="{href}" aria-label="{run} by topic">{line.topics}</a>'
        parts.append(f'<td class="board-strip">{link}</td>')
    return "".join([*parts, "</tr>"])


def _attributes(line: BoardLine) -> str:
    band = f' data-band="{"behind" if line.row.is_behind else "not-behind"}"' if line.band else ""
    moved = f' data-moved="{line.moved}"' if line.moved else ""
    first = " data-first" if line.row.rank == 1 else ""
    current = "" if line.row.current is None else " data-current"
    return f"{band}{moved}{first} data-key-scope{current}"


def _band(line: BoardLine) -> str:
    """Return the cell of the band, at the first of its rows; an empty one where there is none."""
    if not line.band:
        return '<td class="board-band"></td>'
    if not line.band_rows:
        return ""
    band = as_html(line.band)
    return f'<td class="board-band" rowspan="{line.band_rows}" title="{band}"><span>{band}</span></td>'


def _notes(row: BoardRow, judged_at: int) -> str:
    """Return what is to be known of the run."""
    notes = []
    if row.is_closed_book:
        notes.append('<span title="It answers without retrieval">closed book</span>')
    if row.n_answered != row.n_topics:
        answered = f"{row.n_answered} of {counted(row.n_topics, 'topic')}"
        notes.append(f'<span title="A topic that the run lacks counts 0">{answered}</span>')
    if row.current is None and row.judged is not None and row.judged < 1:
        of = f"Of its first {counted(judged_at, 'passage')}"
        notes.append(f'<span title="{of}">{percent(row.judged)} graded</span>')
    if row.current is not None:
        notes.append(f'<span class="badge" data-tone="live">{percent(row.current)} current</span>')
    return " ".join(notes)


def _number(cell: BoardCell) -> str:
    if not cell.note:
        return as_html(cell.value)
    title = f' title="{as_html(cell.note_title)}"' if cell.note_title else ""
    return f'{as_html(cell.value)} <span class="board-note"{title}>{as_html(cell.note)}</span>'


def _change(line: BoardLine) -> str:
    change, rank = line.change, line.row.rank
    if not change:
        return UNCHANGED
    direction = "up" if change.difference > 0 else "down" if change.difference < 0 else ""
    was = change.before.rank
    by = signed(change.difference) if change.difference else f"{was} → {rank}"
    title = f"rank {was} before, {rank} now"
    return f'<span data-change="{direction}" title="{title}">{ARROWS[direction]}{by}</span>'


def topic_marks(row: BoardRow, groups: Sequence[tuple[SafeString, slice]], highest: float) -> SafeString:
    """Return a mark for each group of topics, which have escaped names; `highest` is the darkest."""
    run, scores = as_html(row.run_tag), list(row.by_topic)
    if len(groups) < len(scores):
        scores = [mean_of(scores[places]) for _, places in groups]
    marks = (
        f'<i data-tip="{run} · {name} · not counted"></i>'
        if score is None
        else f'<i data-grade="{shade(score / highest)}" data-tip="{run} · {name} · {score:z.2f}"></i>'
        for score, (name, _) in zip(scores, groups, strict=True)
    )
    return mark_safe("".join(marks))  # noqa: S308  (escaped here)


@register.simple_tag
def dot_svg(dot: Dot, row: BoardRow | None = None) -> SafeString:
    """Draw a dot with its interval on the axis of its table; with the run's row it says what it shows."""
    of = 'role="img"' if row else 'aria-hidden="true"'
    parts = [f'<svg class="dots" width="100%" height="100%" {of}>']
    if row:
        ends = "no interval" if row.low is None else f"95 % interval {score(row.low)} to {score(row.high)}"
        parts.append(f"<title>{as_html(row.run_tag)}: {score(row.score)}, {ends}</title>")
    parts.append('<use href="#axis-lines" width="100%" height="100%" />')
    if dot.is_off:
        parts.append(f'<text x="{dot.at}%" y="50%" dx="-4" dy="4">◀ {dot.value:z.2f}</text></svg>')
        return mark_safe("".join(parts))  # noqa: S308  (escaped here)
    if dot.low is not None:
        parts.append(f'<line class="whisker" x1="{dot.low}%" x2="{dot.high}%" y1="50%" y2="50%" />')
    if dot.before is not None:
        parts.append(f'<line class="trace" x1="{dot.before}%" x2="{dot.at}%" y1="50%" y2="50%" />')
        parts.append(f'<circle class="ghost" cx="{dot.before}%" cy="50%" r="4" />')
    parts.append(f'<circle class="dot" cx="{dot.at}%" cy="50%" r="4.5" /></svg>')
    return mark_safe("".join(parts))  # noqa: S308  (escaped here)


@register.simple_tag
def measure_options() -> SafeString:
    """Return the names of measures as options of a datalist."""
    return joined(fill('<option value="{name}"></option>', name=name) for name in registry.suggested_names())


@register.simple_tag
def slice_options(slices: Iterable[TopicSlice]) -> SafeString:
    """Return slices of topics as options of a datalist."""
    return options((topics.token, topics.stated) for topics in slices)


@register.simple_tag
def board_facts(statements: Iterable[tuple[str, str]]) -> SafeString:
    """Return what a board states of itself as terms with descriptions."""
    return joined(
        fill(
            '<div><dt>{name}</dt> <dd dir="auto">{value}</dd></div> ',
            name="rubric" if name == "bank" else name,
            value=value,
        )
        for name, value in statements
    )


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


def _sheet_row(cells: Sequence[TextCell], are_numbers: Sequence[bool]) -> str:
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
    return f' {name}="{as_html(value)}"' if value else ""


def _linked(text: str, href: str) -> str:
    return f'<a dir="auto" href="{as_html(href)}">{as_html(text)}</a>' if href else bdi(text)


@register.simple_tag
def parting_ticks(parting: Parting) -> SafeString:
    """Draw where the runs stand on a topic: short lines, and long ones for the first runs."""
    lines = [f'<line x1="{x}%" x2="{x}%" y1="2" y2="14" />' for x in parting.others]
    lines += [f'<line class="is-first" x1="{x}%" x2="{x}%" y1="0" y2="16" />' for x in parting.first]
    return mark_safe("".join(lines))  # noqa: S308  (numbers)


PICTURE = """<section class="card picture" id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title">{title}</h2>
{subtitle}<div class="picture-body">{body}</div>{facts}{table}
</section>
"""
TABLE = """
<details class="picture-table" {attributes}>
<summary>Table</summary>
<div class="picture-sheet" id="{name}-sheet">{content}</div>
</details>"""
FETCHED = (
    'hx-get="{at}{name}" hx-trigger="toggle once" hx-target="find .picture-sheet" '
    'hx-select="#{name}-sheet" hx-swap="outerHTML"'
)


@register.simple_tag(takes_context=True)
def picture(context: Context, drawn: Picture) -> SafeString:
    """Return a plot in its frame; its files and its table once the reader opens them."""
    subtitle = fill('<p class="muted">{text}</p>\n', text=drawn.subtitle) if drawn.subtitle else ""
    facts = [fill("<span>{label} <b>{value}</b></span>", label=f.label, value=f.value) for f in drawn.facts]
    return fill(
        PICTURE,
        name=drawn.name,
        title=drawn.title,
        subtitle=subtitle,
        body=drawn.plot.svg if drawn.plot else _button(context, drawn),
        facts=fill('\n<p class="picture-facts">{facts}</p>', facts=joined(facts)) if facts else "",
        table=_table(context, drawn) if drawn.has_sheet else "",
    )


def _button(context: Context, drawn: Picture) -> SafeString:
    """Return the way to what the picture lacks, for those who may go there."""
    if not drawn.href or not roles.holds(context["user"], context["collection"], roles.TO_ORGANIZE):
        return SafeString("")
    link = '<a class="button button-primary" href="{href}">{button}</a>'
    return fill(link, href=drawn.href, button=drawn.button)


def _table(context: Context, drawn: Picture) -> SafeString:
    if is_opened(context, drawn.name):
        values = {"picture": drawn, "query": context["query"]}
        content = SafeString(render_to_string("leaderboards/_opened_table.html", values))
    else:
        link = '<a href="{at}{name}#{name}-sheet">Open the table</a>'
        content = fill(link, at=context["opened_at"], name=drawn.name)
    return fill(TABLE, attributes=fetched(context, drawn.name), name=drawn.name, content=content)


@register.simple_tag(takes_context=True)
def fetched(context: Context, name: str) -> SafeString:
    """Return the attributes of a details whose `.picture-sheet` is fetched when it is opened.

    `opened_at` of the context is the page's address up to the name of what is open.
    """
    opened = SafeString("open")
    return opened if is_opened(context, name) else fill(FETCHED, at=context["opened_at"], name=name)


def is_opened(context: Context, name: str) -> bool:
    return bool(context["request"].GET.get("table") == name)


@register.inclusion_tag("leaderboards/_sheet.html")
def sheet(table: PrintedTable, name: str, caption: str = "") -> dict[str, object]:
    """Return the table, with the same as LaTeX and TSV to copy; `name` makes its ids unique on the page."""
    are_numbers = [table.is_number(place) for place in range(len(table.columns))]
    return {
        "sheet": table,
        "name": name,
        "caption": caption or table.title,
        "heads": list(zip(table.columns, are_numbers, strict=True)),
        "rows": SafeString("".join(_sheet_row(cells, are_numbers) for cells in table.rows)),
        "tex": "\n".join(tex_lines(table)),
        "tsv": "\n".join(tsv_lines(table.data)),
    }


PAIR_BAR = """
<li>
  <a id="topic-{group}-{unit}" href="{to}#opened" hx-get="{page}{to}" hx-target="#compare" hx-swap="outerHTML"
    hx-push-url="true"{current}>
    <span class="compare-topic" title="{text}"><b>{query_id}</b> <bdi>{text}</bdi></span>
    <svg class="compare-bar" aria-hidden="true"><line x1="50%" x2="50%" y2="100%" />{bar}</svg>
    <span class="num">{difference}</span>
  </a>
</li>"""
EQUAL = SafeString('<circle cx="50%" cy="50%" r="3" />')
BAR = '<rect class="bar-{side}" x="{x}%" width="{width}%" y="15%" height="70%" rx="2" />'


@register.simple_tag(takes_context=True)
def pair_bars(context: Context, rows: Iterable[PairRow], group: int) -> SafeString:
    """Draw the difference of two runs on each topic of a group as a bar that opens the topic."""
    request, opened = context["request"], context["opened"]
    address = request.GET.copy()
    drawn = []
    for row in rows:
        pair, bar = row.pair, row.bar
        address["open"] = pair.query_id
        x, width = unlocalized(bar.x), unlocalized(bar.width)
        is_opened = opened is not None and pair.topic_id == opened.topic.pk
        drawn.append(
            fill(
                PAIR_BAR,
                group=group,
                unit=pair.unit,
                to=f"?{address.urlencode()}",
                page=request.path,
                current=SafeString(' aria-current="true"') if is_opened else "",
                text=row.text,
                query_id=pair.query_id,
                bar=EQUAL if bar.side == "equal" else fill(BAR, side=bar.side, x=x, width=width),
                difference=plus(pair.difference),
            )
        )
    return joined(drawn)
