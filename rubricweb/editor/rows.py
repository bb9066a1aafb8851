"""An item's row in a topic's list as HTML: its text, what is remarked of it, its figures and its menu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from typing import NamedTuple

from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.formats import localize
from django.utils.safestring import SafeString

from grading.types import ItemKind
from rubricweb.banks.models import Item
from rubricweb.banks.selectors import ItemRow
from rubricweb.core.formatting import counted
from rubricweb.core.tags import fill, grade_chip, icon, joined, percent
from rubricweb.editor.figures import FiguredRow, ItemFigures

NOTHING = SafeString("")
SHOWN_BY_FIGURES = {"never covered", "always covered"}
"""Faults that no mark repeats: the row itself says of how many passages the item is covered."""
ROW = """
<li id="item-{pk}" class="item-row" data-tags="{tags}"%(state)s>
  %(handles)s
  <div class="item-words">
    <p class="prose">%(words)s</p>
    <p class="item-notes">{notes}</p>
  </div>
  <p class="item-importance"><span class="badge">{importance}</span></p>
  <div class="item-figures">{figures}</div>
  <p class="item-separation">{separation}</p>
  <details class="menu item-menu" name="item-menu">
    <summary class="button-quiet" id="item-{pk}-menu">
      <span aria-hidden="true">⋯</span><span class="visually-hidden">Actions for <bdi>{name}</bdi></span>
    </summary>
    <div class="menu-body">%(menu)s</div>
  </details>
</li>"""
"""A row: the rest depends on its state, and what stands in braces on the item."""
HANDLES = """<span class="item-grip" draggable="true" aria-hidden="true"></span>
<input type="checkbox" class="item-tick" form="chosen" name="item" value="{pk}:{version}"
  aria-label="Select {name}">"""
OPEN = """<a%(direction)s class="item-open" id="item-{pk}-open" href="{%(to)s}"{focus} hx-get="{%(to)s}"
  hx-push-url="{topic_at}?{beside}item={pk}" hx-target="#item-panel" hx-swap="outerHTML"
  hx-sync="this:drop">%(text)s</a>"""
WORDLESS = '<span class="badge" data-tone="warn">text unknown</span> <code title="{name}">{end}</code> %s'
NOTE = "<span>{text}</span>"
BADGE = '<span class="badge" data-tone="{tone}">{text}</span>'
MARK = '<span class="badge" data-tone="warn" title="{evidence}">⚠ {fault}</span>'
MISLEADING = """<a class="badge" data-tone="warn" href="{at}?view=grid&amp;card={pk}"
  title="Passages judged not relevant answer it, too">⚠ misleading?</a>"""
MERGED = '<span>duplicate of <a href="#item-{pk}">{name}</a></span>'
FIGURES = """
<p title="{covered} of {passages}{mean_words}">{share}<span class="visually-hidden"> of the pool: {covered} of
  {n} rated {least} or more, mean grade {mean} </span></p>
<svg role="img" aria-labelledby="figure-{pk}-title figure-{pk}-desc" width="80" height="24"
  viewBox="0 0 80 24">
  <title id="figure-{pk}-title">Passages by rating</title>
  <desc id="figure-{pk}-desc">{text}</desc>
  {bars}
  <line x1="0" x2="80" y1="22.5" y2="22.5" />
</svg>"""
BAR = """<g><title>{label}: {count}</title><rect class="reach" x="{at}" y="0" width="10" height="24" /><rect
  class="bar" data-bar="{name}" x="{x}" y="{y}" width="8" height="{height}" rx="1" /></g>"""
BAR_HEIGHT = 22
ACTION = """<a class="button-quiet" id="menu-{pk}-%(name)s" href="{%(to)s}" hx-get="{%(to)s}"
  hx-target="#item-panel" hx-swap="outerHTML" hx-sync="this:drop">%(label)s</a>"""
FLAGS = '<a class="button-quiet" id="item-{pk}-flags" href="{flags_at}?item={pk}">Flags ({flags})</a>'
FORM = """<form method="post" action="{%(to)s}" hx-post="{%(to)s}" hx-target="#item-{pk}" hx-swap="outerHTML"
  hx-sync="this:drop"%(more)s>
  <input type="hidden" name="csrfmiddlewaretoken" value="{token}">%(fields)s</form>"""
UP = '<button class="button-quiet" id="item-{pk}-up" name="place" value="{up}">Move up</button>'
DOWN = '<button class="button-quiet" id="item-{pk}-down" name="place" value="{down}">Move down</button>'
SECRECY = """<input type="hidden" name="seen" value="{version}">
<button class="button-quiet" id="item-{pk}-secrecy">%s</button>"""
CHANGES = ("edit", "weigh", "supply", "move", "history", "answer-key", "hide", "show", "retire", "restore")
SEPARATION = """<span class="separation" data-separates="{separation}" title="separates {separation}"><span
  class="visually-hidden">{separation}</span></span>"""
TOO_FEW = SafeString('<span class="muted" title="too few grades">\N{EN DASH}</span>')
WAITS = ' hx-disabled-elt="find button"'
IMPORTANCE = dict(Item.Weight.choices)


class RowState(NamedTuple):
    """What decides which parts a row has."""

    can_edit: bool
    may_see_secrets: bool
    is_retired: bool
    has_text: bool
    is_question: bool
    is_secret: bool
    is_first: bool
    is_last: bool

    @property
    def is_open(self) -> bool:
        """Return whether the reader may change the item."""
        return self.can_edit and not self.is_retired


@cache
def row_pattern(state: RowState) -> str:
    """Return the HTML of rows in this state, to be filled with what `ItemWriter.row` says of an item."""
    retired = ' data-flag="retired"' if state.is_retired else ""
    return ROW % {
        "state": ' data-move="{move}"' if state.is_open else retired,
        "handles": HANDLES if state.is_open else "",
        "words": _words_pattern(state),
        "menu": "".join(_menu_patterns(state)),
    }


def _words_pattern(state: RowState) -> str:
    if state.has_text:
        to = "edit" if state.is_open else "history"
        return "{grade}" + OPEN % {"direction": ' dir="auto"', "to": to, "text": "{name}"}
    supply = OPEN % {"direction": "", "to": "supply", "text": "Supply the text"}
    return WORDLESS % (supply if state.can_edit else "")


def _menu_patterns(state: RowState) -> Iterator[str]:
    if state.is_open and state.has_text:
        yield ACTION % {"name": "edit", "to": "edit", "label": "Reword"}
    if state.is_open:
        label = "{importance_first}, weight {weight}"
        yield ACTION % {"name": "importance", "to": "weigh", "label": label}
    if state.is_question and state.has_text:
        yield ACTION % {"name": "key", "to": "answer-key", "label": "Answer key ({keys})"}
    yield ACTION % {"name": "history", "to": "history", "label": "History ({version})"}
    yield FLAGS
    if state.is_open:
        fields = UP * (not state.is_first) + DOWN * (not state.is_last)
        yield FORM % {"to": "move", "fields": fields, "more": ""}
    if state.may_see_secrets:
        label = "No longer secret" if state.is_secret else "Keep secret"
        to = "show" if state.is_secret else "hide"
        yield FORM % {"to": to, "fields": SECRECY % label, "more": WAITS}
    if state.can_edit:
        change = "restore" if state.is_retired else "retire"
        yield ACTION % {"name": "weigh", "to": change, "label": f"{change.capitalize()}…"}


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """What the rows of one topic's list share."""

    shared: Mapping[str, SafeString]
    """Parts of the HTML that all rows have: `topic_at`, `flags_at`, `beside`, `token` and `focus`."""
    changes: Mapping[str, tuple[str, str]]
    """HTML of the address of each of CHANGES, before and after an item's key."""
    flags: Mapping[int, int]
    """Open flags by the item's key."""
    keys: Mapping[int, int]
    """Accepted answers by the wording's key."""
    can_edit: bool
    may_see_secrets: bool
    shows_grades: bool
    """A passage stands beside the list, and each row shows its grade on it."""

    def row(self, row: ItemRow) -> SafeString:
        item, revision = row.item, row.item.revision
        name, importance, flags = str(revision), IMPORTANCE[item.importance], self.flags.get(item.pk, 0)
        figured = row if isinstance(row, FiguredRow) else None
        figures = figured.figures if figured else None
        tags = [item.importance, figured.tags if figured else "", "flagged" if flags else ""]
        state = RowState(
            self.can_edit,
            self.may_see_secrets,
            item.is_retired,
            bool(revision.text),
            item.kind == ItemKind.QUESTION,
            revision.is_secret,
            not row.place,
            row.is_last,
        )
        return fill(
            row_pattern(state),
            pk=item.pk,
            version=item.version,
            name=name,
            end=name[-6:],
            tags=" ".join(filter(None, tags)),
            grade=grade_chip(figured.grade) if figured and self.shows_grades else NOTHING,
            notes=joined(self._notes(item, figured, flags)),
            importance=importance,
            importance_first=importance.capitalize(),
            weight=item.weight,
            keys=self.keys.get(revision.pk, 0),
            flags=flags,
            up=row.place - 1,
            down=row.place + 1,
            figures=item_histogram(item.pk, figures) if figures and figures.is_graded else NOTHING,
            separation=separation_sign(figures.separation) if figures else NOTHING,
            **self.shared,
            **{
                change: SafeString(f"{before}{item.pk}{after}")
                for change, (before, after) in self.changes.items()
            },
        )

    def _notes(self, item: Item, row: FiguredRow | None, flags: int) -> Iterator[SafeString]:
        if item.is_secret:
            yield fill(BADGE, tone="warn", text=SafeString(f"{icon('lock')} secret"))
        if row and row.is_spurious:
            yield fill(MISLEADING, at=self.shared["topic_at"], pk=item.pk)
        for mark in row.marks if row else ():
            if mark.fault not in SHOWN_BY_FIGURES:
                yield fill(MARK, evidence=mark.evidence, fault=mark.fault)
        if flags:
            yield fill(BADGE, tone="warn", text=counted(flags, "flag"))
        if row and row.figures:
            yield from _shortfalls(row.figures)
        if item.has_own_weight:
            yield fill(NOTE, text=f"weight {localize(item.weight)}")
        if item.merged_into:
            yield fill(MERGED, pk=item.merged_into.pk, name=str(item.merged_into))


def change_addresses(bank_pk: int, kept: str) -> dict[str, tuple[str, str]]:
    """Return `ItemWriter.changes` of a bank's items; `kept` is the query string that changes keep."""
    return {
        change: (f"{before}/", f"/{after}{escape(kept)}")
        for change in CHANGES
        for before, after in [_address(bank_pk, change).split("/0/")]
    }


@lru_cache(maxsize=512)
def _address(bank_pk: int, change: str) -> str:
    """Return the address of a change of the bank's item with the key 0."""
    return reverse(f"editor:item-{change}", args=[bank_pk, 0])


def item_histogram(pk: int, figures: ItemFigures) -> SafeString:
    """Return the share of passages that cover an item, and its passages by rating as bars."""
    tallest, mean, columns = max(figures.counts), figures.mean, figures.bars
    bars = []
    for at, (column, count) in enumerate(columns):
        height = max(1, round(BAR_HEIGHT * count / tallest)) if count else 0
        bars.append(
            BAR.format(
                label=column.label,
                count=count,
                at=10 * at,
                name=column.name,
                x=10 * at + 1,
                y=BAR_HEIGHT - height,
                height=height,
            )
        )
    return fill(
        FIGURES,
        pk=pk,
        covered=figures.covered,
        passages=counted(figures.passages, "passage"),
        mean_words=mean and f", mean grade {mean}",
        share=percent(figures.share),
        n=figures.passages,
        least=figures.by.min_grade_words,
        mean=mean,
        text=SafeString(", ".join(f"{column.label}: {count}" for column, count in columns)),
        bars=SafeString("".join(bars)),
    )


def _shortfalls(figures: ItemFigures) -> Iterator[SafeString]:
    """Yield how many passages have no grade, and why."""
    if figures.failed:
        yield fill(BADGE, tone="bad", text=f"{figures.failed} failed")
    if figures.missing:
        yield fill(NOTE, text=f"{figures.missing} not graded")
    if hidden := figures.hidden:
        it = pluralize(hidden, "it,them")
        yield fill(NOTE, text=SafeString(f"{icon('lock')} {hidden} hidden until you rate {it}"))


@cache
def separation_sign(separation: str) -> SafeString:
    """Show how well an item separates passages: a full, half or empty disc; a dash where it is undefined."""
    return fill(SEPARATION, separation=separation) if separation else TOO_FEW
