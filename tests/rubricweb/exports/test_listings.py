"""Listings say what the published Workbench prints of the same files.

fixtures/formats has its output for fixtures/listings, made by `exam_verification` of release 2.0.
"""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.grades.import_collection import ImportFiles, import_collection
from tests.factories import PassageFactory, PooledFactory

pytestmark = pytest.mark.portable

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
GOLDEN = {
    "verify": "verify.txt",
    "spurious": "bad_question.txt",
    "uncovered": "uncovered.txt",
    "grid": "grid.csv",
}

QUERIES = {b"t1": b"how do bees make honey", b"t2": b"why do leaves change colour"}


@pytest.fixture
def bank(collection):
    graded, questions = (FIXTURES / "listings" / name for name in ("graded.jsonl", "questions.jsonl"))
    files = ImportFiles(graded=(graded,), banks=(questions,), bank_name="main", min_relevant=1)
    return import_collection(collection.slug, files=files, by=None).collection.banks.get()


def address(bank, listing):
    return f"/collections/autumn/exports/banks/{bank.pk}/listings/{listing}/"


def golden(listing):
    """Return the Workbench's output, with the words of each query, which it prints as a question mark."""
    lines = (FIXTURES / "formats" / GOLDEN[listing]).read_bytes().splitlines(keepends=True)
    return b"".join(
        line.replace(b"?", QUERIES[line.split(b",")[1]]) if line.startswith(b"queryid,") else line
        for line in lines
    )


@pytest.mark.parametrize("listing", GOLDEN)
def test_the_file_is_what_the_workbench_prints(bank, listing, client_of, viewer):
    response = client_of(viewer).get(address(bank, listing))
    assert response.content == golden(listing)
    ending = "csv" if listing == "grid" else "txt"
    assert response["Content-Disposition"] == f'attachment; filename="autumn_main_{listing}.{ending}"'


@pytest.mark.parametrize("listing", GOLDEN)
def test_the_screen_leads_to_it(bank, listing, client_of, viewer):
    topic = bank.collection.topics.get(query_id="t2")
    page = {
        "verify": f"/collections/autumn/review/verify/{bank.pk}/?topic={topic.pk}",
        "grid": f"/review/banks/{bank.pk}/topics/{topic.pk}/?view=grid",
        "spurious": f"/collections/autumn/review/problems/?topic={topic.pk}&kind=misleading",
        "uncovered": f"/collections/autumn/review/problems/?topic={topic.pk}&kind=uncovered",
    }[listing]
    html = client_of(viewer).get(page).content.decode()
    assert f'href="{address(bank, listing)}?topic={topic.pk}' in html


def test_topic_and_thresholds_are_those_of_the_screen(bank, client_of, viewer):
    topic = bank.collection.topics.get(query_id="t2")
    client = client_of(viewer)
    text = client.get(address(bank, "uncovered"), {"topic": topic.pk, "min_grade": 5}).content.decode()
    assert text.splitlines()[1:] == [
        "query_id: t2",
        "paragraphId worst_judgment best_rating text",
        "e3\t2\t3\tCarotenoids are yellow, and stay.",
    ]
    text = client.get(address(bank, "spurious"), {"min_relevant": 3, "topic": topic.pk}).content.decode()
    assert len(text.splitlines()) == 4


def test_formulas_are_disarmed_in_the_grid_only(bank, client_of, viewer):
    bank.collection.passages.filter(doc_id="d4").update(text="=1+1")
    client = client_of(viewer)
    assert b"t1,d4,'=1+1,2,pollen" in client.get(address(bank, "grid")).content
    assert b"d4\t1\t2\t=1+1" in client.get(address(bank, "uncovered")).content


def test_access(bank, client_of, viewer, outsider):
    assert client_of(outsider).get(address(bank, "grid")).status_code == 404
    assert client_of(viewer).post(address(bank, "grid")).status_code == 405
    assert client_of(viewer).get(address(bank, "qrels")).status_code == 404
    elsewhere = address(bank, "grid").replace("autumn", "winter")
    assert client_of(viewer).get(elsewhere).status_code == 404


def test_queries_do_not_grow_with_passages(bank, client_of, viewer):
    client, topic = client_of(viewer), bank.collection.topics.get(query_id="t1")
    client.get(address(bank, "grid"))
    with CaptureQueriesContext(connection) as few:
        client.get(address(bank, "grid"))
    for number in range(3):
        passage = PassageFactory(collection=bank.collection, doc_id=f"new{number}")
        PooledFactory(topic=topic, passage=passage)
    with CaptureQueriesContext(connection) as many:
        client.get(address(bank, "grid"))
    assert len(many) <= len(few)


def output(*arguments):
    out = io.StringIO()
    call_command("export_listing", "autumn", "main", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_command_writes_the_same(bank, tmp_path):
    assert output("grid").encode() == golden("grid")
    output("verify", "--out", tmp_path / "verify.txt")
    assert (tmp_path / "verify.txt").read_bytes() == golden("verify")
    assert "query_id: t1" not in output("uncovered", "--topic", "t2", "--min-grade", 5, "--min-relevant", 2)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--topic", "t9"), "autumn has no topic t9"),
        (("--llm", "gpt"), "no grader gpt of the bank main; its graders are example/model"),
        (("--out", "/nowhere/at/all"), "cannot write /nowhere/at/all: No such file or directory"),
    ],
)
def test_the_command_says_what_is_unknown(bank, arguments, problem):
    with pytest.raises(CommandError, match=problem):
        output("grid", *arguments)
