"""What a script does with the client: it reads, changes, plans, grades and waits."""

from __future__ import annotations

import pytest

from rubricweb.banks.models import Item
from rubricweb.client import (
    ChangedMeanwhile,
    Conflict,
    Forbidden,
    Invalid,
    JobEnded,
    NotFound,
    StillRunning,
    core,
)
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GradingJob
from rubricweb.leaderboards.board.document import board_document
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.forms import BoardForm
from tests.rubricweb.client.conftest import run

pytestmark = pytest.mark.django_db


def test_lists_are_followed_over_their_pages(bank, viewer, client_for, monkeypatch):
    monkeypatch.setattr(core, "PAGE", 2)
    with client_for(viewer) as rubric:
        [collection] = rubric.collections()
        slug = collection["slug"]
        assert [topic["id"] for topic in rubric.topics(slug)] == list(
            bank.collection.topics.order_by("pk").values_list("pk", flat=True)
        )
        topic = next(rubric.topics(slug))
        pooled = list(rubric.pool(slug, topic["id"]))
        assert len(pooled) == 3
        text = rubric.passage(slug, topic["id"], pooled[0]["passage"])["text"]
        assert text == bank.collection.topics.order_by("pk")[0].pool.get(pk=pooled[0]["id"]).passage.text
        assert len(list(rubric.items(slug, bank.pk))) == 4
        assert len(list(rubric.items(slug, bank.pk, topic=topic["query_id"]))) == 2


def test_grades_come_in_one_answer_and_go_on_behind_the_last(bank, viewer, client_for):
    with client_for(viewer) as rubric:
        [grader] = rubric.graders("autumn")
        all_of_them = list(rubric.grades("autumn", grader=grader["fingerprint"]))
        assert [row["id"] for row in all_of_them] == sorted(row["id"] for row in all_of_them)
        assert len(all_of_them) == 12
        first = next(rubric.grades("autumn"))
        assert first == all_of_them[0]


def test_a_board_and_its_labels_are_those_of_the_pages(bank, owner, client_for):
    options = {"measure": "rubric_cover", "min_grade": 2}
    with client_for(owner) as rubric:
        read, labels = rubric.board("autumn", **options), rubric.qrels("autumn")
    form = BoardForm(options, collection=bank.collection)
    assert form.is_valid()
    assert [row["run_tag"] for row in read["rows"]] == ["alpha", "beta"]
    assert read["denominator"] == board_document(board(form.spec))["denominator"]
    assert labels.count("\n") == 6


def test_an_item_is_added_and_changed_by_the_version_that_was_read(bank, developer, client_for):
    topic = bank.collection.topics.first().query_id
    with client_for(developer) as rubric:
        item = rubric.add_item("autumn", bank.pk, topic=topic, kind="question", text="Which stay green?")
        item = rubric.reword_item("autumn", bank.pk, item, text="Which trees stay green?")
        item = rubric.weigh_item("autumn", bank.pk, item, importance="okay", weight=0.25)
        item = rubric.retire_item("autumn", bank.pk, item)
        item = rubric.restore_item("autumn", bank.pk, item)
        verbs = [change["verb"] for change in rubric.item_history("autumn", bank.pk, item["id"])]
    assert verbs == ["added", "reworded", "weighed", "retired", "restored"]
    kept = Item.objects.get(pk=item["id"])
    assert (kept.version, kept.revision.text, kept.weight) == (5, "Which trees stay green?", 0.25)


def test_a_conflict_has_both_wordings(bank, developer, client_for):
    with client_for(developer) as rubric:
        read = next(rubric.items("autumn", bank.pk))
        rubric.reword_item("autumn", bank.pk, read, text="Theirs?")
        with pytest.raises(ChangedMeanwhile) as refused:
            rubric.reword_item("autumn", bank.pk, read, text="Ours?")
        conflict = refused.value
        assert (conflict.ours, conflict.theirs, conflict.seen, conflict.version) == ("Ours?", "Theirs?", 1, 2)
        again = rubric.reword_item("autumn", bank.pk, {**read, "version": conflict.version}, text="Ours?")
        assert again["text"] == "Ours?"
        with pytest.raises(ChangedMeanwhile) as refused:
            rubric.retire_item("autumn", bank.pk, read)
        assert refused.value.ours is None


def test_problems_are_exceptions(bank, viewer, outsider, client_for):
    with client_for(viewer) as rubric:
        with pytest.raises(Invalid, match="min_grade") as refused:
            rubric.board("autumn", min_grade=99)
        assert [*refused.value.errors] == ["min_grade"]
        with pytest.raises(Forbidden):
            rubric.start_grading("autumn")
    with client_for(outsider) as rubric, pytest.raises(NotFound) as refused:
        rubric.collection("autumn")
    assert (refused.value.status, refused.value.title) == (404, "Not Found")


def test_a_cell_is_rated_behind_the_latest_event(bank, assessor, client_for):
    item = bank.items.first()
    pooled = item.topic.pool.first()
    cell = {"topic": item.topic.query_id, "passage": pooled.passage_id, "item": item.pk}
    with client_for(assessor) as rubric:
        first = rubric.rate("autumn", **cell, rating=3)
        assert rubric.rate("autumn", **cell, rating=4, seen=first["number"])["rating"] == 4
        with pytest.raises(Conflict):
            rubric.rate("autumn", **cell, rating=5, seen=first["number"])
        assert [row["rating"] for row in rubric.ratings("autumn")] == [3, 4]
    assert HumanGrade.objects.count() == 2


def test_a_job_is_planned_started_and_waited_for(bank, owner, client_for, pauses):
    Item.objects.first().revision.grades.all().delete()
    with client_for(owner) as rubric:
        planned = rubric.plan("autumn", bank=bank.pk)
        [job] = rubric.start_grading("autumn", bank=bank.pk)
        assert planned["cells"] == job["total"] > 0
        with pytest.raises(StillRunning):
            rubric.wait_for_job("autumn", job["id"], timeout=2.5)
        assert pauses == [1.0, 1.0, 1.0]
        assert rubric.steer_job("autumn", job["id"], "pause")["state"] == "paused"
        rubric.steer_job("autumn", job["id"], "cancel-now")
        with pytest.raises(JobEnded, match="is cancelled"):
            rubric.wait_for_job("autumn", job["id"])
        GradingJob.objects.update(state=GradingJob.State.DONE)
        assert rubric.wait_for_job("autumn", job["id"])["state"] == "done"
        assert [row["id"] for row in rubric.jobs("autumn")] == [job["id"]]


def test_what_a_change_would_do_is_told_before(bank, developer, client_for):
    item = bank.items.first()
    topic = item.topic.query_id
    with client_for(developer) as rubric:
        told = rubric.what_if("autumn", bank.pk, item.pk, min_grade=2)
        cost = rubric.impact("autumn", bank.pk, topic=topic, kind="question", text="Which stay green?")
        said = rubric.comparison("autumn", first="alpha", second="beta", min_grade=2)
    assert (told["min_grade"], told["swapped_pairs"]) == (2, 0)
    assert (cost["passages"], cost["already_graded"], cost["to_grade"]) == (3, 0, 3)
    assert "alpha" in said["sentence"]


def test_files_are_uploaded_and_checked(bank, owner, client_for, pauses, tmp_path):
    path = tmp_path / "judgments.qrels"
    path.write_text("t1 0 d1 1\n", encoding="utf-8")
    with client_for(owner) as rubric:
        begun = rubric.upload_files("autumn", path)
        assert [file["name"] for file in begun["files"]] == ["judgments.qrels"]
        assert rubric.read_import("autumn", begun["id"])["files"][0]["size"] == 10
        with pytest.raises(Conflict):
            rubric.start_import("autumn", begun["id"])
        with pytest.raises(StillRunning, match="is queued after 1 s"):
            rubric.wait_for_import("autumn", begun["id"], timeout=1)
        with pytest.raises(Conflict):  # the check has not ended
            rubric.describe_file("autumn", begun["id"], begun["files"][0]["id"], author="a judge")
        assert [row["id"] for row in rubric.imports("autumn")] == [begun["id"]]


def test_what_has_no_call_is_requested_by_its_path(bank, viewer, client_for):
    with client_for(viewer) as rubric:
        page = rubric.request("GET", "collections/autumn/runs/", limit=1, total=True)
        assert (len(page["items"]), page["total"]) == (1, 2)
        assert rubric.request("POST", "collections/autumn/jobs/plan/", {"bank": bank.pk})["cells"] == 0


def test_the_client_that_is_awaited_does_the_same(bank, developer, async_client_for):
    made = async_client_for(developer)

    async def script() -> None:
        async with made as rubric:
            assert [collection["slug"] async for collection in rubric.collections()] == ["autumn"]
            assert len([grade async for grade in rubric.grades("autumn")]) == 12
            read = await anext(rubric.items("autumn", bank.pk))
            await rubric.reword_item("autumn", bank.pk, read, text="Theirs?")
            with pytest.raises(ChangedMeanwhile):
                await rubric.reword_item("autumn", bank.pk, read, text="Ours?")
            with pytest.raises(NotFound):
                [topic async for topic in rubric.topics("spring")]

    run(script())
