"""The cards of Verify grading, the queue beside them, and shares with their intervals.

The page holds four cards. They are written in Python: templates take several times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.template import Context
from django.template.defaultfilters import capfirst
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.accounts.keys import keycap
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.core.formatting import clipped
from rubricweb.core.tags import DASH, bdi, fill, grade_chip, joined, percent
from rubricweb.grades.raters import Rater
from rubricweb.grades.tags import marked
from rubricweb.review.selectors.graded import GradedCell
from rubricweb.review.tags import answer_chip
from rubricweb.review.verify import Proportion
from rubricweb.review.verify.selectors import Card, CellToVerify, ItemLine

register = template.Library()

NOTHING = SafeString("")
RANDOM = SafeString(' <span class="badge">random share</span>')
CARD = """
<article
  class="card cell stack"
  id="check-cell"
  tabindex="-1"
  autofocus
  data-cell="{at}"
  aria-label="{label}"
>
  <div class="stack">
    <p class="small muted">Topic {query_id}: {topic}{random}</p>
    <h2>{text}</h2>
    <p class="row">{chip} <span>{by}</span>{confidence}</p>
    {reasons}
    {answer}
  </div>
  <section aria-label="Passage">
    <h3>{doc_id}</h3>
    <p dir="auto" class="prose passage">{passage}</p>
  </section>
  {verdict}
  {others}
  <p class="small"><a href="{own_page}">Prompt, raw reply and comments</a></p>
</article>"""
CONFIDENCE = '<span class="muted">confidence {confidence}</span>'
OTHERS = '<dl class="facts">{others}</dl>'
OTHER = "<div><dt>{config}</dt> <dd>{chip}</dd></div> "
ANSWER = """
<dl class="facts">
  <div>
    <dt>Extracted answer</dt>
    <dd><mark>{answer}</mark>{elsewhere}</dd>
  </div>
  {key}
</dl>
{accept}"""
ELSEWHERE = SafeString(' <span class="muted small">(not found word for word in the passage)</span>')
KEY = '<div><dt>Answer key</dt> <dd dir="auto">{key}</dd></div>'
ACCEPT = """
<form
  class="accept"
  method="post"
  action="{action}"
  hx-post="{action}"
  hx-target="#check"
  hx-swap="outerHTML settle:0ms"
  hx-sync="this:drop"
  hx-disabled-elt="find button"
>
  <input type="hidden" name="csrfmiddlewaretoken" value="{csrf}">
  <input type="hidden" name="passage" value="{passage}">
  <input type="hidden" name="item" value="{item}">
  <input type="hidden" name="seen" value="{version}">
  <input type="hidden" name="answer" value="{answer}">
  <button class="button-quiet" data-key-action="accept">Add the answer to the key {keycap}</button>
</form>"""
VERDICT = """
<form class="verdict" method="post" action="{action}" data-outbox="verdict" data-what="verdict on {what}">
  <input type="hidden" name="csrfmiddlewaretoken" value="{csrf}">
  <input type="hidden" name="topic" value="{topic}">
  <input type="hidden" name="passage" value="{passage}">
  <input type="hidden" name="item" value="{item}">
  <input type="hidden" name="revision" value="{revision}">
  <input type="hidden" name="shown_rating" value="{rating}">
  {digest}
  <input type="hidden" name="seen" value="{seen}">
  {buttons}
</form>"""
DIGEST = '<input type="hidden" name="answer" value="{digest}">'
BUTTON = """
<button class="button" {is_id} name="{name}" value="{value}" data-said="{said}" data-key-action="{key}">
  {label}
</button>"""
WRONG = """
<details id="wrong">
  <summary class="button" data-key-action="wrong">Wrong {keycap}</summary>
  <p class="row ratings"><span>It should be</span> {buttons}</p>
</details>"""
AHEAD = """
<li>
  {chip} <a href="?{kept}at={at}">{text}</a> <span class="small muted">{excerpt}{reasons}{random}</span>
</li>"""
LINE = """
<li>
  <a href="?{kept}topic={topic}&amp;item={item}&amp;order=worst"{current}>{name}</a> <span
    class="small muted">{checked} of {rated} checked: {text}</span>
</li>"""


@dataclass(frozen=True, slots=True)
class CardWriter:
    """What the cards of one page share."""

    rater: Rater
    bank: Bank
    action: str
    """The address that takes verdicts, with the parameters of the queue."""
    buttons: SafeString
    """Those of the verdict; empty for readers who may give none."""
    accept_at: str
    """The address that takes accepted answers; empty for readers who may accept none."""
    accept_key: SafeString
    csrf: str

    def card(self, card: Card) -> SafeString:
        now, cell, doc_id = card.now, card.cell, card.now.passage.doc_id
        place = (self.bank.pk, now.topic_id, now.passage.pk, now.item.pk)
        confidence = cell.grade.confidence if cell.grade else None
        verdict, name = cell.verdict_label, self.rater.name
        return fill(
            CARD,
            at=now.at,
            label=f"{doc_id}: {verdict}" if self.rater.verifies else f"{doc_id}: rated {now.rating}",
            query_id=now.query_id,
            topic=bdi(cell.item.topic.text),
            random=RANDOM if now.is_random else NOTHING,
            text=bdi(cell.item.revision.text),
            chip=rating_chip(self.rater, now.rating),
            by=f"{capfirst(verdict)}, {name}" if self.rater.verifies else f"by {name}: {cell.outcome_label}",
            confidence=NOTHING if confidence is None else fill(CONFIDENCE, confidence=percent(confidence)),
            reasons=_reasons(now),
            answer=_answer(cell, self.rater, self._accept(cell)),
            doc_id=doc_id,
            passage=marked(cell.segments),
            verdict=self._verdict(card) if self.buttons else NOTHING,
            others=_others(cell),
            own_page=f"{reverse('review:cell', args=place)}?grader={self.rater.pk}",
        )

    def _verdict(self, card: Card) -> SafeString:
        now, verifies = card.now, self.rater.verifies
        doc_id = now.passage.doc_id
        return fill(
            VERDICT,
            action=self.action,
            what=f"the answer of {doc_id}" if verifies else f"{doc_id}, rated {now.rating}",
            csrf=self.csrf,
            topic=now.topic_id,
            passage=now.passage.pk,
            item=now.item.pk,
            revision=now.item.revision_id,
            rating=now.rating,
            digest=fill(DIGEST, digest=card.cell.answer_digest) if verifies else NOTHING,
            seen=card.seen,
            buttons=self.buttons,
        )

    def _accept(self, cell: GradedCell) -> SafeString:
        if not (self.accept_at and cell.can_accept):
            return NOTHING
        return fill(
            ACCEPT,
            action=self.accept_at,
            csrf=self.csrf,
            passage=cell.passage.pk,
            item=cell.item.pk,
            version=cell.item.version,
            answer=cell.answer,
            keycap=self.accept_key,
        )


def _reasons(now: CellToVerify) -> SafeString:
    if not now.reasons:
        return NOTHING
    reasons = joined(fill("<li>{reason}</li>", reason=reason) for reason in now.reasons)
    return fill('<ul class="reasons">{reasons}</ul>', reasons=reasons)


def _others(cell: GradedCell) -> SafeString:
    if not cell.others:
        return NOTHING
    rows = (
        fill(
            OTHER,
            config=f"{other.config}{' (whole passage)' * (other.config.purpose == Purpose.DIRECT)}",
            chip=grade_chip(other.rating),
        )
        for other in cell.others
    )
    return fill(OTHERS, others=joined(rows))


@register.simple_tag
def extracted_answer(cell: GradedCell, rater: Rater) -> SafeString:
    """Return the extracted answer of the cell, and the answer key, to read."""
    return _answer(cell, rater, NOTHING)


def _answer(cell: GradedCell, rater: Rater, accept: SafeString) -> SafeString:
    if not cell.answer:
        return NOTHING
    has_key = bool(cell.keys) or rater.verifies
    return fill(
        ANSWER,
        answer=bdi(cell.answer),
        elsewhere=NOTHING if cell.is_answer_in_passage else ELSEWHERE,
        key=fill(KEY, key=" · ".join(cell.keys) or "none") if has_key else NOTHING,
        accept=accept,
    )


@register.simple_tag(takes_context=True)
def card_writer(context: Context, kept: str) -> CardWriter:
    """Return what writes the page's cards; `kept` is the query string that verdicts keep."""
    user, bank, rater = context["user"], context["bank"], context["rater"]
    place = [bank.collection.slug, bank.pk]
    may_verify = roles.holds(user, bank.collection, roles.TO_VERIFY)
    may_accept = roles.may_edit(user, bank.collection)
    return CardWriter(
        rater,
        bank,
        f"{reverse('review:verify', args=place)}{kept}",
        _buttons(user, rater) if may_verify else NOTHING,
        f"{reverse('review:verify-accept', args=place)}{kept}" if may_accept else "",
        keycap(user, "accept"),
        str(context["csrf_token"]),
    )


@register.filter
def written(card: Card, writer: CardWriter) -> SafeString:
    """Return the card of one cell to check."""
    return writer.card(card)


def _buttons(user: User, rater: Rater) -> SafeString:
    """Return the buttons of a verdict: on an answer two, on a rating also those that say which is right."""
    right, wrong, only = (keycap(user, action) for action in ("right", "wrong", "complete"))
    if rater.verifies:
        return joined(
            (
                _button("verdict", "right", "Right.", "right", f"Verdict is right {right}", is_own=True),
                _button("verdict", "wrong", "Wrong.", "wrong", f"Verdict is wrong {wrong}", is_own=True),
            )
        )
    ratings = [_button("rating", n, f"{n}.", f"rate-{n}", n) for n in "012345"]
    ratings.append(_button("verdict", "wrong", "Wrong.", "complete", f"Just wrong {only}"))
    return joined(
        (
            _button("verdict", "right", "Right.", "right", f"Right {right}", is_own=True),
            fill(WRONG, keycap=wrong, buttons=joined(ratings)),
        )
    )


def _button(name: str, value: str, message: str, key: str, label: str, *, is_own: bool = False) -> SafeString:
    own = SafeString(f'id="{value}"' if is_own else "")
    return fill(BUTTON, is_id=own, name=name, value=value, said=message, key=key, label=SafeString(label))


@register.simple_tag(takes_context=True)
def cells_ahead(context: Context) -> SafeString:
    """Return the next cells of the queue as items of a list."""
    rater, kept = context["rater"], context["kept"].urlencode()
    return joined(
        fill(
            AHEAD,
            chip=rating_chip(rater, now.rating),
            kept=f"{kept}&" if kept else "",
            at=now.at,
            text=bdi(clipped(now.item.revision.text, 70)),
            excerpt=bdi(now.excerpt),
            reasons="".join(f"; {reason}" for reason in now.reasons),
            random="; random share" if now.is_random else "",
        )
        for now in context["ahead"]
    )


@register.simple_tag(takes_context=True)
def item_lines(context: Context) -> SafeString:
    """Return the topic's items as items of a list: each leads to its cells, the worst first."""
    address = context["request"].GET.copy()
    for name in ("at", "topic", "item", "order"):
        address.pop(name, None)
    kept, topic, chosen = address.urlencode(), context["here"].pool.topic_id, context["query"].item
    lines: list[ItemLine] = context["lines"]
    return joined(
        fill(
            LINE,
            kept=f"{kept}&" if kept else "",
            topic=topic,
            item=line.pk,
            current=SafeString(' aria-current="true"') if line.pk == chosen else NOTHING,
            name=line.name,
            checked=line.checked,
            rated=line.rated,
            text=bdi(clipped(line.text, 60)),
        )
        for line in lines
    )


@register.simple_tag
def rating_chip(rater: Rater, rating: int) -> SafeString:
    """Render a rating by this rater, or its verdict on an answer."""
    return answer_chip(("wrong", "right")[rating]) if rater.verifies else grade_chip(rating)


@register.simple_tag
def share(estimate: Proportion) -> SafeString:
    """Render a share with its interval and counts; "too few" where the interval would say nothing."""
    if estimate.value is None or estimate.interval is None:
        return format_html('<span class="muted">{}</span>', DASH)
    if estimate.is_too_few:
        return format_html('<span class="small muted">too few: {} of {}</span>', estimate.count, estimate.n)
    low, high = estimate.interval
    return format_html(
        '{} <span class="small muted">{} to {}, {} of {}</span>',
        percent(estimate.value),
        percent(low),
        percent(high),
        estimate.count,
        estimate.n,
    )
