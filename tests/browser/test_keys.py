"""The keys of all review screens: the sheet, keys of one's own, and when they rest."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.factories import BankFactory

COUNT = """(action) => {
  const made = document.createElement("button");
  made.dataset.keyAction = action;
  made.id = `presses-${action}`;
  made.textContent = "0";
  made.addEventListener("click", () => (made.textContent = Number(made.textContent) + 1));
  document.getElementById("main").append(made);
}"""
PRESS = """([code, key, held]) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { code, key, [held]: true, bubbles: true, cancelable: true }))"""
"""What a browser sends, also where the layout has another letter on that key."""


@pytest.fixture
def page(people, places) -> Page:
    page = people.sign_in("assessor")
    page.goto(places.of_collection("home:collection"))
    return page


def counter(page: Page, action: str):
    page.evaluate(COUNT, action)
    return page.locator(f"#presses-{action}")


def test_the_sheet_lists_what_the_page_has(page):
    sheet = page.get_by_role("dialog", name="Keys on this page")
    page.keyboard.press("?")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_text("To the collection's topics")).to_be_visible()
    expect(sheet.get_by_text("Rate 3")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    counter(page, "rate-3")
    page.get_by_role("link", name="Keys", exact=True).click()
    expect(sheet.get_by_text("Rate 3")).to_be_visible()
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_be_hidden()


def test_a_key_presses_its_element(page, places):
    page.goto(places.of_collection("releases:share"))
    page.keyboard.press("t")
    expect(page).to_have_url(f"{page.url.split('/collections/')[0]}{places.of_collection('home:collection')}")


def test_keys_rest_while_typing_in_a_dialog_and_with_modifiers(page, places):
    BankFactory(collection=places.collection, name="another")  # so that there is a choice
    page.reload()
    wrong = counter(page, "wrong")
    search = page.get_by_label("Find")
    search.focus()
    page.keyboard.press("w")
    expect(search).to_have_value("w")
    page.keyboard.press("Backspace")  # or leaving the field would show another list
    page.get_by_label("Rubric", exact=True).focus()
    page.keyboard.press("w")
    page.locator("#presses-wrong").focus()
    for held in ("ctrlKey", "altKey", "metaKey"):
        page.evaluate(PRESS, ["KeyW", "w", held])
    page.keyboard.press("Shift+W")
    page.keyboard.press("?")
    page.keyboard.press("w")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(wrong).to_have_text("0")
    page.keyboard.press("w")
    expect(wrong).to_have_text("1")


@pytest.mark.parametrize(
    ("action", "code", "key"),
    [
        pytest.param("wrong", "KeyZ", "w", id="W on AZERTY"),
        pytest.param("undo", "KeyW", "z", id="Z on AZERTY"),
        pytest.param("selected", "KeyQ", "a", id="A on AZERTY"),
        pytest.param("rate-3", "Digit3", '"', id="3 on AZERTY without Shift"),
        pytest.param("rate-4", "Digit4", "'", id="4 on AZERTY without Shift"),
        pytest.param("rate-5", "Numpad5", "5", id="number pad"),
        pytest.param("undo", "KeyY", "z", id="Z on QWERTZ"),
        pytest.param("undo", "KeyZ", "Z", id="Caps Lock"),
        pytest.param("wrong", "KeyW", "ц", id="Cyrillic"),
        pytest.param("undo", "KeyZ", "ζ", id="Greek"),
        pytest.param("spurious", "KeyS", "س", id="Arabic"),
        pytest.param("rate-2", "Digit2", "٢", id="Arabic digits"),
        pytest.param("wrong", "KeyW", "'", id="Hebrew, where W gives a sign"),
    ],
)
def test_key_that_a_button_shows_presses_it_on_other_layouts(page, action, code, key):
    others = [counter(page, other) for other in PRESSED if other != action]
    pressed = counter(page, action)
    page.evaluate(PRESS, [code, key])
    expect(pressed).to_have_text("1")
    assert [other.inner_text() for other in others] == ["0"] * len(others)


PRESSED = ("wrong", "undo", "selected", "rate-2", "rate-3", "rate-4", "rate-5", "spurious")


@pytest.mark.parametrize(
    ("code", "key", "composing"),
    [("KeyZ", "z", "isComposing"), ("KeyZ", "Process", ""), ("BracketLeft", "Dead", ""), ("KeyA", "q", "")],
)
def test_keys_rest_while_an_input_method_composes(page, code, key, composing):
    undo, selected = counter(page, "undo"), counter(page, "selected")
    page.evaluate(PRESS, [code, key, composing])
    page.keyboard.press("z")
    expect(undo).to_have_text("1")
    expect(selected).to_have_text("0")


def test_sheet_shows_the_letter_of_the_key_without_asking_the_browser(page):
    """Firefox and Safari do not tell the layout."""
    page.evaluate("delete Navigator.prototype.keyboard")
    page.evaluate(PRESS, ["Minus", "?"])  # where a German keyboard has it
    row = page.locator("#keys [data-key-row=home]")
    expect(row.locator("kbd")).to_have_text("T")


def test_enter_belongs_to_what_has_the_focus(page):
    complete, other = counter(page, "complete"), counter(page, "skip")
    other.focus()
    page.keyboard.press("Enter")
    expect(other).to_have_text("1")
    page.keyboard.press("Control+Enter")
    expect(complete).to_have_text("1")
    page.locator("#main").focus()
    page.keyboard.press("Enter")
    expect(complete).to_have_text("2")
    expect(other).to_have_text("1")


def test_a_key_of_ones_own_works_after_a_reload_and_a_double_one_is_refused(page, places):
    page.keyboard.press("?")
    page.get_by_role("link", name="Choose your own keys").click()
    page.wait_for_url("**/accounts/#own-keys")  # loaded, so that its scripts hear the key
    home = page.get_by_label("To the collection's topics")
    home.focus()
    page.keyboard.press("c")
    expect(home).to_have_value("C")
    page.get_by_role("button", name="Save the keys").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_text("C does this already")).to_be_visible()
    home.focus()
    page.keyboard.press("Shift+H")
    page.get_by_role("button", name="Save the keys").click()
    expect(page.get_by_text("Keys saved.")).to_be_visible()
    expect(home).to_have_value("Shift + H")
    for _ in range(2):
        page.goto(places.of_collection("releases:share"))
        page.keyboard.press("t")
        page.keyboard.press("Shift+H")
        expect(page.get_by_role("heading", name=places.collection.name)).to_be_visible()
    page.goto("/accounts/")
    page.get_by_role("button", name="Restore default keys").click()
    expect(home).to_have_value("T")
