"""Scores of citations beside the measures of items, in a board and in its files."""

import pytest

from grading.types import ItemKind, text_md5
from rubricweb.corpus.models import Response
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import (
    BoardError,
    BoardSpec,
    MissingTopic,
    files,
    lookup,
    provenance,
    selectors,
)
from rubricweb.support.models import SupportJudge, SupportLabel
from tests.worked import worked

CITED = {"One thing is so.": ["d1", "d2"], "Another is too.": ["d2"], "Nobody says why.": []}
LABELS = {("One thing is so.", "d1"): 1, ("One thing is so.", "d2"): 2, ("Another is too.", "d2"): 0}


def answer(made, run_tag, query_id, cited):
    told = [{"text": text, "citations": [[doc, None] for doc in docs]} for text, docs in cited.items()]
    run = made.collection.runs.get(run_tag=run_tag)
    Response.objects.create(run=run, topic=made.topics[query_id], sentences=told, passages_of="sentence")


def label(judge, topic, text, doc_id, value):
    place = {"topic": topic, "sentence_md5": text_md5(text), "doc_id": doc_id}
    SupportLabel.objects.create(judge=judge, label=value, reply="r", **place)


@pytest.fixture
def made(collection):
    """Run `both` answers topic t1 of the worked board; the model m labelled what it cites."""
    made = worked(collection)
    answer(made, "both", "t1", CITED)
    judge = SupportJudge.objects.create(collection=collection, backend="x", llm="M", prompt_id="P@1")
    for (text, doc_id), value in LABELS.items():
        label(judge, made.topics["t1"], text, doc_id, value)
    return made


def spec_of(made, words, **options):
    kinds = frozenset({ItemKind.QUESTION})
    spec = BoardSpec(made.collection, made.config, made.bank, kinds, MeasureSpec(), **options)
    return lookup.with_columns(spec, words)


def scores(made, words, **options):
    rows = selectors.board(spec_of(made, words, **options)).rows
    return {row.run_tag: [other.score for other in row.others] for row in rows}


def test_a_board_has_weighted_precision_and_recall_as_columns(made):
    """First citations: labels 1, 0 and none cited, so 0.5 / 2 and 0.5 / 3. All: (0.5 + 1) / 2 and 0, of 2."""
    judge = made.collection.support_judges.get()
    words = f"support/precision support/recall support-judge-{judge.pk}/precision_all support-people/recall"
    rows = scores(made, words)
    assert rows.pop("both") == [*map(pytest.approx, (0.5 / 2, 0.5 / 3, 0.75 / 2)), None]
    assert all(score is None for others in rows.values() for score in others)


def test_a_column_states_whose_labels_of_what(made):
    board = selectors.board(spec_of(made, "support/precision support-people/recall_all"))
    assert [column.label for column in board.spec.columns] == [
        "Support precision by M, P@1",
        "Support recall, all citations by people",
    ]
    assert provenance.column_stated(board, 0) == (
        "labels of support by M, P@1, the first citation of each sentence; credit (full 1, partial 0.5) / "
        "sentences with a label; mean over the 1 topic with labels; a topic that a run lacks counts 0"
    )


def test_a_topic_that_a_run_lacks_counts_0_or_not_at_all(made):
    """`lacks` has no ranking of t2, but answers t1."""
    answer(made, "lacks", "t1", {"One thing is so.": ["d2"]})
    answer(made, "first", "t2", {"Yeast.": ["e1"]})
    label(made.collection.support_judges.get(), made.topics["t2"], "Yeast.", "e1", 2)
    assert scores(made, "support/precision")["lacks"] == [1 / 2]
    assert scores(made, "support/precision", missing=MissingTopic.SKIP)["lacks"] == [1]


@pytest.mark.parametrize("name", ["support/map", "support-judge-0/recall", "support-nobody/recall"])
def test_unknown_scores_are_refused_with_those_that_are_known(made, name):
    with pytest.raises(BoardError, match="there are"):
        spec_of(made, name)


def test_files_of_a_board_have_the_columns(made):
    told = files.board_document(selectors.board(spec_of(made, "support/recall")))
    assert [(one["token"], one["measure"], one["min_grade"]) for one in told["columns"]] == [
        ("support/recall", "support_recall", None)
    ]
    both = next(row for row in told["rows"] if row["run_tag"] == "both")
    assert both["columns"]["support/recall"]["score"] == pytest.approx(0.5 / 3)
    lines = {
        (row.run_tag, row.query_id, row.measure): row.value
        for row in files.value_rows(spec_of(made, "support/recall"))
    }
    assert lines["both", "t1", "support/recall"] == pytest.approx(0.5 / 3)
