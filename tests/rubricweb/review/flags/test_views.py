"""Threads, one thread, and the inbox: who may do what, what is kept, and what is said."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.roles import Role
from rubricweb.review.flags import actions
from rubricweb.review.flags.views import MAX_TEXT
from rubricweb.review.models import Flag, Kind
from tests.factories import TopicFactory
from tests.rubricweb.markup import markup
from tests.rubricweb.toasts import press_undo

pytestmark = pytest.mark.portable

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def flag(place, assessor):
    return actions.open_flag(place.cell, kind=Kind.SPURIOUS, text="Only the topic's words.", by=assessor)


def inbox_of(collection):
    return reverse("review:flags", args=[collection.slug])


def assign_url(flag):
    return reverse("review:flag-assign", args=[flag.bank.collection.slug, flag.pk])


def sent(client, url, htmx=False, **fields):
    fields.setdefault("uid", str(uuid4()))
    return client.post(url, fields, **(HTMX if htmx else {}))


def listed(client, url):
    return {int(pk) for pk in re.findall(r'<li id="row-(\d+)"', markup(client.get(url)))}


def test_access(place, flag, client_of, viewer, outsider, client):
    addresses = (place.cell.address, flag.get_absolute_url(), inbox_of(place.bank.collection))
    for address in addresses:
        assert client_of(viewer).get(address).status_code == 200
        assert client_of(viewer).head(address).status_code == 200
        assert client_of(outsider).get(address).status_code == 404
        assert client.get(address).status_code == 302
        assert client_of(viewer).put(address).status_code == 405
    assert client_of(viewer).get(assign_url(flag)).status_code == 405
    assert client_of(viewer).post(addresses[2]).status_code == 405


def test_viewers_only_look(place, flag, client_of, viewer, outsider):
    for address in (place.cell.address, flag.get_absolute_url(), assign_url(flag)):
        assert sent(client_of(viewer), address, kind="comment", text="Hm.", seen=1).status_code == 403
        assert sent(client_of(outsider), address, kind="comment", text="Hm.", seen=1).status_code == 404
    assert Flag.objects.get().version == 1
    html = markup(client_of(viewer).get(place.cell.address))
    assert "Only the topic&#x27;s words." in html
    assert "<textarea" not in html


def test_assessors_decide_about_their_own_flags_only(place, flag, client_of, assessor, developer):
    theirs = actions.open_flag(place.item, kind=Kind.UNCLEAR, by=developer)
    client = client_of(assessor)
    assert 'value="resolve"' not in markup(client.get(theirs.get_absolute_url()))
    assert sent(client, theirs.get_absolute_url(), verb="resolve", seen=1).status_code == 403
    assert sent(client, assign_url(theirs), assignee="", seen=1).status_code == 403
    assert sent(client, theirs.get_absolute_url(), verb="reply", text="I see.", seen=1).status_code == 302
    assert 'value="resolve"' in markup(client.get(flag.get_absolute_url()))
    assert sent(client, flag.get_absolute_url(), verb="resolve", seen=1).status_code == 302
    actions.assign(theirs, to=assessor, seen=2, by=developer)
    assert sent(client, theirs.get_absolute_url(), verb="resolve", seen=3).status_code == 302
    assert not Flag.objects.open().exists()


@pytest.mark.parametrize("query", ["", "?item=x", "?item=0", "?passage=999999999", "?item=&passage="])
def test_what_is_not_there_is_not_found(place, client_of, assessor, query):
    address = reverse("review:subject-flags", args=[place.bank.pk, place.topic.pk])
    assert client_of(assessor).get(address + query).status_code == 404


def test_a_number_that_no_database_holds_is_a_bad_request(place, client_of, assessor):
    address = reverse("review:subject-flags", args=[place.bank.pk, place.topic.pk])
    assert client_of(assessor).get(f"{address}?passage={'9' * 20}").status_code == 400


def test_items_and_passages_of_other_topics_are_not_found(place, client_of, assessor):
    other = TopicFactory(collection=place.bank.collection)
    address = reverse("review:subject-flags", args=[place.bank.pk, other.pk])
    assert client_of(assessor).get(f"{address}?item={place.items[0].pk}").status_code == 404
    assert client_of(assessor).get(f"{address}?passage={place.passages[0].pk}").status_code == 404


def test_a_flag_of_another_collection_is_not_found(flag, client_of, assessor):
    assert client_of(assessor).get(f"/collections/elsewhere/review/flags/{flag.pk}/").status_code == 404


def test_opening_without_javascript_goes_to_the_thread(place, client_of, assessor):
    answer = sent(client_of(assessor), place.passage.address, kind="uncovered")
    flag = Flag.objects.get()
    assert answer["Location"] == f"{place.passage.address}#flag-{flag.pk}"
    assert (flag.kind, flag.by, flag.item, flag.passage) == ("uncovered", assessor, None, place.passages[0])


def test_who_has_flagged_it_already_is_told_so(place, flag, client_of, assessor, developer):
    told = "You have already flagged this pair as misleading."
    assert "(flagged by you)" in markup(client_of(assessor).get(place.cell.address))
    assert "(flagged by you)" not in markup(client_of(developer).get(place.cell.address))
    assert told in markup(sent(client_of(assessor), place.cell.address, htmx=True, kind="spurious"))
    assert told not in markup(sent(client_of(developer), place.cell.address, htmx=True, kind="spurious"))


def test_opening_by_htmx_brings_the_threads_and_an_empty_form(place, client_of, assessor):
    html = markup(sent(client_of(assessor), place.cell.address, True, kind="comment", text="A word."))
    flag = Flag.objects.get()
    assert html.lstrip().startswith('<div id="threads"')
    assert re.search(rf'id="flag-{flag.pk}"[^>]* autofocus', html)
    assert "Comment saved." in html
    assert html.count("A word.") == 1
    assert "hx-preserve" not in html


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "comment", "text": "  "}, "Write a comment first."),
        ({"kind": "", "text": "My words."}, "Choose what is wrong."),
        ({"kind": "uncovered", "text": "My words."}, "is not one of the available choices"),
        (
            {"kind": "unclear", "text": "x" * (MAX_TEXT + 1)},
            f"Keep it under 5,000 characters; this has {MAX_TEXT + 1}.",
        ),
    ],
)
@pytest.mark.parametrize("htmx", [True, False])
def test_a_refused_flag_keeps_what_was_typed(place, client_of, assessor, fields, words, htmx):
    answer = sent(client_of(assessor), place.item.address, htmx, **fields)
    html = markup(answer)
    assert answer.status_code == 422
    assert words in html
    assert f"\n{fields['text']}</textarea>" in html
    assert not Flag.objects.exists()


def test_a_live_part_leaves_what_is_being_typed(place, flag, client_of, assessor):
    html = markup(client_of(assessor).get(place.cell.address, **HTMX))
    assert html.count('hx-preserve="true"') == 6  # texts, their ids, the kinds, the assignee
    assert re.search(rf'<textarea name="text" id="flag-{flag.pk}-text"[^>]* hx-preserve="true"', html)
    assert "hx-preserve" not in markup(client_of(assessor).get(place.cell.address))


@pytest.mark.parametrize("htmx", [True, False])
def test_replying_resolving_and_reopening(flag, client_of, developer, htmx):
    client, url = client_of(developer), flag.get_absolute_url()
    for verb, text, seen in [
        ("reply", "Why?", 1),
        ("resolve", "Reworded.", 2),
        ("reopen", "", 3),
        ("", "So.", 4),
    ]:
        answer = sent(client, url, htmx, verb=verb, text=text, seen=seen)
        if htmx:
            assert markup(answer).lstrip().startswith('<article class="thread card"')
        else:
            assert answer["Location"] == f"{url}#flag-{flag.pk}"
    events = flag.events.values_list("verb", flat=True)
    assert list(events) == ["opened", "replied", "resolved", "reopened", "replied"]
    html = markup(client.get(url))
    for words in ("Only the topic&#x27;s words.", "Why?", "Reworded.", "So."):
        assert words in html
    assert f'id="flag-{flag.pk}-event-3"' in html
    assert f'href="{url}#flag-{flag.pk}-event-3"' in html


def test_a_thread_leads_back_to_what_it_is_about(place, flag, client_of, viewer):
    html = markup(client_of(viewer).get(flag.get_absolute_url()))
    cell = reverse(
        "review:cell", args=[place.bank.pk, place.topic.pk, place.passages[0].pk, place.items[0].pk]
    )
    assert f'href="{cell}"' in html
    assert f'href="{place.item.place}"' not in html
    assert place.item.place.endswith(f"#item-{place.items[0].pk}")
    assert place.passage.place.endswith(f"#p{place.passages[0].pk}")


@pytest.mark.parametrize("htmx", [True, False])
def test_a_conflict_shows_both_and_mine_can_be_decided_again(flag, client_of, developer, assessor, htmx):
    actions.reply(flag, text="Not yet!", by=assessor)
    client, url = client_of(developer), flag.get_absolute_url()
    answer = sent(client, url, htmx, verb="resolve", text="Done.", seen=1)
    html = markup(answer)
    assert answer.status_code == 409
    assert f"{assessor} replied in the meantime. Your change was not saved" in html
    assert html.count("Not yet!") == 2  # in the thread, and beside mine
    assert "<strong>Resolve</strong>" in html
    assert "\nDone.</textarea>" in html
    assert 'name="seen" value="2"' in html
    assert Flag.objects.get().is_open
    assert sent(client, url, htmx, verb="resolve", text="Done.", seen=2).status_code == (200 if htmx else 302)
    assert not Flag.objects.get().is_open


def test_a_reply_without_words_is_said_at_its_field(flag, client_of, developer):
    answer = sent(client_of(developer), flag.get_absolute_url(), True, verb="reply", text=" ", seen=1)
    assert answer.status_code == 422
    assert f'id="flag-{flag.pk}-error">Write a comment first.' in markup(answer)


@pytest.mark.parametrize("seen", ["", "x", "0"])
def test_a_version_that_is_none_is_not_decided_on(flag, client_of, developer, seen):
    answer = sent(client_of(developer), flag.get_absolute_url(), verb="resolve", text="Kept.", seen=seen)
    assert answer.status_code == 422
    assert "\nKept.</textarea>" in markup(answer)
    assert Flag.objects.get().is_open


def test_assigning(flag, client_of, developer, assessor, viewer):
    client, url = client_of(developer), assign_url(flag)
    assert sent(client, url, assignee=assessor.pk, seen=1)["Location"].endswith(f"#flag-{flag.pk}")
    html = markup(client.get(flag.get_absolute_url()))
    assert f"assigned to {assessor}" in html
    assert f"assigned it to {assessor}" in html
    assert f">{viewer}</option>" not in html
    refused = markup(sent(client, url, True, assignee=viewer.pk, seen=2))
    assert "Choose a member who may answer flags." in refused
    late = sent(client, url, True, assignee="", seen=1)
    assert late.status_code == 409
    assert "Assign to nobody" in markup(late)
    assert Flag.objects.get().assignee == assessor
    assert sent(client, url, True, assignee="", seen=2).status_code == 200
    assert Flag.objects.get().assignee is None


def test_the_inbox_filters_by_its_address(place, flag, client_of, assessor, developer):
    collection, url = place.bank.collection, inbox_of(place.bank.collection)
    other = TopicFactory(collection=collection, query_id="q2")
    theirs = actions.open_flag(place.item, kind=Kind.UNCLEAR, by=developer)
    passage = actions.open_flag(place.passage, kind=Kind.UNCOVERED, by=developer)
    actions.assign(theirs, to=assessor, seen=1, by=developer)
    actions.resolve(passage, seen=1, by=developer)
    client = client_of(assessor)
    for query, expected in {
        "": {flag, theirs},
        "?state=resolved": {passage},
        "?state=all": {flag, theirs, passage},
        "?who=mine": {flag},
        "?who=assigned": {theirs},
        "?who=unassigned": {flag},
        "?state=all&who=unassigned": {flag, passage},
        "?kind=spurious": {flag},
        f"?topic={place.topic.pk}": {flag, theirs},
        f"?topic={other.pk}": {flag, theirs},  # it has no flags, so it is no choice
        "?state=nonsense&who=x&kind=y&topic=z&page=-1": {flag, theirs},
        "?kind=duplicate": set(),
    }.items():
        assert listed(client, url + query) == {flag_.pk for flag_ in expected}, query
    html = markup(client.get(url))
    for name, count in {
        "Open": 2,
        "Assigned to me": 1,
        "Opened by me": 1,
        "Unassigned": 1,
        "Resolved": 1,
    }.items():
        assert f'{name} <span class="muted">{count}</span>' in html
    part = markup(client.get(url, **HTMX))
    assert part.lstrip().startswith('<section id="inbox"')


def test_an_empty_inbox_says_how_to_flag(place, client_of, assessor):
    html = markup(client_of(assessor).get(inbox_of(place.bank.collection)))
    assert "press <kbd>S</kbd> on a grade" in html


def test_flags_of_other_collections_are_not_listed(flag, client_of, assessor, owner):
    from tests.factories import CollectionFactory

    elsewhere = CollectionFactory(slug="elsewhere")
    set_role(assessor, elsewhere, role=Role.ASSESSOR, by=owner)
    assert listed(client_of(assessor), inbox_of(elsewhere)) == set()


def test_a_thread_stands_beside_the_list_that_it_was_opened_from(place, flag, client_of, assessor, developer):
    other = actions.open_flag(place.item, kind=Kind.UNCLEAR, by=developer)
    client = client_of(assessor)
    address = f"{flag.get_absolute_url()}?who=mine"
    assert f'href="{address}"' in markup(client.get(f"{inbox_of(place.bank.collection)}?who=mine"))
    assert listed(client, address) == {flag.pk}
    assert listed(client, flag.get_absolute_url()) == {flag.pk, other.pk}
    html = markup(client.get(flag.get_absolute_url()))
    assert f'href="{flag.get_absolute_url()}" aria-current="true"' in html
    assert html.count('id="threads"') == 1
    assert markup(client.get(flag.get_absolute_url(), **HTMX)).lstrip().startswith('<div id="threads"')


def test_pages_ask_few_queries_however_many_flags(place, client_of, assessor):
    addresses = [place.cell.address, inbox_of(place.bank.collection)]
    actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor)
    client, few = client_of(assessor), []
    for address in addresses:
        client.get(address)  # pools are read once
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        few.append(len(queries))
    for _ in range(5):
        flag = actions.open_flag(place.cell, kind=Kind.UNCLEAR, by=assessor)
        actions.reply(flag, text="So?", by=assessor)
    for address, number in zip(addresses, few, strict=True):
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        assert len(queries) == number <= 15, address


def test_flags_show_in_grid_cell_editor_and_topic_list(place, flag, client_of, assessor):
    actions.open_flag(place.item, kind=Kind.UNCLEAR, by=assessor)
    actions.open_flag(place.passage, kind=Kind.UNCOVERED, by=assessor)
    client, (item, passage) = client_of(assessor), (place.items[0].pk, place.passages[0].pk)
    at = [place.bank.pk, place.topic.pk]
    grid = markup(client.get(reverse("review:topic", args=at, query={"view": "grid"})))
    assert re.search(rf'id="c{passage}-{item}" [^>]*, 1 open flag"[^>]* data-flags>', grid)
    assert grid.count(" data-flags>") == 1
    for query in (f"?item={item}", f"?passage={passage}"):
        assert f'class="flag-mark" href="{place.item.address.split("?")[0]}{query}"' in grid
    cell = markup(client.get(reverse("review:cell", args=[*at, passage, item])))
    assert f'id="flag-{flag.pk}"' in cell
    assert "Flags of the question (1 open)" in cell
    assert "Flags of the passage (1 open)" in cell
    editor = markup(client.get(reverse("review:topic", args=at)))
    assert "Flags (1)" in editor
    assert editor.count("Flags (0)") == 1
    topics = markup(client.get(reverse("home:collection", args=[place.bank.collection.slug])))
    assert re.search(
        rf'href="/collections/autumn/review/flags/\?topic={place.topic.pk}">.*3 flags</a>', topics
    )


def test_a_flag_by_key_in_the_queue_is_undone_from_its_toast(place, client_of, assessor):
    client, address = client_of(assessor), place.item.address
    fields = {"kind": "spurious", "uid": uuid4(), "text": ""}
    answer = client.post(address, fields, **HTMX)
    own = press_undo(client, answer)
    assert not Flag.objects.open().exists()
    assert 'data-flagged=""' in markup(own)
    in_panel = client.post(address, fields | {"uid": uuid4()}, **HTMX, headers={"HX-Target": "threads"})
    assert "Undo" not in markup(in_panel), "its thread is there to resolve it"
