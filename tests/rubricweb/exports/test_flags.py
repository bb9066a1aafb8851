"""Flags as files: every event with its ids, times and people, under names or pseudonyms."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.review.flags import actions
from rubricweb.review.models import Flag, FlagEvent, Kind, Subject, subject_of
from tests.factories import BankFactory, ItemFactory, PassageFactory, PooledFactory, TopicFactory
from tests.rubricweb.markup import markup

WORDS = "Two lines,\nand a \\ tab:\there."


@pytest.fixture
def flags(collection, assessor, developer):
    topic = TopicFactory(collection=collection, query_id="q1")
    bank = BankFactory(collection=collection)
    item = ItemFactory(bank=bank, topic=topic, text="Which pigment?")
    passage = PassageFactory(collection=collection, doc_id="d1")
    PooledFactory(topic=topic, passage=passage)
    cell = actions.open_flag(Subject(bank, topic, item, passage), kind=Kind.SPURIOUS, text=WORDS, by=assessor)
    actions.assign(cell, to=developer, seen=1, by=developer)
    actions.resolve(cell, seen=2, by=developer, text="Reworded.")
    bare = actions.open_flag(Subject(bank, topic, passage=passage), kind=Kind.UNCOVERED, by=None)
    return [cell, bare]


def lines_of(client, collection, query=""):
    answer = client.get(reverse("exports:flags", args=[collection.slug]) + query)
    assert answer.status_code == 200
    return answer, b"".join(answer.streaming_content).decode().splitlines()


def test_json_lines_have_every_thread(flags, collection, client_of, viewer):
    answer, lines = lines_of(client_of(viewer), collection, "?names=1")
    assert answer["Content-Disposition"] == 'attachment; filename="autumn_flags.jsonl"'
    cell, bare = (json.loads(line) for line in lines)
    flag = Flag.objects.get(pk=flags[0].pk)
    assert {name: value for name, value in cell.items() if name != "events"} == {
        "flag_id": f"autumn/{flag.pk}",
        "kind": "spurious",
        "state": "resolved",
        "bank": "main",
        "query_id": "q1",
        "item_id": flag.revision.uid,
        "doc_id": "d1",
        "by": "assessor",
        "at": flag.at.isoformat(),
        "assignee": "developer",
    }
    assert [
        (event_line["number"], event_line["verb"], event_line["by"], event_line["text"])
        for event_line in cell["events"]
    ] == [
        (1, "opened", "assessor", WORDS),
        (2, "assigned", "developer", ""),
        (3, "resolved", "developer", "Reworded."),
    ]
    stored = FlagEvent.objects.filter(flag=flag)
    assert [event_line["event_id"] for event_line in cell["events"]] == [str(event.uid) for event in stored]
    assert [event_line["at"] for event_line in cell["events"]] == [event.at.isoformat() for event in stored]
    assert (bare["item_id"], bare["by"], bare["assignee"], bare["state"]) == ("", "", "", "open")


def test_people_have_pseudonyms_unless_names_are_asked_for(flags, collection, client_of, viewer, assessor):
    client = client_of(viewer)
    text = "\n".join(lines_of(client, collection)[1])
    assert "developer" not in text
    assert f'"by":"{assessor_pseudonym(collection, assessor.pk)}"' in text
    assert text == "\n".join(lines_of(client, collection)[1])


def test_tsv_has_an_event_a_line(flags, collection, client_of, viewer):
    answer, lines = lines_of(client_of(viewer), collection, "?format=tsv&names=1")
    assert answer["Content-Type"].startswith("text/tab-separated-values")
    head, *rows = (line.split("\t") for line in lines)
    assert len(rows) == 4
    assert {len(row) for row in rows} == {len(head)}
    first = dict(zip(head, rows[0], strict=True))
    assert first["text"] == "Two lines,\\nand a \\\\ tab:\\there."
    assert (first["by"], first["verb"], first["doc_id"]) == ("assessor", "opened", "d1")
    assert dict(zip(head, rows[1], strict=True))["assignee"] == "developer"


def test_access_and_odd_addresses(flags, collection, client_of, viewer, outsider):
    address = reverse("exports:flags", args=[collection.slug])
    assert client_of(outsider).get(address).status_code == 404
    assert client_of(viewer).post(address).status_code == 405
    assert (
        client_of(viewer).get(f"{address}?format=xls")["Location"]
        == f"/collections/{collection.slug}/releases/"
    )


def test_queries_do_not_grow_with_flags(flags, collection, client_of, viewer, assessor):
    client = client_of(viewer)
    with CaptureQueriesContext(connection) as few:
        lines_of(client, collection)
    for number in range(5):
        text = f"Remark {number}."
        flag = actions.open_flag(subject_of(flags[1]), kind=Kind.COMMENT, text=text, by=assessor)
        actions.reply(flag, text="So?", by=assessor)
    with CaptureQueriesContext(connection) as many:
        assert len(lines_of(client, collection)[1]) == 7
    assert len(many) == len(few) <= 8


def test_the_page_offers_them_before_anything_is_graded(collection, client_of, viewer):
    html = markup(client_of(viewer).get(f"/collections/{collection.slug}/releases/"))
    assert f'action="/collections/{collection.slug}/exports/flags/"' in html
    assert '<select name="format" id="flags_format">' in html
