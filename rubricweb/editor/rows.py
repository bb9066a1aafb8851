"""An item's row in a topic's list as HTML: its text, what is remarked of it, its figures and its menu."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.http import QueryDict
from django.template.defaultfilters import floatformat, pluralize
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
<li id="item-{pk}" class="item-row" data-tags="{tags}"{state}>
  {handles}
  <div class="item-words">
    <p class="prose">{words}</p>
    <p class="item-notes">{notes}</p>
  </div>
  <p class="item-importance"><span class="badge">{importance}</span></p>
  <div class="item-figures">{figures}</div>
  <p class="item-separation">{separation}</p>
  <details class="menu item-menu" name="item-menu">
    <summary class="button-quiet" id="item-{pk}-menu">
      <span aria-hidden="true">⋯</span><span class="visually-hidden">Actions for <bdi>{name}</bdi></span>
    </summary>
    <div class="menu-body">{menu}</div>
  </details>
</li>"""
HANDLES = """<span class="item-grip" draggable="true" aria-hidden="true"></span>
<input type="checkbox" class="item-tick" form="chosen" name="item" value="{pk}:{version}"
  aria-label="Select {name}">"""
OPEN = """<a{direction} class="item-open" id="item-{pk}-open" href="{to}"{focus} hx-get="{to}"
  hx-push-url="{shown_at}" hx-target="#item-panel" hx-swap="outerHTML" hx-sync="this:drop">{text}</a>"""
WORDLESS = '<span class="badge" data-tone="warn">text unknown</span> <code title="{uid}">{end}</code> {link}'
NOTE = "<span>{text}</span>"
BADGE = '<span class="badge" data-tone="{tone}">{text}</span>'
MARK = '<span class="badge" data-tone="warn" title="{evidence}">⚠ {fault}</span>'
MISLEADING = """<a class="badge" data-tone="warn" href="{at}?view=grid&amp;card={pk}"
  title="Passages judged not relevant answer it, too">⚠ misleading?</a>"""
MERGED = '<span>duplicate of <a href="#item-{pk}">{name}</a></span>'
FIGURES = """
<p title="{title}">{share}<span class="visually-hidden"> of the pool: {covered} of {passages} rated
  {least} or more, mean grade {mean} </span></p>
<svg role="img" aria-labelledby="figure-{pk}-title figure-{pk}-desc" width="80" height="24"
  viewBox="0 0 80 24">
  <title id="figure-{pk}-title">Passages by rating</title>
  <desc id="figure-{pk}-desc">{text}</desc>
  {bars}
  <line x1="0" x2="80" y1="22.5" y2="22.5" />
</svg>"""
ACTION = """<a class="button-quiet" id="menu-{pk}-{name}" href="{to}" hx-get="{to}" hx-target="#item-panel"
  hx-swap="outerHTML" hx-sync="this:drop">{label}</a>"""
FLAGS = '<a class="button-quiet" id="item-{pk}-flags" href="{at}?item={pk}">Flags ({flags})</a>'
FORM = """<form method="post" action="{to}" hx-post="{to}" hx-target="#item-{pk}" hx-swap="outerHTML"
  hx-sync="this:drop"{more}>
  <input type="hidden" name="csrfmiddlewaretoken" value="{token}">{fields}</form>"""
PLACE = """<button class="button-quiet" id="item-{pk}-{direction}" name="place" value="{place}"
  >Move {direction}</button>"""
SECRECY = """<input type="hidden" name="seen" value="{version}">
<button class="button-quiet" id="item-{pk}-secrecy">{label}</button>"""
SEPARATION = """<span class="separation" data-separates="{separation}" title="separates {separation}"><span
  class="visually-hidden">{separation}</span></span>"""
TOO_FEW = SafeString('<span class="muted" title="too few grades">\N{EN DASH}</span>')
WAITS = SafeString(' hx-disabled-elt="find button"')


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """What the rows of one topic's list share."""

    bank_pk: int
    topic_at: str
    flags_at: str
    kept: str
    """The query string that changes keep."""
    address: QueryDict
    """The list's own; each row adds its item, to show it beside the list."""
    flags: Mapping[int, int]
    """Open flags by the item's key."""
    keys: Mapping[int, int]
    """Accepted answers by the wording's key."""
    csrf_token: str
    can_edit: bool
    may_see_secrets: bool
    shows_grades: bool
    """A passage stands beside the list, and each row shows its grade on it."""
    is_fresh: bool
    """The row has just been changed: its link takes the focus."""

    def row(self, row: ItemRow) -> SafeString:
        item, name = row.item, str(row.item)
        figured = row if isinstance(row, FiguredRow) else None
        figures = figured.figures if figured else None
        tags = [item.importance, figured.tags if figured else "", "flagged" if self._flags(item) else ""]
        handles = fill(HANDLES, pk=item.pk, version=item.version, name=name)
        return fill(
            ROW,
            pk=item.pk,
            tags=" ".join(filter(None, tags)),
            state=self._state(item),
            handles=handles if self._is_open(item) else NOTHING,
            words=self._wording(item, figured),
            notes=joined(self._notes(item, figured)),
            importance=item.get_importance_display(),
            figures=item_histogram(item.pk, figures) if figures and figures.is_graded else NOTHING,
            separation=separation_sign(figures.separation) if figures else NOTHING,
            name=name,
            menu=joined(self._menu(row)),
        )

    def _is_open(self, item: Item) -> bool:
        """Return whether the reader may change it."""
        return self.can_edit and not item.is_retired

    def _flags(self, item: Item) -> int:
        return self.flags.get(item.pk, 0)

    def _at(self, change: str, item: Item) -> str:
        return _address(self.bank_pk, change).replace("/0/", f"/{item.pk}/") + self.kept

    def _state(self, item: Item) -> SafeString:
        if item.is_retired:
            return SafeString(' data-flag="retired"')
        return fill(' data-move="{at}"', at=self._at("move", item)) if self.can_edit else NOTHING

    def _wording(self, item: Item, row: FiguredRow | None) -> SafeString:
        if item.revision.text:
            link = self._link(item, "edit" if self._is_open(item) else "history", item.revision.text)
            return joined([grade_chip(row.grade), link]) if row and self.shows_grades else link
        supply = self._link(item, "supply", "Supply the text") if self.can_edit else NOTHING
        return fill(WORDLESS, link=supply, uid=item.revision.uid, end=item.revision.uid[-6:])

    def _link(self, item: Item, change: str, text: str) -> SafeString:
        self.address["item"] = str(item.pk)
        return fill(
            OPEN,
            direction=NOTHING if change == "supply" else SafeString(' dir="auto"'),
            pk=item.pk,
            to=self._at(change, item),
            focus=" autofocus" if self.is_fresh else "",
            shown_at=f"{self.topic_at}?{self.address.urlencode()}",
            text=text,
        )

    def _notes(self, item: Item, row: FiguredRow | None) -> Iterator[SafeString]:
        if item.is_secret:
            yield fill(BADGE, tone="warn", text=SafeString(f"{icon('lock')} secret"))
        if row and row.is_spurious:
            yield fill(MISLEADING, at=self.topic_at, pk=item.pk)
        for mark in row.marks if row else ():
            if mark.fault not in SHOWN_BY_FIGURES:
                yield fill(MARK, evidence=mark.evidence, fault=mark.fault)
        if flags := self._flags(item):
            yield fill(BADGE, tone="warn", text=counted(flags, "flag"))
        if row and row.figures:
            yield from _shortfalls(row.figures)
        if item.has_own_weight:
            yield fill(NOTE, text=f"weight {localize(item.weight)}")
        if item.merged_into:
            yield fill(MERGED, pk=item.merged_into.pk, name=str(item.merged_into))

    def _menu(self, row: ItemRow) -> Iterator[SafeString]:
        item = row.item
        if self._is_open(item):
            if item.revision.text:
                yield self._action(item, "edit", "edit", "Reword")
            importance = str(item.get_importance_display())
            weight = f"{importance[:1].upper()}{importance[1:]}, weight {item.weight}"
            yield self._action(item, "importance", "weigh", weight)
        if item.kind == ItemKind.QUESTION and item.revision.text:
            yield self._action(
                item, "key", "answer-key", f"Answer key ({self.keys.get(item.revision_id, 0)})"
            )
        yield self._action(item, "history", "history", f"History ({item.version})")
        yield fill(FLAGS, pk=item.pk, at=self.flags_at, flags=self._flags(item))
        if self._is_open(item):
            places = [("up", row.place - 1)] * bool(row.place) + [("down", row.place + 1)] * (not row.is_last)
            yield self._form(
                item, "move", (fill(PLACE, pk=item.pk, direction=to, place=at) for to, at in places)
            )
        if self.may_see_secrets:
            label = "No longer secret" if item.is_secret else "Keep secret"
            fields = [fill(SECRECY, pk=item.pk, version=item.version, label=label)]
            yield self._form(item, "show" if item.is_secret else "hide", fields, more=WAITS)
        if self.can_edit:
            change = "restore" if item.is_retired else "retire"
            yield self._action(item, "weigh", change, f"{change.capitalize()}…")

    def _action(self, item: Item, name: str, change: str, label: str) -> SafeString:
        return fill(ACTION, pk=item.pk, name=name, to=self._at(change, item), label=label)

    def _form(
        self, item: Item, change: str, fields: Iterable[SafeString], *, more: SafeString = NOTHING
    ) -> SafeString:
        to, token = self._at(change, item), self.csrf_token
        return fill(FORM, pk=item.pk, to=to, token=token, fields=joined(fields), more=more)


@lru_cache(maxsize=512)
def _address(bank_pk: int, change: str) -> str:
    """Return the address of a change of the bank's item with the key 0."""
    return reverse(f"editor:item-{change}", args=[bank_pk, 0])


def item_histogram(pk: int, figures: ItemFigures) -> SafeString:
    """Return the share of passages that cover an item, and its passages by rating as bars."""
    return fill(
        FIGURES,
        pk=pk,
        title=figures.title,
        share=percent(figures.share),
        covered=figures.covered,
        passages=figures.passages,
        least=figures.min_grade_words,
        mean=floatformat(figures.mean, 2),
        text=figures.bars_text,
        bars=figures.bars_svg,
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


def separation_sign(separation: str) -> SafeString:
    """Show how well an item separates passages: a full, half or empty disc; a dash where it is undefined."""
    return fill(SEPARATION, separation=separation) if separation else TOO_FEW
