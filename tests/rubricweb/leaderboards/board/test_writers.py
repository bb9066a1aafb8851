"""A board says which of its runs and items the grading model wrote, and which runs retrieve nothing."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from grading.types import ItemKind
from rubricweb.banks.actions import retire_item
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.versions import name_version
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, files, provenance, selectors
from tests.rubricweb.markup import markup

LLM = "org/Judge-1"


@pytest.fixture
def judged_by_a_model(made):
    """The config of `made` as a model's."""
    made.config.llm, made.config.backend = LLM, "imported"
    made.config.save()
    made.collection.runs.filter(run_tag="both").update(llm="judge-1")
    made.collection.runs.filter(run_tag="first").update(llm="other")
    made.collection.runs.filter(run_tag="stray").update(llm="other", is_closed_book=True)
    return made


def drafted(made, llm):
    item = made.items["t2"][0]
    request = DraftRequest.objects.create(
        bank=made.bank, topic=item.topic, kind="question", backend="b", llm=llm, prompt_id="p@1"
    )
    Draft.objects.create(request=request, text="x", state="accepted", item=item, decided_at=timezone.now())


def board_of(made, **more):
    questions = frozenset({ItemKind.QUESTION})
    return selectors.board(
        BoardSpec(made.collection, made.config, made.bank, questions, MeasureSpec(), **more)
    )


def test_runs_and_items_of_the_grading_model_are_told(judged_by_a_model):
    drafted(judged_by_a_model, LLM)
    board = board_of(judged_by_a_model)
    assert {row.run_tag for row in board.rows if row.is_by_grader} == {"both"}
    words = (
        "org/Judge-1 grades this board and also wrote 1 of the 4 runs (both) and 1 of the 3 items: "
        "graders may prefer their own model's words"
    )
    assert provenance.circularity(board) == words
    assert f"# circularity: {words}" in files.tsv_lines(board)


def test_a_name_with_a_line_separator_stays_in_its_text(made):
    made.bank.name = "autumn\u2028leaves\x85fall"
    text = "\n".join(files.document_lines(board_of(made)))
    assert made.bank.name in text
    assert json.loads(text) == files.board_document(board_of(made))


def test_items_count_as_of_the_version(judged_by_a_model):
    drafted(judged_by_a_model, LLM)
    version = name_version(judged_by_a_model.bank, name="first", by=None)
    item = judged_by_a_model.items["t2"][0]
    retire_item(item, seen=item.version, by=None)
    assert board_of(judged_by_a_model).n_items_by_grader == 0
    assert board_of(judged_by_a_model, version=version).n_items_by_grader == 1


def test_another_model_is_no_matter(judged_by_a_model):
    judged_by_a_model.collection.runs.filter(run_tag="both").update(llm="judge-12")
    drafted(judged_by_a_model, "judge-12")
    assert provenance.circularity(board_of(judged_by_a_model)) == ""


def test_a_run_without_retrieval_is_marked_closed_book(judged_by_a_model, viewer, client_of):
    judged_by_a_model.collection.runs.exclude(run_tag="both").update(llm="")
    address = reverse("leaderboards:board", args=[judged_by_a_model.collection.slug])
    page = markup(client_of(viewer).get(address))
    assert page.count("It answers without retrieval") == 1
    assert "org/Judge-1 grades this board and also wrote 1 of the 4 runs (both)" in page


def test_other_boards_have_neither(made, viewer, client_of):
    page = markup(client_of(viewer).get(reverse("leaderboards:board", args=[made.collection.slug])))
    assert "without retrieval" not in page
    assert "also wrote" not in page
