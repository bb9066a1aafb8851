"""Template tags and filters for several apps."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from uuid import UUID, uuid4

from django import template
from django.conf import settings
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.template import Context
from django.template.defaultfilters import floatformat
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.dateformat import format as date_format
from django.utils.html import conditional_escape, format_html, json_script
from django.utils.safestring import SafeString

from grading.types import CONTRADICTS
from rubricweb.core.formatting import counted, rating_sign, rating_words
from rubricweb.core.http import page_address, undo_of
from rubricweb.core.reader import NoReader, hidden_sentence, reader

AS_IS = (SafeString, int, float)
"""Parts of HTML that need no escaping."""
TEXTS = {
    "leave": "Leave without saving what you wrote?",
    "loading": "Loading",
    "copied": "Copied",
    "not copied": "Selected: press Ctrl C",
    "place": "Place {place} of {n}: {item}",
    "chosen": "{n} selected",
    "one shown": "1 item shown",
    "shown": "{n} items shown",
    "opened": "{n} of {all} opened",
    # The session.
    "sign in again": "You are signed out. What you did since then is kept on this page. Sign in to save it.",
    "signed out": "Signed out",
    "signed in as": (
        "{name} signed in in another window. What you did on this page is kept. Sign in as yourself to save"
        " it, or reload the page to go on as {name}."
    ),
    "waits": "{n} of your ratings or decisions were not sent yet.",
    "send them": "Send them",
    "too large": "This text is too large to send. Shorten it, or send it as a file.",
    # What was rated, and is on its way.
    "offline": "Offline",
    "waiting": "Waiting ({why})",
    "unsent": "{n} unsent",
    "saving": "Saving…",
    "saved": "Saved {time}",
    "all saved": "Everything is saved.",
    "cut off": "No connection. {n} unsent, kept on this device.",
    "kept": "Kept on this device.",
    # What was refused, by the status of the answer.
    "refused 400": (
        "The server could not read this rating. Reload the page. If it is refused again, discard it and rate"
        " anew."
    ),
    "refused 403": "You may not do this now. Ask an organizer.",
    "refused 404": "This no longer exists. Discard it.",
    "refused 409": (
        "You did this otherwise in another window, or somebody else did. Discard this, or do it again on its"
        " page."
    ),
    "refused 413": "This text is too long. Discard it, and send a shorter one.",
    "refused": "The server failed. Try again; if it fails again, tell the organizers.",
    "a rating": "rating {rating}, {cell}",
    "an undo": "undo, {cell}",
    "a rating of": "{rating} for {item}",
    "a comment on": "comment on {item}",
    # The queue.
    "rated of": "{rated} of {n} rated",
    "item": "Item {place} of {n}.",
    "choose": "Choose a rating from 0 to 5.",
    "rated": "Rated {rating}.",
    "you": "you {rating}",
    "skipped": "Skipped.",
    "skip": "skipped",
    "left as it is": "Kept.",
    "saving comment": "Saving the comment…",
    "comment saved": "Comment saved.",
    "comment kept": "The comment is kept on this device.",
    "comment not saved": "Not saved yet: the comment is kept on this device.",
    # Cards.
    "next card": "Next one.",
    "taken back": "Taken back.",
}


register = template.Library()
register.filter(undo_of)
register.filter(counted)

ONCE = "once"
"""Field of forms that create something: see `api.forms_once`."""
TONES = {"done": "good", "added": "good", "running": "live", "failed": "bad", "retired": "bad"}
DASH = "\N{EN DASH}"
LISTENER = """<span data-live hx-get="{address}" hx-trigger="{trigger}" hx-target="{target}"
  hx-swap="outerHTML" hx-sync="closest div:queue last"{included}></span>
"""
"""Fetches a part of a page on events."""
NOTE = "data-hidden-note"
"""Attribute of the element that says how much is hidden from the reader."""


def as_html(text: Any) -> str:  # Any: also what is lazily a text
    """Return what Django's `conditional_escape` does, for texts in a fifth of its time."""
    if isinstance(text, AS_IS):
        return str(text)
    return html.escape(text) if type(text) is str else conditional_escape(text)


def fill(pattern: str, **parts: str | float) -> SafeString:
    """Return a constant pattern of HTML with its parts, as `format_html` does, in a fifth of its time.

    Every text is escaped but those that are safe. Lazy texts are no parts.

    >>> fill("<b>{name}</b>{number}", name="R&D", number=7)
    '<b>R&amp;D</b>7'
    """
    escaped = {name: part if isinstance(part, AS_IS) else html.escape(part) for name, part in parts.items()}
    return SafeString(pattern.format(**escaped))


def joined(parts: Iterable[SafeString]) -> SafeString:
    """Return parts that are HTML already, one after the other."""
    return SafeString("".join(parts))


@register.simple_tag
def options(choices: Iterable[tuple[str, str]]) -> SafeString:
    """Return values with their labels as options of a datalist."""
    return joined(
        fill('<option value="{value}">{label}</option>', value=value, label=label) for value, label in choices
    )


@register.simple_tag
def command() -> str:
    """Return what people type before the name of a management command."""
    return settings.COMMAND


@register.simple_tag
def body_bytes() -> int:
    """Return how large a request without files may be."""
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@register.simple_tag
def once() -> SafeString:
    """Return the field by which the server knows a form that is sent twice; what it makes is made once."""
    return format_html('<input type="hidden" name="{}" value="{}">', ONCE, uuid4().hex)


@register.simple_tag
@lru_cache(maxsize=1)
def script_texts() -> SafeString:
    """Return the texts of the page's scripts as JSON."""
    return json_script({name: str(text) for name, text in TEXTS.items()}, "texts")


@register.simple_tag
def new_uid() -> UUID:
    """Return a uid by which the server recognizes a form that is sent twice."""
    return uuid4()


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """Draw a symbol of `static/img/icons.svg` beside words; screen readers skip it."""
    sprite = static("img/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', sprite, name)


@register.filter
def score(value: float | None) -> str:
    """Format a score with four decimals, as in the field's tables; a dash if undefined."""
    return DASH if value is None or value != value else f"{value:z.4f}"


@register.filter(is_safe=True)
def last_is_current(trail: str) -> str:
    """Mark the last `<span>` of a trail as the page that the reader is on; names have their own direction."""
    marked = re.sub(
        r"<span\s*>(?!.*<span\s*>)", '<span aria-current="page">', trail, count=1, flags=re.DOTALL
    )
    return re.sub(r"<(a|span)(?=[\s>])", r'<\1 dir="auto"', marked)


@register.filter
def moment(at: datetime | None, precision: str = "minutes") -> SafeString:
    """Return when something was, in UTC, or "" for None; with "seconds", to the second.

    >>> moment(datetime(2026, 11, 28, 7, 46, 12, tzinfo=UTC), "seconds")
    '<time datetime="2026-11-28T07:46:12+00:00">28 Nov 2026, 07:46:12 UTC</time>'
    """
    if at is None:
        return SafeString("")
    text = date_format(at.astimezone(UTC), "j M Y, H:i:s" if precision == "seconds" else "j M Y, H:i")
    return format_html('<time datetime="{}">{} UTC</time>', at.isoformat(timespec="seconds"), text)


@register.filter
def ago(at: datetime | None) -> SafeString:
    """Return how long ago something was, with its moment under the pointer; "" for None."""
    if at is None:
        return SafeString("")
    title = date_format(at.astimezone(UTC), "j F Y, H:i:s")
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        at.isoformat(timespec="seconds"),
        title,
        naturaltime(at),
    )


@register.filter
def bdi(text: object) -> SafeString:
    """Isolate a name or text within a line, so that what surrounds it does not take its direction."""
    return SafeString(f"<bdi>{as_html(text)}</bdi>" if text not in (None, "") else "")


@register.simple_tag(takes_context=True)
def hidden_note(context: Context, hidden: int, things: str = "pair") -> str:
    """Say how many things are hidden from the reader, where a page counts those of its own."""
    return _hidden_note(context, hidden_sentence(hidden, things))


@register.simple_tag
def hidden_words(hidden: int, things: str = "pair") -> SafeString:
    """Say how much is hidden, within a line that counts more."""
    if not hidden:
        return SafeString("")
    return format_html("<span {}>{}</span>", NOTE, hidden_sentence(hidden, things))


@register.simple_block_tag(takes_context=True)
def with_hidden_note(context: Context, content: SafeString) -> str:
    """Begin the page with how much of it is hidden from the reader, unless its content says so itself."""
    try:
        sentence = reader().sentence
    except NoReader:
        return content
    if not sentence or NOTE in content:
        return content
    return SafeString(_hidden_note(context, sentence) + content)


def _hidden_note(context: Context, sentence: str) -> SafeString:
    note = {"sentence": sentence, "note": NOTE, "collection": context.get("collection")}
    return SafeString(render_to_string("core/_hidden_note.html", note)) if sentence else SafeString("")


@register.filter
def percent(share: float | None) -> str:
    """Format a share 0..1 as whole percent; never 0 % or 100 % unless exact."""
    if share is None or share != share:
        return DASH
    whole = round(100 * share)
    if 0 < share < 1:
        whole = min(99, max(1, whole))
    return f"{whole}\u202f%"


@register.filter
def duration(seconds: float | None) -> str:
    """Format a rough duration in the largest unit that fits."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {floatformat(seconds / 3600, 1)} h"


@register.simple_tag(takes_context=True)
def live(
    context: Context,
    target: str,
    events: str,
    *,
    address: str = "",
    on_page: str = "",
    every: str = "1s",
    include: str = "",
) -> SafeString:
    """Fetch `target` (an id with #) on each of `events`, and when some may have been missed.

    It is fetched from `address`, or from that of the page. `on_page` names an event of the page itself,
    `include` the fields to send along. Two listeners stand outside of what they replace: one fetches at once
    and then seldom, one after the last event.
    """
    if not (address := address or page_address(context["request"])):
        return SafeString("")
    names = [f"sse:{name}" for name in events.split()] + ([f"{on_page} from:body"] if on_page else [])
    triggers = (
        "".join(f"{name} throttle:{every}, " for name in names) + "again, sse:missed",
        "".join(f"{name} delay:{every}, " for name in names) + "again",
    )
    included = fill(' hx-include="{include}"', include=include) if include else ""
    fetched = {"address": address, "target": target, "included": included}
    listeners = joined(fill(LISTENER, trigger=trigger, **fetched) for trigger in triggers)
    return fill(
        '<div hidden id="{name}-live">\n{listeners}</div>', name=target.replace("#", ""), listeners=listeners
    )


@register.filter
def tone(state: str) -> str:
    """Return the badge tone for this state of a job or this change of an item."""
    return TONES.get(state, "warn")


@register.simple_tag
@lru_cache(maxsize=64)
def grade_chip(value: int | str | None) -> SafeString:
    """Render a rating as a coloured digit.

    -1 or None is missing, -2 failed, -3 hidden, -4 an extracted answer that nobody rated, -5 a contradiction:
    none looks like 0.
    """
    if value is None or value == -1:
        return _chip("missing", DASH, "not graded")
    if value == -2:
        return _chip("failed", "\N{MULTIPLICATION X}", "grading failed")
    if value == -3:
        return _chip("hidden", "?", "hidden until you have rated this passage")
    if value == -4:
        return _chip("answered", "A", "an answer was extracted but not rated")
    if value == CONTRADICTS:
        return _chip("contradicts", rating_sign(value), "contradicts the item")
    return _chip(str(value), str(value), f"grade {value}")


register.filter(rating_sign)
register.filter(rating_words)


def _chip(grade: str, sign: str, title: str) -> SafeString:
    return format_html('<span class="grade-chip" data-grade="{}" title="{}">{}</span>', grade, title, sign)


@register.filter
def estimate(interval: Mapping[str, float | None]) -> str:
    """Return two decimals with the interval; a dash for what is undefined.

    >>> estimate({"value": 0.617, "low": -0.1, "high": 0.7})
    '0.62 (\u22120.10 to 0.70)'
    """
    value, low, high = interval["value"], interval["low"], interval["high"]
    if value is None:
        return "\N{EN DASH}"
    if low is None or high is None:
        return _signed(value)
    return f"{_signed(value)} ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")
