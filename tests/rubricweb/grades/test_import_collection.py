"""The command and its action as a whole: streams, repeats, events, audit, real files."""

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rubricweb.accounts.roles import Role, role_of
from rubricweb.core import events
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from tests.factories import UserFactory
from tests.rubricweb.import_files import (
    FALL,
    LLM,
    RATING_PROMPT,
    RED,
    Folder,
    bank_line,
    counts,
    database,
    direct,
    extracted,
    passage,
    rated,
    uid,
)

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def everything(folder):
    """Arguments that bring one of each kind of file."""
    graded = folder.graded(
        passage(
            "d1", rated({uid(RED): 5, uid(FALL): 1}), extracted({uid(RED): "anthocyanins"}), judged={"t1": 3}
        ),
        passage("d2", rated({uid(RED): 0}), ranks={"sparse": (1, 2.5)}, labels=[direct(is_relevant=False)]),
    )
    folder.write("runs/bm25.run", "t1 Q0 d2 1 9.0 bm25\nt1 Q0 d1 2 8.0 bm25\n")
    return (
        *("--queries", folder.queries()),
        *("--graded", graded),
        *("--bank", folder.lines("questions.jsonl", bank_line(RED, FALL))),
        *("--runs", folder.path / "runs"),
        *("--qrels", folder.write("qrels.txt", "t1 0 d1 3\nt1 0 d3 0\n")),
        *("--official", folder.write("official.tsv", "run_tag\tscore\nbm25\t0.5\n")),
    )


def test_one_of_each_file(folder, everything):
    document = folder.load(*everything, "--name", "Autumn track", "--min-relevant", "2")
    assert document["collection"] == "autumn"
    assert document["changed"] is True
    assert document["counts"] == counts(
        collections=(1, 0, 0),
        topics=(1, 0, 0),
        banks=(1, 0, 0),
        revisions=(3, 0, 0),
        items=(2, 0, 0),
        passages=(2, 0, 0),
        pooled=(2, 0, 0),
        judgments=(2, 0, 0),
        grades=(5, 0, 0),
        runs=(2, 0, 0),
        rankings=(2, 0, 0),
        official_scores=(1, 0, 0),
    )
    collection = Collection.objects.get()
    assert (collection.name, collection.min_relevant) == ("Autumn track", 2)


def test_ratings_reach_the_matrix(folder, everything):
    folder.load(*everything)
    config = GraderConfig.objects.get(prompt_class=RATING_PROMPT)
    pool = collection_pool(Collection.objects.get())
    grades = matrices(config, pool)[pool.topics[0].topic_id]
    assert grades.matrix.columns([uid(RED), uid(FALL)]).ratings.tolist() == [[5, 1], [0, -1]]


def test_a_grade_keeps_reply_answer_or_label(folder, everything):
    folder.load(*everything)
    stored = {
        (grade.config.purpose, grade.passage.doc_id, grade.revision.uid): (
            grade.rating,
            grade.answer,
            grade.reply,
        )
        for grade in Grade.objects.select_related("config", "passage", "revision")
    }
    assert stored == {
        ("rate", "d1", uid(RED)): (5, "", "5"),
        ("rate", "d1", uid(FALL)): (1, "", "1"),
        ("rate", "d2", uid(RED)): (0, "", "0"),
        ("extract", "d1", uid(RED)): (None, "anthocyanins", ""),
        ("direct", "d2", "direct"): (0, "", "No"),
    }
    assert Grade.objects.get(revision__uid="direct").revision.text == "why leaves turn red"


def test_the_same_files_again_change_nothing(folder, everything):
    folder.load(*everything)
    before = database()
    document = folder.load(*everything)
    assert document["changed"] is False
    assert {
        kind: (counted["new"], counted["changed"]) for kind, counted in document["counts"].items()
    } == dict.fromkeys(document["counts"], (0, 0))
    assert document["counts"]["grades"]["unchanged"] == 5
    assert database() == before
    out = io.StringIO()
    call_command("import_collection", "autumn", *map(str, everything), stdout=out)
    assert "Nothing changed" in out.getvalue()


def test_adding_later_moves_only_what_it_touches(folder, everything):
    folder.load(*everything)
    rating_stamp = MatrixStamp.objects.get(config__prompt_class=RATING_PROMPT)
    others = dict(MatrixStamp.objects.exclude(pk=rating_stamp.pk).values_list("pk", "number"))
    stamp = Collection.objects.get().stamp
    folder.write("more/dense.run", "t1 Q0 d1 1 0.9 dense\n")
    document = folder.load("--runs", folder.path / "more")
    assert document["counts"] == counts(collections=(0, 0, 1), runs=(1, 0, 0), rankings=(1, 0, 0))
    assert Collection.objects.get().stamp != stamp
    more = folder.graded(passage("d3", rated({uid(RED): 2})), name="more.jsonl")
    assert folder.load("--graded", more)["counts"]["grades"] == {"new": 1, "changed": 0, "unchanged": 0}
    moved = MatrixStamp.objects.get(pk=rating_stamp.pk)
    assert moved.number != rating_stamp.number
    assert moved.grades == rating_stamp.grades + 1
    assert dict(MatrixStamp.objects.exclude(pk=moved.pk).values_list("pk", "number")) == others


def test_events_and_one_audit_entry(folder, everything, monkeypatch, django_capture_on_commit_callbacks):
    published = []
    monkeypatch.setattr(events, "publish", lambda channel, name: published.append((channel, name)))
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            folder.load(*everything)
    channel = Collection.objects.get().channel
    assert published == [(channel, "runs"), (channel, "items"), (channel, "grades")]
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.by, entry.object_id) == (
        "collection imported",
        None,
        Collection.objects.get().pk,
    )
    assert entry.detail.startswith("1 collection, ")
    assert "5 grades" in entry.detail


def test_who_imports_a_new_collection_organizes_it(folder, everything):
    person = UserFactory(username="ana")
    summary = import_collection("spring", files=ImportFiles(queries=folder.queries()), by=person)
    assert role_of(person, summary.collection) is Role.ORGANIZER
    assert summary.collection.name == "spring"


def test_gzip_and_plain_files_mix(folder):
    graded = folder.graded(passage("d1", rated({uid(RED): 5})), name="graded.jsonl.gz")
    plain = folder.graded(passage("d2", rated({uid(RED): 3})), name="graded-2.jsonl")
    folder.write("runs/bm25.run.gz", "t1 Q0 d2 1 9.0 bm25\n")
    folder.write("runs/dense", "t1 Q0 d2 1 9.0 dense\n")
    imported = folder.load("--graded", graded, "--graded", plain, "--runs", folder.path / "runs")["counts"]
    assert (imported["grades"]["new"], imported["passages"]["new"], imported["runs"]["new"]) == (2, 2, 2)


def test_order_of_files_does_not_matter(folder):
    bank = folder.lines("questions.jsonl", bank_line(RED))
    graded = folder.graded(passage("d1", rated({uid(RED): 5})))
    folder.load("--graded", graded, "--bank", bank, slug="one")
    folder.load("--bank", bank, "--graded", graded, slug="two")
    for slug in ("one", "two"):
        collection = Collection.objects.get(slug=slug)
        assert [bank.name for bank in collection.banks.all()] == ["main"]
        assert collection.topics.get().text == "why leaves turn red"


def test_many_grades_in_one_line_are_all_written(folder):
    """More rows than one statement takes, and a rest."""
    uids = [uid(f"Question number {n}?") for n in range(571)]
    ratings = {item: n % 6 for n, item in enumerate(uids)}
    folder.load("--graded", folder.graded(passage("d1", rated(ratings)), passage("d2", rated(ratings))))
    stored = dict(Grade.objects.filter(passage__doc_id="d2").values_list("revision__uid", "rating"))
    assert stored == ratings
    assert Grade.objects.count() == 1142
    assert MatrixStamp.objects.get().grades == 1142


def test_graders_lists_who_graded(folder, everything):
    folder.load(*everything)
    other = folder.graded(passage("d1", rated({uid(RED): 2}, llm="other")), name="other.jsonl")
    folder.load("--graded", other, slug="elsewhere")
    out = io.StringIO()
    call_command("graders", "autumn", "--json", stdout=out)
    listed = json.loads(out.getvalue())["graders"]
    assert [(row["llm"], row["prompt_class"], row["purpose"], row["grades"]) for row in listed] == [
        (LLM, "Extraction", "extract", 1),
        (LLM, RATING_PROMPT, "rate", 3),
        ("labeller", "FagB", "direct", 1),
    ]
    assert listed[1]["id"] == GraderConfig.objects.get(llm=LLM, prompt_class=RATING_PROMPT).pk
    out = io.StringIO()
    call_command("graders", "autumn", stdout=out)
    assert "3 grades" in out.getvalue()


def test_graders_of_an_unknown_collection_names_the_known(folder):
    folder.load("--queries", folder.queries())
    with pytest.raises(CommandError, match="no collection winter; there are: autumn"):
        call_command("graders", "winter")


def test_readable_summary(folder, everything):
    out = io.StringIO()
    call_command("import_collection", "autumn", *map(str, everything), stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Collection autumn"
    assert any(line.split()[:3] == ["grades", "5", "new"] for line in lines)
    assert lines[-1] == "Imported."


@pytest.mark.django_db(transaction=True)
def test_as_a_process(folder, everything, database_url, caplog):
    """Standard output holds the document and nothing else; a bad file gives status 1 and one line."""
    caplog.set_level(logging.INFO)
    environment = {**os.environ, "DATABASE_URL": database_url}
    command = [sys.executable, "manage.py", "import_collection", "autumn", "--json"]
    arguments = list(map(str, everything))
    done = subprocess.run([*command, *arguments], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout)["counts"]["grades"]["new"] == 5
    before = database()
    bad = str(folder.write("bad.jsonl", '["t1", []]\n["t1", [{]]\n'))
    done = subprocess.run(
        [*command, "--graded", bad], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("CommandError: bad.jsonl:2: malformed JSON")
    assert done.stderr.count("\n") == 1
    assert database() == before


def test_the_demo_collection(folder):
    demo = ROOT / "fixtures" / "demo"
    arguments = (
        *("--queries", demo / "topics.jsonl"),
        *("--graded", demo / "passages.jsonl"),
        *("--bank", demo / "questions.jsonl"),
        *("--bank", demo / "nuggets.jsonl"),
        *("--runs", demo / "runs"),
        *("--qrels", demo / "qrels.txt"),
    )
    imported = folder.load(*arguments)["counts"]
    passages = [json.loads(line)[1] for line in (demo / "passages.jsonl").read_text().splitlines()]
    assert imported["topics"]["new"] == len(passages)
    assert imported["pooled"]["new"] == sum(map(len, passages))
    assert imported["items"]["new"] == 12 * 5 + 9 * 13  # five topics have more of everything
    assert imported["runs"]["new"] == len(list((demo / "runs").iterdir())) + 2  # two rank inside the passages
    assert folder.load(*arguments)["changed"] is False
