"""Every change of the bank editor over HTTP, with htmx and without."""

import pytest
from django.urls import reverse

from grading.types import ItemKind, item_id
from rubricweb.banks import actions
from rubricweb.corpus.models import Subtopic
from rubricweb.editor.forms import MAX_WORDING
from tests.factories import BankFactory, ItemFactory, ItemRevisionFactory
from tests.rubricweb.markup import markup

HTMX = {"HTTP_HX_REQUEST": "true"}
WORDS = "Which pigment makes leaves red?"


@pytest.fixture
def item(bank, topic, owner):
    return actions.add_item(bank, topic, kind=ItemKind.QUESTION, text=WORDS, by=owner)


def url_of(name, item):
    return reverse(f"editor:{name}", args=[item.bank_id, item.pk])


def posted(client, url, htmx=False, **fields):
    return client.post(url, fields, **(HTMX if htmx else {}))


@pytest.mark.usefixtures("developers_only")
@pytest.mark.parametrize("name", ["item-edit", "item-supply", "item-move", "item-retire", "item-restore"])
def test_changes_are_for_developers(client_of, item, viewer, assessor, outsider, name):
    url = url_of(name, item)
    fields = {"text": "Why?", "seen": 1, "place": 0}
    assert client_of(viewer).post(url, fields).status_code == 403
    assert client_of(assessor).post(url, fields).status_code == 403
    assert client_of(outsider).post(url, fields).status_code == 404
    item.refresh_from_db()
    assert item.version == 1


def test_adding_is_for_developers(client_of, bank, topic, viewer, outsider):
    url = reverse("editor:item-add", args=[bank.pk, topic.pk])
    fields = {"kind": "question", "text": WORDS}
    assert client_of(viewer).post(url, fields).status_code == 403
    assert client_of(outsider).post(url, fields).status_code == 404
    assert not bank.items.exists()


def test_wrong_methods(client_of, developer, item):
    client = client_of(developer)
    assert client.get(url_of("item-move", item)).status_code == 405
    assert client.post(url_of("item-history", item)).status_code == 405
    assert client.put(url_of("item-edit", item)).status_code == 405
    assert client.head(url_of("item-history", item)).status_code == 200


def test_an_item_of_another_bank_is_not_found(client_of, developer, item, collection):
    other = BankFactory(collection=collection, name="other")
    assert client_of(developer).get(reverse("editor:item-edit", args=[other.pk, item.pk])).status_code == 404


def test_adding_without_javascript_goes_back_to_the_editor(client_of, developer, bank, topic):
    url = reverse("editor:item-add", args=[bank.pk, topic.pk])
    answer = posted(client_of(developer), f"{url}?min_grade=3", kind="nugget", text=f" {WORDS} ")
    assert answer.status_code == 302
    assert answer["Location"] == reverse("review:topic", args=[bank.pk, topic.pk]) + "?min_grade=3#new-item"
    added = bank.items.get()
    assert (added.revision.text, added.kind, added.changes.get().by) == (WORDS, "nugget", developer)


def test_adding_by_htmx_brings_a_fresh_form_and_makes_the_list_fetch_itself(
    client_of, developer, bank, topic
):
    url = reverse("editor:item-add", args=[bank.pk, topic.pk])
    answer = posted(client_of(developer), url, htmx=True, kind="nugget", text=WORDS)
    assert "items-changed" in answer["HX-Trigger-After-Settle"]
    html = markup(answer)
    assert html.lstrip().startswith('<form id="new-item-form"')
    assert WORDS not in html
    assert '<option value="nugget" selected>' in html
    assert "Nugget added." in html


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" ", "Write the question or nugget first."),
        (WORDS, "This topic already asks exactly this."),
        ("x" * (MAX_WORDING + 1), "Keep it under 2,000 characters; this has 2001."),
    ],
)
def test_what_cannot_be_added_is_said_at_the_field(client_of, developer, item, text, said):
    url = reverse("editor:item-add", args=[item.bank_id, item.topic_id])
    answer = posted(client_of(developer), url, htmx=True, kind="question", text=text)
    assert answer.status_code == 422
    assert f'id="new-item-text_error">{said}' in markup(answer)


def test_items_of_a_subtopic_have_its_id_in_theirs(client_of, developer, bank, topic):
    Subtopic.objects.create(topic=topic, facet_id="pigments", text="Pigments", position=0)
    url = reverse("editor:item-add", args=[bank.pk, topic.pk])
    posted(client_of(developer), url, kind="question", text=WORDS, facet_id="pigments")
    assert bank.items.get().revision.uid == item_id("q1", WORDS, "pigments")
    assert posted(client_of(developer), url, kind="question", text=WORDS, facet_id="roots").status_code == 422


def test_rewording(client_of, developer, item):
    client, url = client_of(developer), url_of("item-edit", item)
    page = markup(client.get(url))
    assert "<title>Reword" in page
    assert WORDS in page
    part = markup(client.get(url, **HTMX))
    assert part.lstrip().startswith('<aside id="item-panel"')
    answer = posted(client, url, text="Why red?", seen=1)
    assert answer["Location"].endswith(f"/topics/{item.topic_id}/#item-{item.pk}")
    row = client.post(url, {"text": "Why so red?", "seen": 2}, **HTMX, HTTP_HX_TARGET="item-panel")
    assert row["HX-Retarget"] == f"#item-{item.pk}"
    assert '<aside id="item-panel" hx-swap-oob="true" hidden></aside>' in markup(row)
    assert markup(row).lstrip().startswith(f'<li id="item-{item.pk}"')
    assert "HX-Request" in row["Vary"]
    item.refresh_from_db()
    assert (item.revision.text, item.version) == ("Why so red?", 3)


@pytest.mark.parametrize("htmx", [True, False])
def test_a_conflict_shows_both_wordings_and_mine_can_be_saved_over_theirs(
    client_of, developer, owner, item, htmx
):
    client, url = client_of(developer), url_of("item-edit", item)
    actions.revise_item(item, text="Theirs?", seen=1, by=owner)
    answer = posted(client, url, htmx=htmx, text="Mine?", seen=1)
    html = markup(answer)
    assert answer.status_code == 409
    assert f"Theirs: reworded by {owner}" in html
    assert html.count("Theirs?") >= 1
    assert html.count("Mine?") == 2  # beside theirs, and in the form
    assert 'name="seen" value="2"' in html
    item.refresh_from_db()
    assert item.revision.text == "Theirs?"
    assert posted(client, url, htmx=htmx, text="Mine?", seen=2).status_code == (200 if htmx else 302)
    item.refresh_from_db()
    assert item.revision.text == "Mine?"


def test_rewording_what_somebody_retired_says_that_it_stays_retired(client_of, developer, owner, item):
    client, url = client_of(developer), url_of("item-edit", item)
    actions.retire_item(item, seen=1, by=owner)
    refused = markup(posted(client, url, text="Mine?", seen=1))
    assert "If you save yours, it stays retired until somebody restores it." in refused
    saved = markup(posted(client, url, htmx=True, text="Mine?", seen=2))
    assert "Question saved. It is still retired: restore it to have it counted." in saved


def test_rewording_into_an_asked_question_is_refused_at_the_field(client_of, developer, item):
    other = actions.add_item(item.bank, item.topic, kind=ItemKind.QUESTION, text="Why?", by=developer)
    answer = posted(client_of(developer), url_of("item-edit", item), text="Why?", seen=1)
    assert answer.status_code == 422
    assert "This topic already asks exactly this." in markup(answer)
    assert other.version == 1


@pytest.mark.parametrize("seen", ["", "zero", "0"])
def test_a_version_that_is_none_is_not_saved(client_of, developer, item, seen):
    answer = posted(client_of(developer), url_of("item-edit", item), text="Why?", seen=seen)
    assert answer.status_code == 422
    item.refresh_from_db()
    assert item.version == 1


def test_history_names_words_people_and_times_and_offers_old_words(client_of, developer, viewer, item):
    actions.revise_item(item, text="Why red?", seen=1, by=developer)
    html = markup(client_of(developer).get(url_of("item-history", item)))
    assert html.index("Why red?") < html.index(WORDS)
    assert f"Reworded</strong> by {developer}" in html
    assert "UTC" in html
    assert f"{url_of('item-edit', item)}?wording=1" in html
    seen_by_viewer = markup(client_of(viewer).get(url_of("item-history", item), **HTMX))
    assert seen_by_viewer.lstrip().startswith('<aside id="item-panel"')
    assert "Use this wording again" not in seen_by_viewer
    again = markup(client_of(developer).get(url_of("item-edit", item) + "?wording=1"))
    assert f"{WORDS}</textarea>" in again
    assert client_of(developer).get(url_of("item-edit", item) + "?wording=7").status_code == 404
    assert client_of(developer).get(url_of("item-edit", item) + "?wording=x").status_code == 404
    assert client_of(developer).get(url_of("item-edit", item) + f"?wording={'9' * 40}").status_code == 400


def test_history_of_outsiders(client_of, outsider, item):
    assert client_of(outsider).get(url_of("item-history", item)).status_code == 404


def test_moving_by_buttons(client_of, developer, item):
    actions.add_item(item.bank, item.topic, kind=ItemKind.QUESTION, text="Why?", by=developer)
    answer = posted(client_of(developer), url_of("item-move", item), place=1)
    assert answer["Location"].endswith(f"#item-{item.pk}")
    assert [row.pk for row in item.bank.items.active()][-1] == item.pk
    row = posted(client_of(developer), url_of("item-move", item), htmx=True, place=0)
    assert f'id="item-{item.pk}-down"' in markup(row)
    assert f'id="item-{item.pk}-up"' not in markup(row)
    refused = posted(client_of(developer), url_of("item-move", item), htmx=True, place="top")
    assert "A position in the list is a number from 0." in markup(refused)


def test_an_order_that_changed_meanwhile_is_not_overwritten(client_of, developer, item):
    other = actions.add_item(item.bank, item.topic, kind=ItemKind.QUESTION, text="Why?", by=developer)
    client, url = client_of(developer), url_of("item-move", item)
    posted(client, url, htmx=True, place=1, seen=f"{item.pk},{other.pk}")
    assert list(item.bank.items.active()) == [other, item]
    late = posted(client, url, htmx=True, place=0, seen=f"{item.pk},{other.pk}")
    assert "somebody else changed the order" in markup(late)
    assert list(item.bank.items.active()) == [other, item]


def test_supplying_the_words_of_an_id(client_of, developer, bank, topic):
    unknown = ItemRevisionFactory(topic=topic, uid=item_id("q1", WORDS), text="")
    item = ItemFactory(bank=bank, topic=topic, revision=unknown)
    url = url_of("item-supply", item)
    assert unknown.uid in markup(client_of(developer).get(url))
    wrong = posted(client_of(developer), url, htmx=True, text="Which pigment?")
    assert wrong.status_code == 422
    assert "This is not the text of this id" in markup(wrong)
    assert "Which pigment?</textarea>" in markup(wrong)
    assert posted(client_of(developer), url, htmx=True, text=WORDS).status_code == 200
    unknown.refresh_from_db()
    assert unknown.text == WORDS
