"""Keys of the review screens: reading what people type, refusing what cannot be, keeping what they chose."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse
from django.utils.html import escape

from rubricweb.accounts import actions
from rubricweb.accounts.keys import ACTIONS, NoSuchKey, bindings, keys_of, parsed, sign_of
from rubricweb.core.models import AuditEntry
from tests.factories import UserFactory
from tests.rubricweb.markup import markup

ACCOUNT = "/accounts/"
URL = "/accounts/keys/"


@pytest.fixture
def ana(db):
    return UserFactory(username="ana")


def fields(**changed):
    typed = {action.name: sign_of(action.key) for action in ACTIONS}
    return typed | {name.replace("_", "-"): key for name, key in changed.items()}


def bound_on(page):
    """What the page tells its script."""
    text = re.search(r'id="key-bindings" data-keys="(.*?)"', markup(page))
    return json.loads(unescape(text[1]))["bindings"]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_what_is_shown_is_read_back(action):
    assert parsed(sign_of(action.key)) == action.key


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("r", "KeyR"),
        ("R", "KeyR"),
        ("3", "Digit3"),
        ("?", "Shift+Slash"),
        ("shift + s", "Shift+KeyS"),
        ("Shift+/", "Shift+Slash"),
        ("ArrowLeft", "ArrowLeft"),
        ("KeyQ", "KeyQ"),
        (";", "Semicolon"),
        ("PageUp", "PageUp"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_keys_are_read_by_sign_and_by_code(typed, key):
    assert parsed(typed) == key


@pytest.mark.parametrize(
    "typed", ["é", "rr", "Tab", "Escape", "Space", "Ctrl+S", "Mod+Enter", "+", "Shift+", "F5"]
)
def test_what_is_no_key_is_refused(typed):
    with pytest.raises(NoSuchKey):
        parsed(typed)


def test_everybodys_keys_are_unique(ana):
    bound = bindings(keys_of(ana))["bindings"]
    assert len(bound) == len(ACTIONS) + 1
    assert (bound["Enter"], bound["Mod+Enter"]) == ("complete", "complete")


def test_the_page_lists_every_action_with_its_key(client_of, ana):
    html = markup(client_of(ana).get(ACCOUNT))
    for action in ACTIONS:
        assert f'for="key-{action.name}">{escape(action.label)}</label>' in html
    assert 'name="undo" value="Z"' in html


def test_wrong_methods(client_of, ana):
    assert client_of(ana).put(URL).status_code == 405
    assert client_of(ana).get(reverse("accounts:keys-reset")).status_code == 405
    assert client_of(ana).head(ACCOUNT).status_code == 200


def test_the_address_of_the_keys_leads_to_their_section(client_of, ana):
    assert client_of(ana).get(URL).url == "/accounts/#own-keys"
    assert 'id="own-keys"' in markup(client_of(ana).get(ACCOUNT))


def test_strangers_sign_in_first(client, db):
    assert client.get(URL).status_code == 302
    assert client.post(URL, fields()).status_code == 302


def test_a_chosen_key_is_kept_and_reaches_every_page(client_of, ana):
    client = client_of(ana)
    assert client.post(URL, fields(spurious="f", skip="")).status_code == 302
    ana.refresh_from_db()
    assert ana.key_map == {"spurious": "KeyF", "skip": ""}
    bound = bound_on(client.get("/"))
    assert bound["KeyF"] == "spurious"
    assert "KeyS" not in bound
    assert "skip" not in bound.values()
    assert bound["KeyR"] == "right"
    assert AuditEntry.objects.get(verb="keys set").by == ana


def test_two_actions_may_swap_their_keys(client_of, ana):
    client_of(ana).post(URL, fields(right="w", wrong="r"))
    ana.refresh_from_db()
    assert ana.key_map == {"right": "KeyW", "wrong": "KeyR"}


def test_a_key_for_two_actions_is_refused_at_the_second(client_of, ana):
    answer = client_of(ana).post(URL, fields(spurious="c"))
    html = markup(answer)
    assert answer.status_code == 422
    assert 'id="key-comment_error">C does this already: Flag a question as misleading.' in html
    assert 'name="spurious" value="c"' in html
    ana.refresh_from_db()
    assert ana.key_map == {}


def test_several_actions_may_have_no_key(client_of, ana):
    assert client_of(ana).post(URL, fields(skip="", undo="")).status_code == 302


def test_what_is_no_key_is_said_at_its_field(client_of, ana):
    answer = client_of(ana).post(URL, fields(undo="Tab"))
    assert answer.status_code == 422
    assert 'id="key-undo_error">This key cannot be used here.' in markup(answer)


def test_back_to_everybodys_keys(client_of, ana):
    actions.set_keys(ana, chosen={action.name: action.key for action in ACTIONS} | {"undo": "KeyB"})
    assert ana.key_map == {"undo": "KeyB"}
    client_of(ana).post(reverse("accounts:keys-reset"))
    ana.refresh_from_db()
    assert ana.key_map == {}
    assert bound_on(client_of(ana).get(ACCOUNT))["KeyZ"] == "undo"
