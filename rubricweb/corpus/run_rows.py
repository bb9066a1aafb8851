"""A run's row on the organizers' page of runs, as HTML."""

from __future__ import annotations

from collections.abc import Iterator

from django import template
from django.template import Context
from django.template.defaultfilters import truncatechars
from django.urls import reverse
from django.utils.safestring import SafeString

from rubricweb.core.formatting import number
from rubricweb.core.tags import fill, joined, moment
from rubricweb.corpus.models import Run
from rubricweb.corpus.runs import ListedRun, RunList

ROW = """
<tr id="run-{pk}">
  <th scope="row">{name}</th>
  {team}{task}
  <td><span class="badge"{tone}>{state}</span> {rejection}</td>
  <td class="num">{topics} of {all}</td>
  <td class="nowrap">{submitted}</td>
  <td><div class="row">{changes}</div></td>
</tr>"""
ANSWERS = """<a class="small" href="{to}">Answers<span class="visually-hidden">of {tag}</span></a> """
MADE = '<a class="small" href="{to}" aria-label="How it is made: {tag}">How it is made</a> '
PRIORITY = '<span class="small muted">priority {priority}</span> '
BADGE = '<span class="badge">{tag}</span> '
DESCRIPTION = '<div dir="auto" class="small muted">{text}</div>'
REJECTION = '<div class="small muted">{text}</div>'
TEAM = '<td dir="auto">{team}</td>'
TASK = "<td>{task} {type}</td>"
MUTED = '<span class="muted">{text}</span>'
TONE = ' data-tone="{tone}"'
SUBMITTED = "{at} {by}"
LINK = """<a class="button-quiet" href="?{verb}={pk}#run-{pk}" hx-get="{page}?{verb}={pk}"
  hx-target="#runs" hx-swap="outerHTML" aria-label="{label} {tag}">{label}</a>"""
CHANGE = """<form method="post" action="{to}" hx-post="{to}" hx-target="#runs" hx-swap="outerHTML"
  hx-sync="this:drop" hx-disabled-elt="find button">
  <input type="hidden" name="csrfmiddlewaretoken" value="{token}">
  <button class="{look}" aria-label="{label} {tag}">{label}</button>
</form>"""
NOTHING = SafeString("")
SHOWN_CHARS = 120
TONES = {Run.State.SUBMITTED: "warn", Run.State.WITHDRAWN: "bad", Run.State.REJECTED: "bad"}

register = template.Library()


@register.simple_tag(takes_context=True)
def run_row(context: Context, row: ListedRun, runs: RunList) -> SafeString:
    """Draw the row of one of the runs: what it is, its state, and how to change it."""
    run = row.run
    tone = TONES.get(Run.State(run.state))
    kind = fill(MUTED, text=run.type) if run.type else NOTHING
    return fill(
        ROW,
        pk=run.pk,
        name=joined(_name(row)),
        team=fill(TEAM, team=run.team) if runs.has_teams else NOTHING,
        task=fill(TASK, task=run.task, type=kind) if runs.has_tasks else NOTHING,
        tone=fill(TONE, tone=tone) if tone else NOTHING,
        state="unfinished" if run.is_unfinished else run.get_state_display(),
        rejection=fill(REJECTION, text=_short(run.rejection)) if run.rejection else NOTHING,
        topics=number(row.topics),
        all=number(runs.topics),
        submitted=_submitted(run),
        changes=joined(_changes(run, str(context["csrf_token"]))),
    )


def _name(row: ListedRun) -> Iterator[SafeString]:
    run, tag, slug = row.run, row.run.run_tag, row.run.collection.slug
    yield fill("{tag} ", tag=tag)
    if row.responses and run.is_accepted:
        yield fill(ANSWERS, to=f"{reverse('leaderboards:compare', args=[slug])}?a={run.pk}", tag=tag)
    if run.is_made_here:
        yield fill(MADE, to=reverse("systems:made", args=[slug, run.pk]), tag=tag)
    if run.priority:
        yield fill(PRIORITY, priority=run.priority)
    yield from (fill(BADGE, tag=str(each)) for each in run.tags)
    if run.description:
        yield fill(DESCRIPTION, text=_short(run.description))


def _short(text: str) -> str:
    return str(truncatechars(text, SHOWN_CHARS))


def _submitted(run: Run) -> SafeString:
    if run.submitted_at:
        by = f"by {run.submitted_by}" if run.submitted_by else ""
        return fill(SUBMITTED, at=moment(run.submitted_at), by=by)
    return fill(MUTED, text="made here" if run.is_made_here else "imported")


def _changes(run: Run, token: str) -> Iterator[SafeString]:
    page, tag = reverse("corpus:runs", args=[run.collection.slug]), run.run_tag
    yield fill(LINK, verb="edit", label="Edit", pk=run.pk, page=page, tag=tag)
    is_out = run.state in (Run.State.WITHDRAWN, Run.State.REJECTED)
    if is_out:
        yield fill(LINK, verb="remove", label="Remove", pk=run.pk, page=page, tag=tag)
    if run.is_accepted or run.is_unfinished:
        change, label, look = "withdraw", "Withdraw", "button-quiet"
    else:
        is_withdrawn = run.state == Run.State.WITHDRAWN
        change, label, look = "accept", "Restore" if is_withdrawn else "Accept", "button"
    to = reverse(f"corpus:run-{change}", args=[run.collection.slug, run.pk])
    yield fill(CHANGE, to=to, token=token, look=look, label=label, tag=tag)
