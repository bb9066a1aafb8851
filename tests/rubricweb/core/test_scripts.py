"""What scripts leave to one place: keys to keys.js, requests to session.js, writes to the outbox."""

from __future__ import annotations

import re

import pytest

from tests.test_house import ROOT, loaded, own, report, templates, where

pytestmark = pytest.mark.portable
SENDERS = {"session.js"}
WRITERS = {"session.js": "signs in", "outbox.js": "sends what waits", "queue.js": "reserves cells"}
FORM = re.compile(r"<form\b(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")


def uses(pattern: str, *, but: set[str]) -> list[str]:
    """Return the lines of scripts that match, but for those of the files `but`."""
    matching = re.compile(pattern)
    lines = [
        (path, number, line)
        for path in own("js")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if matching.search(line) and not line.lstrip().startswith("//")
    ]
    assert {path.name for path, _, _ in lines} >= but  # or the pattern is wrong
    return [f"{where(path, number)}: {line.strip()}" for path, number, line in lines if path.name not in but]


def test_only_keys_js_listens_to_keys():
    """It alone knows of composing, of modifiers, of fields and of layouts."""
    report(uses(r"[\"']key(?:down|up|press)[\"']", but={"keys.js"}))
    report(uses(r"\b(?:isComposing|keyCode|altKey)\b|event\.(?:key|code)\b", but={"keys.js"}))


def test_no_template_lets_htmx_listen_to_keys():
    listens = re.compile(r'hx-trigger="[^"]*\bkey(?:down|up|press)')
    report([where(path) for path in templates() if listens.search(path.read_text(encoding="utf-8"))])


def test_only_session_js_sends_requests():
    """It alone has the token, and notices that nobody is signed in any more."""
    report(uses(r"\bfetch\(|XMLHttpRequest|sendBeacon|\.submit\(\)", but=SENDERS))


def test_only_the_outbox_writes():
    report(uses(r"method: \"(?:POST|PUT|PATCH|DELETE)\"", but={*WRITERS}))


def test_what_scripts_keep_in_the_browser_has_no_token():
    """It would be that of an earlier sign-in."""
    report(uses(r"(?:local|session)Storage\.setItem\([^)]*(?:oken|csrf)", but=set()))


def test_form_with_an_outbox_is_not_sent_by_htmx_too():
    problems = [
        f"{where(path)}: {' '.join(tag.split())}"
        for path in templates()
        for tag in FORM.findall(path.read_text(encoding="utf-8"))
        if "data-outbox=" in tag and "hx-post=" in tag
    ]
    report(problems)


def test_page_with_a_form_for_the_outbox_has_one():
    """Its script, the place where it says how it stands, and the one for what was refused."""
    pages = 0
    problems = []
    for path in templates():
        text = whole(path.read_text(encoding="utf-8"))
        if "{% extends" not in text or "data-outbox=" not in text:
            continue
        pages += 1
        has_script = ROOT / "static/js/outbox.js" in loaded(path)
        if not has_script or 'id="outbox"' not in text or 'id="refused"' not in text:
            problems.append(where(path))
    assert pages > 5
    report(problems)


def whole(text: str, depth: int = 0) -> str:
    """Return the template with what it includes."""
    assert depth < 10
    included = re.findall(r'{% include "([^"#]+)"', text)
    parts = [(ROOT / "templates" / name).read_text(encoding="utf-8") for name in included]
    return text + "".join(whole(part, depth + 1) for part in parts)
