"""The rows of the list of problems, as HTML."""

from __future__ import annotations

from django import template
from django.template import Context
from django.template.defaultfilters import capfirst, pluralize, truncatechars
from django.utils.safestring import SafeString

from rubricweb.core.formatting import counted
from rubricweb.core.tags import bdi, fill, joined
from rubricweb.review.problems import NearPair, Suspect, UncoveredPassage
from rubricweb.review.problems.copies import PooledGroup
from rubricweb.review.problems.listing import Effect, ProblemRow, WeakItem

ROW = """
<li id="row-{key}">
  <a class="problem-row" href="{to}"{current} hx-get="{page}{to}" hx-target="#problem" hx-swap="outerHTML"
    hx-push-url="true" hx-sync="#problem:replace">
    <span dir="auto" class="problem-text">{text}</span>
    <span class="problem-move">{move}</span>
    <span class="problem-why">{why} {decision}</span>
    {bar}
  </a>
</li>"""
MOVE = '<strong>{moving} run{s}</strong> <span class="muted">{size}</span>'
SPREAD = '<span class="muted">differ by {spread}</span>'
BAR = """<meter class="problem-bar" min="0" max="{most:f}" value="{change:f}" aria-hidden="true"></meter>"""
KIND = '<span class="problem-kind">{kind}</span> · '
MISLEADING = "{kind}{topic} · {covered} of {graded} that are not relevant cover it"
MARK = '<span class="problem-kind">{fault}</span> · <bdi>{evidence}</bdi> · '
UNCOVERED = "{kind}{topic} · {doc_id}{judged} {best}"
SAME = "{kind}{topic} · as “{other}”"
COPIES = "{kind}{topic} · {passages}, {items} graded differently"
DECISION = '<span class="decision">Set aside by {by}: {text}</span>'
NOTHING = SafeString("")
SHOWN_CHARS, SHOWN_CHARS_OF_OTHER = 140, 70

register = template.Library()


@register.simple_tag(takes_context=True)
def problem_rows(context: Context) -> SafeString:
    """Draw the rows of the page; each opens its problem."""
    request, opened, most = context["request"], context["key"], context["most"]
    address = request.GET.copy()
    for name in ("page", "problem"):
        address.pop(name, None)
    kept = f"{address.urlencode()}&" if address else ""
    drawn = []
    for row in context["rows"]:
        problem = row.problem
        drawn.append(
            fill(
                ROW,
                key=problem.key,
                page=request.path,
                to=f"?{kept}problem={problem.key}",
                current=SafeString(' aria-current="true"') if problem.key == opened else NOTHING,
                text=_cut(row.text, SHOWN_CHARS),
                move=_move(row),
                why=_why(row),
                decision=_decision(row),
                bar=_bar(problem.effect, most),
            )
        )
    return joined(drawn)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else truncatechars(text, most)


def _move(row: ProblemRow) -> SafeString:
    """Return what solving the problem moves, or how far its grades are apart."""
    effect, finding = row.problem.effect, row.problem.finding
    if effect is None:
        return fill(SPREAD, spread=finding.spread) if isinstance(finding, PooledGroup) else NOTHING
    return fill(MOVE, moving=effect.moving or "no", s=pluralize(effect.moving), size=effect.size)


def _bar(effect: Effect | None, most: float) -> SafeString:
    return SafeString(BAR.format(most=most, change=effect.change)) if effect and most else NOTHING


def _why(row: ProblemRow) -> SafeString:
    """Return what kind of problem a row is, where, and how it shows."""
    finding, topic = row.problem.finding, row.query_id
    if isinstance(finding, Suspect):
        covered, graded = finding.spurious.count, finding.spurious.n_graded
        return fill(MISLEADING, kind=_kind("Misleading"), topic=topic, covered=covered, graded=graded)
    if isinstance(finding, WeakItem):
        marks = (fill(MARK, fault=capfirst(mark.fault), evidence=mark.evidence) for mark in finding.marks)
        return joined((*marks, fill("{topic}", topic=topic)))
    if isinstance(finding, UncoveredPassage):
        judged = "" if finding.judgment is None else f", judged {finding.judgment}"
        best = f"· best grade {finding.label}" if finding.label >= 0 else ""
        kind = _kind("No question covers it")
        return fill(UNCOVERED, kind=kind, topic=topic, doc_id=row.doc_id, judged=judged, best=best)
    if isinstance(finding, NearPair):
        other = bdi(_cut(finding.keep.text, SHOWN_CHARS_OF_OTHER))
        return fill(SAME, kind=_kind("Same twice"), topic=topic, other=other)
    passages, items = counted(len(finding.rows), "passage"), counted(finding.n_differing, "item")
    return fill(COPIES, kind=_kind("Near-duplicates"), topic=topic, passages=passages, items=items)


def _kind(name: str) -> SafeString:
    return fill(KIND, kind=name)


def _decision(row: ProblemRow) -> SafeString:
    event = row.decision
    return fill(DECISION, by=str(event.by or "somebody"), text=bdi(event.text)) if event else NOTHING
