"""The audit trail: who, what, when, for organizers of the collection and nobody else."""

import csv
import datetime as dt
import io

import pytest
from django.urls import reverse

from rubricweb.banks.actions import retire_item
from rubricweb.core import audit, formatting
from rubricweb.core.models import AuditEntry
from tests.factories import CollectionFactory, ItemFactory, gradable


@pytest.fixture
def page(collection) -> str:
    return reverse("corpus:audit", args=[collection.slug])


@pytest.fixture
def trail(collection, owner, developer):
    """Three entries here, one elsewhere."""
    made = [
        audit.record("settings changed", collection, by=owner, detail="min_relevant 2"),
        audit.record("settings changed", collection, by=developer, detail="=HYPERLINK(1)"),
        audit.record("collection imported", collection, by=None, detail="25 topics"),
    ]
    audit.record("settings changed", CollectionFactory(slug="spring"), by=owner, detail="elsewhere")
    return made


def _details(client, address: str, **filters: object) -> list[str]:
    return [entry.detail for entry in client.get(address, filters).context["page"].entries]


def test_the_trail_shows_this_collection_newest_first(client_of, owner, page, trail):
    assert _details(client_of(owner), page) == ["25 topics", "=HYPERLINK(1)", "min_relevant 2"]


def test_it_is_filtered_by_person_action_and_day(client_of, owner, developer, page, trail):
    first = trail[0]
    earlier = first.at - dt.timedelta(days=3)
    AuditEntry.objects.filter(pk=first.pk).update(at=earlier)
    client, day = client_of(owner), earlier.date()
    assert _details(client, page, by=developer.pk) == ["=HYPERLINK(1)"]
    assert _details(client, page, verb="collection imported") == ["25 topics"]
    assert _details(client, page, until=day) == ["min_relevant 2"]
    assert _details(client, page, since=day + dt.timedelta(days=1)) == ["25 topics", "=HYPERLINK(1)"]
    assert len(_details(client, page, by="9" * 400, since="yesterday", before="x")) == 3


@pytest.mark.parametrize("address", ["audit/", "audit/tsv/", "audit/csv/"])
def test_roles(client_of, owner, developer, assessor, viewer, outsider, collection, address):
    path = f"/collections/{collection.slug}/{address}"
    expected = {owner: 200, developer: 403, assessor: 403, viewer: 403, outsider: 404}
    assert {person: client_of(person).get(path).status_code for person in expected} == expected
    assert client_of(owner).post(path).status_code == 405


def test_pages_follow_each_other(client_of, owner, collection, page):
    for number in range(120):
        audit.record("settings changed", collection, by=owner, detail=number)
    client, seen, before = client_of(owner), [], ""
    while before is not None:
        answer = client.get(page, {"before": before})
        seen += [entry.detail for entry in answer.context["page"].entries]
        before = answer.context["page"].before
    assert seen == [str(number) for number in reversed(range(120))]


def test_the_page_asks_as_many_queries_whatever_it_shows(
    client_of, owner, developer, collection, page, django_assert_num_queries
):
    client = client_of(owner)
    for by in (owner, developer) * 30:
        audit.record("settings changed", collection, by=by)
    with django_assert_num_queries(7):
        client.get(page)


def test_files_hold_all_rows_and_no_formula(client_of, owner, collection, trail):
    client = client_of(owner)
    text = b"".join(client.get(f"/collections/{collection.slug}/audit/csv/")).decode()
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["at", "who", "what", "thing", "id", "detail"]
    assert [(row[1], row[2], row[5]) for row in rows] == [
        ("", "collection imported", "25 topics"),
        ("developer", "settings changed", "'=HYPERLINK(1)"),
        ("owner", "settings changed", "min_relevant 2"),
    ]
    answer = client.get(f"/collections/{collection.slug}/audit/tsv/", {"verb": "collection imported"})
    lines = b"".join(answer).decode().splitlines()
    assert [line.split("\t")[5] for line in lines] == ["detail", "25 topics"]
    assert f"{collection.slug}-audit.tsv" in answer["Content-Disposition"]


def test_there_are_two_formats(client_of, owner, collection):
    assert client_of(owner).get(f"/collections/{collection.slug}/audit/xlsx/").status_code == 404


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", " =1"])
def test_no_cell_is_a_formula(cell):
    assert formatting.safe_cell(cell).startswith("'")


def test_a_cell_is_one_line():
    assert list(formatting.lines([("a\tb\nc", 1)], "tsv")) == ["a b c\t1\n"]


def test_what_happens_to_an_item_belongs_to_its_collection(collection, developer):
    bank = gradable(collection, topics=1, passages=1, items=1)
    item = ItemFactory(bank=bank, topic=collection.topics.get())
    retire_item(item, seen=item.version, by=developer)
    entry = AuditEntry.objects.get(verb="item retired")
    assert (entry.collection, entry.by) == (collection, developer)


def test_things_have_their_names_in_words():
    assert AuditEntry(kind="gradingjob").kind_name == "grading job"
    assert AuditEntry(kind="removed").kind_name == "removed"
