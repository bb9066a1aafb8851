"""A release: what its zip has, that equal data makes equal bytes, and that its numbers can be recomputed."""

from __future__ import annotations

import gzip
import hashlib
import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grading.formats.graded import read_graded
from rubricweb.banks.actions import retire_item
from rubricweb.banks.models import Item
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Collection, Passage, Response, Topic
from rubricweb.grades.configs import config_asking
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.releases.bundle import ChangedWhileWritten, WrittenRelease, write_release
from rubricweb.releases.parts import ReleaseOptions, contents_of
from tests import factories
from tests.rubricweb.releases.conftest import unzipped
from tests.worked import judge, worked

STEM = "lexical_LexicalBaseline_main"
MODES = ("max", "binary", "count")


def test_it_holds_every_part(made, released):
    files = released(made.collection, has_runs=True)
    folders = {name.partition("/")[0] for name in files}

    assert folders == {
        *("README.md", "SHA256SUMS", "manifest.json"),
        *("agreement", "banks", "boards", "figures", "grades", "provenance", "qrels", "runs", "topics"),
        "prompts",
    }
    boards = {name.rpartition(".")[2] for name in files if name.startswith("boards/")}
    assert boards == {"json", "tsv", "tex", "ir_measures", "tot", "rag4reports", "trec_eval", "jsonl", "py"}
    qrels = {name for name in files if name.startswith("qrels/")}
    assert qrels == {"qrels/judgments.qrels", *(f"qrels/{STEM}_{mode}.qrels" for mode in MODES)}
    assert files["qrels/judgments.qrels"] == b"t1 0 d1 3\nt1 0 d2 0\nt2 0 e1 0\nt2 0 e2 2\n"


def test_checksums_and_manifest_are_of_the_files(made, released):
    files = released(
        made.collection, license="CC BY 4.0", citation="Nobody 2026", contact="track@example.org"
    )
    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())

    assert sums.keys() == files.keys() - {"SHA256SUMS"}
    assert all(hashlib.sha256(files[name]).hexdigest() == digest for name, digest in sums.items())
    manifest = json.loads(files["manifest.json"])
    assert {one["name"]: one["sha256"] for one in manifest["files"]}.items() <= sums.items()
    readme = files["README.md"].decode()
    for words in ("CC BY 4.0", "Nobody 2026", "track@example.org", f"qrels/{STEM}_max.qrels"):
        assert words in readme


def test_equal_data_makes_equal_bytes(made, tmp_path):
    """Another collection with other keys, written at another time, is the same."""
    twin = factories.CollectionFactory(slug="twin")
    factories.UserFactory.create_batch(3)
    again = worked(twin)
    judge(again)
    for mine, theirs in zip(made.topics.values(), again.topics.values(), strict=True):
        Topic.objects.filter(pk=theirs.pk).update(text=mine.text)
    for mine, theirs in zip(made.passages.values(), again.passages.values(), strict=True):
        Passage.objects.filter(pk=theirs.pk).update(text=mine.text)
    for collection, foreign in ((made.collection, {"a": 1, "b": 2}), (twin, {"b": 2, "a": 1})):
        collection.topics.update(foreign={"request_id": "t", "title": "T", **foreign})
        for item in Item.objects.filter(bank__collection=collection).select_related("revision"):
            item.foreign = {"v3": {"question": item.revision.text, "metadata": foreign}}
            item.save()
    first = _written(made.collection, tmp_path / "first.zip")
    second = _written(twin, tmp_path / "second.zip")

    files = [unzipped(tmp_path / name) for name in ("first.zip", "second.zip")]
    assert [name for name in files[0] if files[0][name] != files[1].get(name)] == []
    assert first.sha256 == second.sha256
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def _written(collection: Collection, path: Path) -> WrittenRelease:
    """Under the same short name as any other."""
    Collection.objects.filter(slug="autumn").update(slug="elsewhere")
    collection.slug = "autumn"
    collection.save(update_fields=["slug"])
    return write_release(contents_of(collection, ReleaseOptions(title="Autumn", has_runs=True)), path)


def test_the_board_can_be_recomputed_from_the_files_alone(made, released):
    """Rubric-Cover@20 from grades, bank and runs, with nothing but the standard library."""
    files = released(made.collection, has_runs=True)
    asked = {}
    for line in files["banks/main_workbench.jsonl"].decode().splitlines():
        bank = json.loads(line)
        asked[bank["query_id"]] = {item["question_id"] for item in bank["items"]}
    rated: dict[str, dict[tuple[str, str], int]] = {}
    for line in gzip.decompress(files["grades/graded.jsonl.gz"]).decode().splitlines():
        query_id, passages = json.loads(line)
        rated[query_id] = {
            (passage["paragraph_id"], one["question_id"]): one["self_rating"]
            for passage in passages
            for entry in passage.get("exam_grades", [])
            for one in entry.get("self_ratings", [])
        }
    ranked: dict[str, dict[str, list[str]]] = {}
    for name, content in files.items():
        if name.endswith(".run"):
            for line in content.decode().splitlines():
                query_id, _, doc_id, _, _, run_tag = line.split()
                ranked.setdefault(run_tag, {}).setdefault(query_id, []).append(doc_id)
    cover = {
        run_tag: statistics.fmean(
            len(
                {
                    item
                    for item in items
                    for doc_id in topics.get(query_id, [])[:20]
                    if rated[query_id].get((doc_id, item), 0) >= 4
                }
            )
            / len(items)
            for query_id, items in asked.items()
        )
        for run_tag, topics in ranked.items()
    }

    document = json.loads(
        next(files[name] for name in files if name.startswith("boards/") and name.endswith(".json"))
    )
    assert document["measure"] == "rubric_cover"
    assert cover == pytest.approx({row["run_tag"]: row["score"] for row in document["rows"]})
    assert cover == {"both": 1.0, "first": 0.25, "lacks": 0.25, "stray": 0.5}


def test_agreement_of_too_few_cells_has_no_number(made, released, owner, assessor):
    """The page prints "too few" of them."""
    for person, rating in ((owner, 4), (assessor, 5)):
        for query_id, doc_id in (("t1", "d1"), ("t1", "d2"), ("t2", "e1")):
            cell = Cell.of(made.items[query_id][0], made.passages[doc_id])
            rate_cell(cell, rating=rating, by=person, seen=0)
    document = json.loads(released(made.collection)["agreement/assessors.json"])
    rows = [document["overall"], *document["by_topic"]]
    assert [(row["cells"], row["is_too_few"], row["alpha"]) for row in rows] == [
        (3, True, None),
        (2, True, None),
        (1, True, None),
    ]


def test_runs_are_in_no_file_unless_they_are_asked_for(made, released):
    files = released(made.collection)

    assert not [name for name in files if name.startswith(("runs/", "responses/"))]
    assert b'rankings":[]' in gzip.decompress(files["grades/graded.jsonl.gz"])
    assert b'"method"' not in gzip.decompress(files["grades/graded.jsonl.gz"])
    assert "Rankings and responses of runs" in files["README.md"].decode()


def test_withdrawn_runs_and_retired_items_are_in_no_file(made, released, owner):
    run = made.collection.runs.get(run_tag="stray")
    withdraw_run(run, by=owner)
    retired = made.items["t2"][0]
    retire_item(retired, seen=retired.version, by=owner)
    files = released(made.collection, has_runs=True)

    unpacked = [gzip.decompress(one) if name.endswith(".gz") else one for name, one in files.items()]
    for word in ("stray", retired.revision.uid, retired.revision.text):
        assert not [content for content in unpacked if word.encode() in content], word
    readme = files["README.md"].decode()
    assert "1 run: withdrawn" in readme
    assert "1 retired item" in readme


def test_the_graded_file_is_read_again(made, released, tmp_path):
    path = tmp_path / "graded.jsonl.gz"
    path.write_bytes(released(made.collection, has_runs=True)["grades/graded.jsonl.gz"])
    lines = list(read_graded(path))

    assert [line.query_id for line in lines] == ["t1", "t2", "t3"]
    d1 = lines[0].passages[0]
    assert [(grade.item_id, grade.rating) for grade in d1.grades] == sorted(
        [(made.items["t1"][0].revision.uid, 5), (made.items["t1"][1].revision.uid, 0)]
    )
    assert [(ranked.run_tag, ranked.rank) for ranked in d1.rankings] == [("both", 1), ("first", 1)]
    assert d1.judgments[0].relevance == 3


def test_prompts_are_as_they_were_asked(made, released):
    strict = config_asking("lexical", "lexical", factories.STRICT)
    factories.grade(strict, made.items["t1"][0], made.passages["d1"], 2)
    prompts = tomllib.loads(released(made.collection)["prompts/prompts.toml"].decode())["prompt"]
    own = next(one for one in prompts if one["prompt_class"] == "StrictPrompt")

    assert own["template"] == factories.STRICT.template
    assert own["scale"] == [0, 3]


def test_responses_are_released_with_their_runs(made, released):
    run = made.collection.runs.get(run_tag="both")
    sentences = [{"text": "Leaves turn red.", "citations": [["d1", None]]}]
    Response.objects.create(run=run, topic=made.topics["t1"], sentences=sentences, references=["d1"])
    (line,) = released(made.collection, has_runs=True)["responses/both.jsonl"].decode().splitlines()

    assert json.loads(line)["metadata"]["run_id"] == "both"
    assert "Leaves turn red." in line


def test_responses_are_written_as_they_came(made, released):
    run = made.collection.runs.get(run_tag="both")
    metadata = {"run_id": "both", "topic_id": "t1", "seed": 7}
    sentences = [{"text": "Leaves turn red.", "citations": [["d1", None]]}]
    came = {"metadata": metadata, "responses": [{"text": "Leaves turn red.", "citations": ["d1"]}]}
    Response.objects.create(run=run, topic=made.topics["t1"], sentences=sentences, foreign=came)
    files = released(made.collection, has_runs=True)

    assert json.loads(files["responses/both.jsonl"]) == came
    assert "responses/both.jsonl` lacks" not in files["README.md"].decode()


def test_a_change_meanwhile_leaves_no_release(made, tmp_path, owner):
    def note(doing: str, done: int) -> None:
        if doing == "Figures":
            withdraw_run(made.collection.runs.get(run_tag="both"), by=owner)

    contents = contents_of(made.collection, ReleaseOptions())
    with pytest.raises(ChangedWhileWritten, match="Make it again"):
        write_release(contents, tmp_path / "release.zip", note=note)
    assert list(tmp_path.iterdir()) == []


def test_the_script_of_a_release_recomputes_its_boards(made, collection, released, tmp_path):
    files = released(collection, has_runs=True)
    for name, content in files.items():
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_bytes(content)
    command = [sys.executable, "-I", tmp_path / "unpacked" / "boards" / "recompute.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("lexical_LexicalBaseline_main_Rubric-Cover@20_t4.json: 4 of 4 scores agree\n")
    (path,) = (tmp_path / "unpacked").glob("boards/*.json")
    path.write_text(path.read_text().replace('"score": 0.25,', '"score": 0.75,'))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "2 of 4 scores agree\n  first: 0.75 in the release, 0.25" in done.stdout
    assert "boards/recompute.py" not in released(collection), (
        "without runs there is nothing to recompute from"
    )
