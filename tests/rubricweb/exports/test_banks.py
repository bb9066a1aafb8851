"""A bank as a file: what it cannot say, the page, the download and the command."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from grading.formats.banks import DIALECTS, bank_files, read_bank
from rubricweb.banks.actions import add_item
from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.grades.import_collection import ImportFiles, import_collection
from tests.factories import BankFactory
from tests.rubricweb.import_files import Folder, bank_line
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

BANKS = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "banks"
RED = "Which pigment makes leaves red?"
CLAIM = "'Chlorophyll breaks down first.'"
HAVE_QUESTIONS = {"workbench", "v3", "aja", "ragtime26", "rat", "collaborator"}
HTMX = {"HX-Request": "true"}


def imported(collection, name):
    import_collection(collection.slug, files=ImportFiles(banks=(BANKS / name,)), by=None)
    return Bank.objects.get(name="main")


@pytest.fixture
def bank(collection):
    return imported(collection, "v3.jsonl")


def address(bank, what=""):
    return f"/collections/autumn/exports/banks/{bank.pk}/{what}"


def output(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("export_bank", "autumn", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def values(text):
    return sorted((json.loads(line) for line in text.splitlines()), key=str)


@pytest.mark.parametrize("person", ["developer", "owner"])
def test_the_file_is_the_one_that_was_imported(bank, person, client_of, request):
    response = client_of(request.getfixturevalue(person)).get(address(bank, "file/"), {"dialect": "v3"})
    assert response["Content-Disposition"] == 'attachment; filename="autumn_main_v3.jsonl"'
    assert values(response.content.decode()) == values((BANKS / "v3.jsonl").read_text())


def test_the_page_lists_what_the_format_cannot_say(bank, developer, client_of):
    client = client_of(developer)
    lossless = markup(client.get(address(bank)))
    assert "This format keeps everything." in lossless
    assert "Auto-ARGUE drops answers without documents" not in lossless
    assert "has no answers: Auto-ARGUE drops the question" in lossless

    other = client.get(address(bank), {"dialect": "workbench"}, headers=HTMX)
    content = markup(other)
    assert content.lstrip().startswith('<div id="file"')
    for what in (
        "What the file will not contain",
        "aggregator_type &#x27;OR&#x27;",
        "sub_nuggets (2)",
        ">Download</a>",
    ):
        assert what in content


def test_a_refusal_has_a_list_and_no_download(bank, developer, client_of):
    client = client_of(developer)
    content = markup(client.get(address(bank), {"dialect": "ragtime26"}))
    assert "has sub-nuggets, which RAGTIME 2026 lacks" in content
    assert "is a claim; RAGTIME 2026 has questions only" in content
    assert ">Download</a>" not in content

    response = client.get(address(bank, "file/"), {"dialect": "ragtime26"})
    assert (response.status_code, response["Location"]) == (302, f"{address(bank)}?dialect=ragtime26")


def test_the_whole_list_as_text(bank, developer, client_of):
    text = client_of(developer).get(address(bank, "losses/"), {"dialect": "ragtime26"}).content.decode()
    assert text.splitlines() == [
        f"cannot be written: topic 1, '{RED}': has sub-nuggets, which RAGTIME 2026 lacks",
        f"cannot be written: topic 1, {CLAIM}: is a claim; RAGTIME 2026 has questions only",
    ]


def test_a_file_a_topic_is_an_archive(collection, developer, client_of):
    bank = imported(collection, "nuggets_q8.json")
    response = client_of(developer).get(address(bank, "file/"), {"dialect": "collaborator"})
    assert response["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.namelist() == ["nuggets_q8.json"]
        written = json.loads(archive.read("nuggets_q8.json"))
    assert written == json.loads((BANKS / "nuggets_q8.json").read_text())
    again = client_of(developer).get(address(bank, "file/"), {"dialect": "collaborator"})
    assert again.content == response.content


@pytest.mark.parametrize("what", ["", "file/", "losses/"])
def test_who_may_export(bank, developer, assessor, viewer, outsider, client_of, client, what):
    where = f"{address(bank, what)}?dialect=v3"
    assert client_of(developer).get(where).status_code == 200
    assert client_of(developer).head(where).status_code == 200
    assert client_of(developer).post(where).status_code == 405
    for person, status in ((assessor, 403), (viewer, 403), (outsider, 404)):
        assert client_of(person).get(where).status_code == status
    assert client.get(where).status_code == 302


def test_a_bank_of_another_collection(bank, developer, client_of):
    other = BankFactory()
    assert client_of(developer).get(address(other)).status_code == 404


def test_an_unknown_format(bank, developer, client_of):
    client = client_of(developer)
    assert client.get(address(bank), {"dialect": "v9"}).status_code == 422
    for what in ("file/", "losses/"):
        response = client.get(address(bank, what), {"dialect": "v9"})
        assert (response.status_code, response["Location"]) == (302, f"{address(bank)}?dialect=v9")


def test_pages_lead_to_the_export_of_those_who_may(bank, developer, viewer, client_of):
    pages = (
        "/collections/autumn/releases/",
        f"/review/banks/{bank.pk}/topics/{bank.items.first().topic_id}/",
    )
    for page in pages:
        link = f'href="{address(bank)}"'
        assert link in markup(client_of(developer).get(page))
        assert link not in markup(client_of(viewer).get(page))


def test_queries_do_not_grow_with_items(bank, developer, client_of, django_assert_max_num_queries):
    topic = bank.items.first().topic
    for number in range(20):
        add_item(bank, topic, kind="question", text=f"Why {number}?", by=None)
    client = client_of(developer)
    with django_assert_max_num_queries(16):
        client.get(address(bank))


def test_an_empty_bank(collection, developer, client_of):
    assert "Nothing to export" in markup(
        client_of(developer).get(address(BankFactory(collection=collection)))
    )


def test_where_nothing_is_left_the_reason_is_said_once(bank, developer, client_of):
    ItemRevision.objects.filter(items__bank=bank).update(text="")
    page = markup(client_of(developer).get(address(bank)))
    n = bank.items.active().count()
    assert n > 1
    assert f"<p>{n} items: the text of this id is not known.</p>" in page
    assert page.count("is not known") == 1


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.portable
def test_every_dialect_of_a_bank_that_was_written_here(collection, dialect, tmp_path):
    bank = imported(collection, "nuggets_q7.rat.json")
    Item.objects.update(foreign=None)
    bank.bank_topics.all().delete()
    output(bank, "--dialect", dialect.name, "--out", tmp_path / "bank")
    assert (tmp_path / "bank").exists()
    if dialect.is_read and dialect.name in HAVE_QUESTIONS:
        (file,) = bank_files(tmp_path / "bank")
        found, (line,) = read_bank(file)
        assert (found, {item.text for item in line.items}) == (dialect, {RED, "When do leaves fall?"})


def test_the_command_writes_what_was_imported(bank, tmp_path):
    out, err = output("main")
    assert values(out) == values((BANKS / "v3.jsonl").read_text())
    assert err.splitlines()[-1] == "4 items in 3 lines, 0 losses"
    assert "warning: topic 1, 'When do leaves fall?': has no answers: Auto-ARGUE drops the question" in err

    path = tmp_path / "bank.jsonl.gz"
    assert output("main", "--dialect", "v3", "--out", path)[0] == ""
    assert gzip.decompress(path.read_bytes()).decode() == out
    assert [file.name for file in tmp_path.iterdir()] == ["bank.jsonl.gz"]


def test_the_command_lists_losses_first(bank, tmp_path):
    out, err = output("main", "--dialect", "nuggetizer", "--dry-run")
    assert out == ""
    assert f"lost: topic 1, '{RED}': the whole question is left out" in err.splitlines()


def test_the_command_fails_with_the_list(bank, tmp_path):
    with pytest.raises(CommandError) as refused:
        output("main", "--dialect", "ragtime26", "--out", tmp_path / "bank.jsonl")
    assert str(refused.value).splitlines() == [
        "RAGTIME 2026 nuggets cannot say this bank:",
        f"topic 1, '{RED}': has sub-nuggets, which RAGTIME 2026 lacks",
        "topic 1, 'Chlorophyll breaks down first.': is a claim; RAGTIME 2026 has questions only",
    ]
    assert not (tmp_path / "bank.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old",), "autumn has no bank old; its banks are main"),
        (("main", "--dialect", "rat"), "RAT v1 has a file a topic: name a folder with --out"),
        (("main", "--out", "/nowhere/bank.jsonl"), "cannot write /nowhere/bank.jsonl: No such file"),
    ],
)
def test_the_command_says_what_is_wrong(bank, arguments, message):
    with pytest.raises(CommandError, match=message):
        output(*arguments)


def test_an_item_whose_text_is_not_known_is_listed(bank):
    topic = bank.items.first().topic
    revision = ItemRevision.objects.create(topic=topic, uid="1/NDQ_1")
    bank.items.create(topic=topic, kind="question", revision=revision, position=99)
    _, err = output("main")
    assert "lost: topic 1, '1/NDQ_1': the text of this id is not known" in err


def test_topics_without_assigned_answers_are_listed(collection):
    bank = imported(collection, "assign.jsonl")
    other = imported(collection, "nuggets_q7.rat.json")
    out, err = output(bank, "--dialect", "assign")
    assert other == bank
    assert values(out) == values((BANKS / "assign.jsonl").read_text())
    assert "lost: topic q7: no whole answer has assignments" in err.splitlines()


def test_one_text_in_two_subtopics_is_written_once_and_listed(collection, tmp_path):
    lines = [bank_line(RED, facet_id=facet_id, query_text="leaves") for facet_id in ("colour", "light")]
    Folder(tmp_path).load("--bank", Folder(tmp_path).lines("bank.jsonl", *lines))
    out, err = output("main")
    assert [question["question"] for question in json.loads(out)["nugget_bank"]] == [RED]
    assert (
        f"lost: topic t1, '{RED}': the whole question of subtopic light is left out, another has its text"
        in err
    )
    assert values(output("main", "--dialect", "workbench")[0]) == sorted(lines, key=str)


def test_what_a_reader_would_refuse_is_listed(collection):
    """An id that is not the md5 of its text, which no import lets in."""
    bank = imported(collection, "research_rubrics.jsonl")
    ItemRevision.objects.filter(text="Mentions frost").update(text="Mentions snow")
    _, err = output(bank, "--dialect", "workbench")
    assert "lost: topic r1: cannot be read again: item r1/" in err
