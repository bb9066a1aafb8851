"""Banks of every dialect through the database: foreign parts survive, and edits win over them."""

import gzip
import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from grading.formats.banks import BY_NAME, documents, read_bank
from grading.types import Importance, text_md5
from rubricweb.banks import actions
from rubricweb.banks.convert import BankScope, bank_lines
from rubricweb.banks.models import Bank, Item, ItemChange, ItemRevision
from rubricweb.corpus.models import Collection, Subtopic
from tests.rubricweb.import_files import Folder, database

BANKS = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "banks"
RED, FALL = "Which pigment makes leaves red?", "When do leaves fall?"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def exported(dialect: str, bank: str = "main") -> list:
    chosen = BY_NAME[dialect]
    return [
        json.loads(row)
        for _, row in documents(bank_lines(BankScope(Bank.objects.get(name=bank)), chosen), chosen)
    ]


def values(path: Path) -> list:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def by_topic(dialect: str, written: list) -> list:
    """In the order of their ids, as banks are exported."""
    return sorted(written, key=lambda one: (len(str(one)), str(one))) if dialect != "assign" else written


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    [
        "v3.jsonl",
        "v3.json",
        "aja.jsonl",
        "ragtime26.jsonl",
        "nuggetizer.jsonl",
        "assign.jsonl",
        "rag_development.jsonl",
        "research_rubrics.jsonl",
        "dragun.json",
        "nuggets_q7.rat.json",
        "nuggets_q8.json",
        "../questions.jsonl.gz",
        "../nuggets.jsonl",
        "../car_questions.jsonl",
    ],
)
def test_import_and_export_are_the_input(name, folder):
    path = BANKS / name
    dialect = read_bank(path)[0].name
    folder.load("--bank", path)
    assert by_topic(dialect, exported(dialect)) == by_topic(dialect, values(path))

    before = database()
    assert folder.load("--bank", path)["changed"] is False
    assert database() == before


@pytest.mark.django_db
def test_importance_and_weight_are_those_of_the_file(folder):
    folder.load("--bank", BANKS / "research_rubrics.jsonl")
    assert list(Item.objects.values_list("importance", "weight", "kind")) == [
        ("vital", 5.0, "nugget"),
        ("okay", 2.5, "nugget"),
        ("avoid", -4.0, "nugget"),
    ]
    assert list(ItemChange.objects.order_by("pk").values_list("detail", flat=True)) == [
        "vital, weight 5",
        "okay, weight 2.5",
        "avoid, weight -4",
    ]


@pytest.mark.django_db
def test_sub_narratives_become_subtopics(folder):
    folder.load("--bank", BANKS / "rag_development.jsonl")
    assert list(Subtopic.objects.values_list("facet_id", "text")) == [
        ("why-do-leaves-change", '"Why do leaves change?"'),
        ("new-the-fall", "New: the fall"),
    ]


@pytest.mark.django_db
def test_what_is_kept_and_not_graded_is_noted(folder):
    notes = folder.load("--bank", BANKS / "v3.jsonl")["notes"]
    assert notes == [
        "v3.jsonl has importances that are no known words and count as vital: curious",
        "v3.jsonl: sub-nuggets that are kept with their items and not graded: 2",
    ]
    (note,) = folder.load("--bank", BANKS / "assign.jsonl", slug="other")["notes"]
    assert note.startswith("assign.jsonl: assignments are kept with the rubric; they become grades where")


@pytest.mark.django_db
def test_edits_win_and_the_rest_survives(folder):
    folder.load("--bank", BANKS / "v3.jsonl")
    red, fall, claim = Item.objects.filter(topic__query_id="1")
    actions.set_answer_keys(red, texts=["anthocyanin", "pelargonidin"], seen=1, by=None)
    actions.weigh_item(red, importance=Importance.OKAY, weight=0.25, seen=2, by=None)
    actions.revise_item(fall, text="When do maples lose leaves?", seen=1, by=None)
    actions.retire_item(claim, seen=1, by=None)

    (written, *_) = exported("v3")
    asked, reworded = written["nugget_bank"].values()
    (before, *_) = values(BANKS / "v3.jsonl")
    original = before["nugget_bank"][RED]
    assert list(asked["answers"]) == ["anthocyanin", "pelargonidin"]
    assert asked["answers"]["anthocyanin"] == original["answers"]["anthocyanin"]
    assert asked["answers"]["pelargonidin"] == {"answer": "pelargonidin"}
    assert (asked["importance"], asked["question_id"]) == ("okay", "q1")
    assert asked["metadata"] == {"note": "kept", "rubricweb": {"weight": 0.25}}
    assert asked["sub_nuggets"] == original["sub_nuggets"]
    assert reworded["question"] == "When do maples lose leaves?"
    assert reworded["question_id"] == text_md5("When do maples lose leaves?")
    assert reworded["importance"] == "curious"
    assert written["claim_bank"] == {}
    assert {key: written[key] for key in ("creator", "metadata", "quality", "query_id")} == {
        key: before[key] for key in ("creator", "metadata", "quality", "query_id")
    }


@pytest.mark.django_db
def test_a_reworded_nugget_has_no_assignment_of_its_old_words(folder):
    folder.load("--bank", BANKS / "nuggetizer.jsonl")
    item = Item.objects.get(revision__text="Maples are trees")
    actions.revise_item(item, text="Maples are tall trees", seen=1, by=None)
    assert exported("nuggetizer")[0]["nuggets"][2] == {
        "text": "Maples are tall trees",
        "importance": "failed",
    }


@pytest.mark.django_db
def test_a_new_item_joins_those_of_the_file(folder):
    folder.load("--bank", BANKS / "research_rubrics.jsonl")
    bank = Bank.objects.get()
    item = actions.add_item(bank, Item.objects.first().topic, kind="nugget", text="Names carotene", by=None)
    actions.weigh_item(item, importance=Importance.AVOID, seen=1, by=None)
    assert exported("researchrubrics")[0]["rubrics"][-1] == {"criterion": "Names carotene", "weight": -1.0}


@pytest.mark.django_db
def test_a_second_dialect_adds_its_parts_and_keeps_the_first(folder):
    nugget = {"query": "why", "qid": "1", "nuggets": [{"text": "Frost is cold", "reasoning": "r"}]}
    development = {"qid": "1", "nuggets": [{"text": "Frost is cold", "source": "original"}]}
    first, second = folder.lines("a.jsonl", nugget), folder.lines("b.jsonl", development)
    folder.load("--bank", first)
    imported = folder.load("--bank", second)
    assert imported["counts"]["items"] == {"new": 0, "changed": 1, "unchanged": 0}
    assert imported["changed"] is True
    assert exported("nuggetizer") == [nugget]
    assert exported("rag-development") == [development]
    assert Item.objects.get().foreign.keys() == {"nuggetizer", "rag-development"}


@pytest.mark.django_db
def test_what_a_later_file_says_otherwise_is_noted_and_not_taken(folder):
    nugget = {"query": "why", "qid": "1", "nuggets": [{"text": "Frost is cold", "importance": "okay"}]}
    folder.load("--bank", folder.lines("a.jsonl", nugget))
    other = {"query": "else", "qid": "1", "nuggets": [{"text": "Frost is cold", "importance": "vital"}]}
    notes = folder.load("--bank", folder.lines("b.jsonl", other))["notes"]
    uid = ItemRevision.objects.get().uid
    assert f"b.jsonl says more or other things than an earlier file, whose stay: {uid}, topic 1" in notes
    assert f"b.jsonl has another importance or weight than the rubric, whose stays: {uid}" in notes
    assert exported("nuggetizer") == [nugget]


@pytest.mark.django_db
def test_a_folder_of_a_file_a_topic(folder):
    for number in (1, 2):
        bank = {"query_id": f"t{number}", "nugget_bank": [{"question": f"Why {number}?"}]}
        folder.write(f"banks/t{number}.json.gz", json.dumps(bank))
    folder.load("--bank", folder.path / "banks")
    assert [str(item) for item in Item.objects.all()] == ["Why 1?", "Why 2?"]


def weighing(weight):
    return {"qid": "1", "rubrics": [{"criterion": "Names frost", "weight": weight}]}


def answered(answer):
    return {"query_id": "1", "nugget_bank": [{"question": "Why?", "answers": [{"answer": answer}]}]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bank", "message"),
    [
        (weighing(11), r"bad\.jsonl:1: the weight of item 1/\w+ is 11, expected -10 to 10"),
        (
            answered("x" * 301),
            r"bad\.jsonl:1: item 1/\w+: an accepted answer has 301 characters, expected at most 300",
        ),
        ({"query_id": "1 2", "nugget_bank": []}, r"bad\.jsonl:1: the query id is '1 2', expected one word"),
        (
            {"query_id": "1", "nugget_bank": [{"question": "A?"}, {"question": "A?"}]},
            r"bad\.jsonl:1: nugget_bank\[0\] and nugget_bank\[1\] have equal texts",
        ),
    ],
)
def test_a_refused_file_changes_nothing(folder, bank, message):
    with pytest.raises(CommandError, match=message):
        folder.load("--bank", folder.lines("bad.jsonl", bank))
    assert not Collection.objects.exists()
