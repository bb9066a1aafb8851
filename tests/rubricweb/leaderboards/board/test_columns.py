"""Measures by short names: what they mean, and what is told of names that mean nothing."""

import pytest

from grading.measures.registry import RAG24
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import ItemRevision
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.store import save_grades
from rubricweb.leaderboards import actions, public
from rubricweb.leaderboards.board import BoardError, BoardSpec, columns, files, lookup, provenance, selectors
from rubricweb.leaderboards.board.columns import FILES, Column, Place
from tests.worked import judge

BASE = MeasureSpec(cutoff=10)


def spec_of(made, words, measure=BASE):
    spec = BoardSpec(made.collection, made.config, made.bank, frozenset({ItemKind.QUESTION}), measure)
    return lookup.with_columns(spec, words)


def others(made, words, measure=BASE):
    rows = selectors.board(spec_of(made, words, measure)).rows
    return {row.run_tag: tuple(other.score for other in row.others) for row in rows}


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("rubric_cover", MeasureSpec(cutoff=10)),
        ("rubric_cover@5:3", MeasureSpec(cutoff=5, min_grade=3)),
        ("cover-1", MeasureSpec(min_grade=1)),
        ("qrels-ndcg", MeasureSpec("ndcg_cut_20")),
        ("qrels-5", MeasureSpec("P_20", min_grade=5)),
        ("P.20:5", MeasureSpec("P_20", min_grade=5, cutoff=10)),
        ("nuggets_strict_vital", MeasureSpec("nuggets_strict_vital", cutoff=10)),
    ],
)
def test_names(token, expected):
    assert lookup.parse_measure(token, BASE) == expected


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("cover-ndcg", "there are cover-1"),
        ("P_20@5", "has its cutoff in its name"),
        ("rubric_cover:9", "grades count from 1 to 5"),
        ("rubric_cover:0", "grades count from 1 to 5"),
        ("foo", "no measure 'foo'; known are"),
        ("judgments/map", "is no measure"),
        ("a b", "is no measure; the nearest is"),
    ],
)
def test_what_is_no_name(token, told):
    with pytest.raises(BoardError, match=told):
        lookup.parse_measure(token, BASE)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("foo", "no measure 'foo'"),
        ("judgments/rubric_cover", "judgments are of passages, and rubric_cover needs items"),
        ("grader-99/map", "no grader-99 with grades here; there are grader-"),
        (",".join(f"P_{k}" for k in range(1, 23)), "22 columns, expected at most 20"),
    ],
)
def test_what_is_no_column_is_told_beside_its_control(made, words, told):
    with pytest.raises(BoardError, match=told) as caught:
        spec_of(made, words)
    assert caught.value.field == "columns"


def test_columns_by_hand(made):
    """`first` covers 1 of 2 and 0 of 1 from grade 4 on, 1 of 2 and 1 of 1 from grade 1 on."""
    judge(made)
    found = others(made, "rubric_cover:1, P_1:4,judgments/P_1,,P_1:4")

    assert found["first"] == pytest.approx((0.75, 0.5, 0.5))
    assert found["both"] == pytest.approx((1, 1, 1))
    assert found["lacks"] == pytest.approx((0.25, 0.5, 0))
    assert [column.label for column in spec_of(made, "rubric_cover:1,P_1,judgments/P_1").columns] == [
        "Rubric-Cover@10 \N{GREATER-THAN OR EQUAL TO} 1",
        "P_1",
        "P_1 by judgments",
    ]
    assert (
        provenance.measure_name(spec_of(made, "rubric_cover:1"))
        == "Rubric-Cover@10 \N{GREATER-THAN OR EQUAL TO} 4"
    )


def test_names_between_spaces_or_commas():
    assert lookup.tokens("map,  rag24 cover-4") == ("map", *RAG24.measures)
    assert lookup.parse_measures("P.20 cover-4, P_20 P_20:5") == ("P_20", "cover-4", "P_20:5")


def test_measures_of_judgments_have_short_names_too(made):
    """`:3` is the first relevant judgment; the collection's own is 2."""
    judge(made)
    found = spec_of(made, "judgments/qrels-ndcg,judgments/P_20,judgments/P_20:3").columns
    assert [(c.measure.name, c.measure.level) for c in found] == [
        ("ndcg_cut_20", 2),
        ("P_20", 2),
        ("P_20", 3),
    ]
    assert [c.label for c in found] == [
        "ndcg_cut_20 by judgments",
        "P_20 by judgments",
        "P_20 \N{GREATER-THAN OR EQUAL TO} 3 by judgments",
    ]


def test_two_names_of_one_measure_are_told_apart(made):
    labels = [column.label for column in spec_of(made, "P_20:4 qrels-4 P_20").columns]
    assert len(set(labels)) == 3


def test_labels_are_unlike():
    measures = [("", MeasureSpec()), ("cover-4", MeasureSpec()), ("ndcg_cut_10", MeasureSpec("ndcg_cut_10"))]
    ge = "\N{GREATER-THAN OR EQUAL TO}"
    assert lookup.distinct_labels(measures) == [
        f"Rubric-Cover@20 {ge} 4",
        f"Rubric-Cover@20 {ge} 4 (cover-4)",
        "ndcg_cut_10",
    ]


def test_a_column_by_a_direct_grader(made):
    """It says yes to d1 only; its topic t2 has no labels and is in no mean of that column."""
    direct = imported_config("labeller", "YesNoPrompt", Purpose.DIRECT)
    wording = ItemRevision.objects.create(topic=made.topics["t1"], uid="direct")
    row = Grade(topic=made.topics["t1"], revision=wording, passage=made.passages["d1"], rating=1)
    row.outcome = "numeric"
    save_grades(direct, [row])

    found = others(made, f"grader-{direct.pk}/P_1")
    assert {tag: values[0] for tag, values in found.items()} == {
        "both": 1,
        "first": 1,
        "lacks": 0,
        "stray": 0,
    }


def test_a_column_by_another_grader_of_the_same_items(made):
    other = imported_config("t5", "QuestionSelfRatedUnanswerablePromptWithChoices", Purpose.RATE)
    row = Grade(
        topic=made.topics["t1"], revision=made.items["t1"][0].revision, passage=made.passages["d1"], rating=5
    )
    row.outcome = "numeric"
    save_grades(other, [row])

    found = others(made, f"grader-{other.pk}/rubric_cover")
    assert found["both"] == found["first"] == pytest.approx((0.25,))
    assert found["lacks"] == found["stray"] == (0,)


def test_the_rag24_set_may_stand_among_others(made):
    found = spec_of(made, "map,rag24,cover-4").columns

    assert [column.token for column in found] == ["map", *RAG24.measures]


def test_the_rag24_set_has_seven_measures_at_20(made):
    found = spec_of(made, "rag24").columns

    assert [(c.measure.name, c.measure.min_grade, c.measure.cutoff) for c in found] == [
        ("rubric_cover", 1, 20),
        ("rubric_cover", 4, 20),
        ("rubric_cover", 5, 20),
        ("ndcg_cut_20", 4, 20),
        ("P_20", 1, 20),
        ("P_20", 4, 20),
        ("P_20", 5, 20),
    ]
    assert [c.measure.level for c in found[4:]] == [1, 4, 5]


class Unanswered(Column):
    def value(self, row):
        return row.n_topics - row.n_answered


def test_a_column_of_the_list_stands_on_the_page_and_in_all_files(made, viewer, client_of, monkeypatch):
    places = FILES | Place.TEX | Place.PAGE
    answered = Column("topics_answered", places, int, "n_answered", label="Answered", is_sortable=True)
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, answered))
    board = selectors.board(spec_of(made, "P_1"))

    values = [row.n_answered for row in board.rows]
    assert [row["topics_answered"] for row in files.board_document(board)["rows"]] == values
    head, *rows = (line.split("\t") for line in files.tsv_lines(board) if not line.startswith("#"))
    assert [row[head.index("topics_answered")] for row in rows] == [str(value) for value in values]
    assert any("& Answered &" in line for line in files.tex_lines(board))
    page = client_of(viewer).get("/collections/autumn/leaderboards/", {"sort": "-topics_answered"})
    assert [head.label for head in page.context["heads"]] == ["Score", "Answered"]
    cells = [line.numbers[-1] for line in page.context["lines"]]
    assert [cell.value for cell in cells] == sorted(map(str, values), reverse=True)


def test_a_column_whose_value_follows_from_others_is_frozen_and_published(made, monkeypatch):
    places = Place.FROZEN | Place.PUBLIC | Place.PUBLIC_FILE
    listed = (*columns.COLUMNS, Unanswered("n_unanswered", places, int, label="No answer"))
    for module in (columns, actions, public):
        monkeypatch.setattr(module, "COLUMNS", listed)
    board = selectors.board(spec_of(made, ""))
    document = actions.document_of(board, [])

    assert [row["n_unanswered"] for row in document["rows"]] == [0, 0, 0, 1]
    lines = [line for line in public.file_lines(document) if not line.startswith("#")]
    head, *rows = (line.split("\t") for line in lines)
    assert [row[head.index("n_unanswered")] for row in rows] == ["0", "0", "0", "1"]


def test_columns_by_ir_measures_names_are_shown_as_typed_and_files_have_both(made):
    judge(made)
    words = "judgments/P(rel=2) @ 1, judgments/P_1:2, AP(rel=4)"
    spec = spec_of(made, words, lookup.parse_measure("nDCG @ 10", BASE))
    board = selectors.board(spec)
    document, tsv = files.board_document(board), files.tsv_lines(board)

    assert [column.token for column in spec.columns] == [
        "judgments/P(rel=2)@1",
        "judgments/P_1:2",
        "AP(rel=4)",
    ]
    assert [column.label for column in spec.columns][::2] == ["P(rel=2)@1 by judgments", "AP(rel=4)"]
    first, second = ({row.run_tag: row.others[n].score for row in board.rows} for n in (0, 1))
    assert first == second
    assert (document["measure"], document["ir_measures"]) == ("ndcg_cut_10", "nDCG@10")
    assert document["measure_label"] == provenance.measure_name(spec) == "nDCG@10"
    assert [(c["measure"], c["ir_measures"]) for c in document["columns"]] == [
        ("P_1", "P(rel=2)@1"),
        ("P_1", "P(rel=2)@1"),
        ("map", "AP(rel=4)"),
    ]
    assert {"# measure: nDCG@10", "# measure, in other spelling: ndcg_cut_10"} <= set(tsv)
    assert any(line.startswith("# AP(rel=4): ") and "in other spelling map" in line for line in tsv)


def test_a_name_of_ir_measures_has_a_first_relevant_label_of_its_own(made):
    """1 where it names none, whatever the collection's is."""
    judge(made)
    assert made.collection.min_relevant == 2
    columns = spec_of(made, "judgments/P@1 judgments/P_1").columns
    assert [column.measure.level for column in columns] == [1, 2]


def test_a_measure_of_judged_passages_only_says_so(made):
    judge(made)
    spec = spec_of(made, "judgments/P(judged_only=True)@1")
    board = selectors.board(spec)
    assert "passages without a label are taken out first" in provenance.column_stated(board, 0)
