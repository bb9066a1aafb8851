"""Topics as a file: the format in which they came, and what another one cannot say."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rubricweb.grades.import_collection import ImportFiles, import_collection
from tests.rubricweb.markup import markup

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
PAGE, FILE = "/collections/autumn/exports/topics/", "/collections/autumn/exports/topics/file/"


def imported(collection, name):
    import_collection(collection.slug, files=ImportFiles(queries=FORMATS / name), by=None)


def output(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("export_topics", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def values(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["requests.jsonl", "ragtime_topics.jsonl", "rag25_topics.jsonl"])
def test_topics_go_out_as_they_came_in(collection, name):
    imported(collection, name)
    out, err = output("autumn")
    assert values(out) == values((FORMATS / name).read_text())
    assert err.endswith(", 0 losses\n")


def test_biogen_topics_are_json_lines(collection):
    imported(collection, "biogen_topics.json")
    assert values(output("autumn")[0]) == json.loads((FORMATS / "biogen_topics.json").read_text())["topics"]


def test_losses_are_listed(collection, tmp_path):
    imported(collection, "requests.jsonl")
    _, err = output("autumn", "--format", "topics-tsv", "--out", tmp_path / "topics.tsv")
    assert (tmp_path / "topics.tsv").read_text() == (FORMATS / "queries.tsv").read_text()
    assert "lost: topic t1: narrative" in err
    assert "lost: topic t2: my_note" in err


def test_the_page_lists_losses_and_leads_to_the_file(collection, viewer, client_of):
    imported(collection, "requests.jsonl")
    client = client_of(viewer)
    assert "This format keeps everything." in markup(client.get(PAGE))
    page = markup(client.get(PAGE, {"format": "rag25-topics"}, headers={"HX-Request": "true"}))
    assert "topic t1: background" in page
    assert "<html" not in page
    response = client.get(FILE, {"format": "autojudge-requests"})
    assert response["Content-Disposition"].endswith('"autumn_topics_autojudge-requests.jsonl"')
    assert values(response.content.decode()) == values((FORMATS / "requests.jsonl").read_text())
    assert client.get(PAGE, {"format": "xml"}).status_code == 422
    assert client.get(FILE, {"format": "xml"}).status_code == 302


def test_a_text_that_the_format_cannot_hold(collection, viewer, client_of):
    collection.topics.create(query_id="t1", text="a\tb", position=0)
    response = client_of(viewer).get(FILE, {"format": "topics-tsv"}, follow=True)
    assert "t1 holds a tab or a line break" in markup(response)
    with pytest.raises(CommandError, match="t1 holds a tab"):
        output("autumn", "--format", "topics-tsv")


def test_an_unknown_collection(db):
    with pytest.raises(CommandError, match="no collection winter"):
        output("winter")


@pytest.mark.parametrize("address", [PAGE, FILE])
def test_who_may_look(collection, viewer, outsider, client_of, client, address):
    assert client_of(viewer).get(address, {"format": "topics-tsv"}).status_code == 200
    assert client_of(viewer).post(address).status_code == 405
    assert client_of(outsider).get(address).status_code == 404
    assert client.get(address).status_code == 302
