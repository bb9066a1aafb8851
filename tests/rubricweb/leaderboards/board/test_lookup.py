"""What people name, and what they are told when there is no such thing."""

import pytest

from grading.measures.cover import LabelMode
from grading.types import ItemKind, Purpose
from rubricweb.grades.configs import config_for, imported_config
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import scored_graders
from rubricweb.leaderboards.board import BoardError, lookup
from tests import factories


def test_a_grader_by_its_names(made):
    config = lookup.find_grader(made.collection, prompt_class="LexicalBaseline", llm="lexical")

    assert config == made.config


def test_an_unknown_grader_is_told_what_there_is(made):
    with pytest.raises(
        BoardError, match=r"no grades by gpt with prompt class X; there are grades by lexical · Lex"
    ):
        lookup.find_grader(made.collection, prompt_class="X", llm="gpt")


def test_no_grades_at_all(collection):
    with pytest.raises(BoardError, match="there are grades by none"):
        lookup.find_grader(collection, prompt_class="X", llm="gpt")


def test_two_back_ends_of_the_same_names_need_the_back_end(made):
    twin = imported_config("lexical", "LexicalBaseline", Purpose.RATE)
    factories.grade(twin, made.items["t1"][0], made.passages["d1"], 3)
    names = {"prompt_class": "LexicalBaseline", "llm": "lexical"}

    with pytest.raises(
        BoardError, match=r"several graders are .*\(imported\).*\(lexical\)|\(lexical\).*\(imported\)"
    ):
        lookup.find_grader(made.collection, **names)
    assert lookup.find_grader(made.collection, **names, backend="imported") == twin
    assert lookup.find_grader(made.collection, **names, pk=twin.pk) == twin
    assert lookup.find_grader(made.collection, pk=twin.pk) == twin
    with pytest.raises(BoardError, match="several graders are in the collection: "):
        lookup.find_grader(made.collection)
    with pytest.raises(BoardError, match=r"has no grades by .* with id 0"):
        lookup.find_grader(made.collection, **names, pk=0)


def test_extracted_answers_cannot_be_scored(made):
    config = imported_config("t5", "QuestionExtraction", Purpose.EXTRACT)
    factories.grade(config, made.items["t1"][0], made.passages["d1"], None, "extracted")

    with pytest.raises(BoardError, match="extracts answers and gives no ratings"):
        lookup.find_grader(made.collection, prompt_class="QuestionExtraction", llm="t5")
    assert [row.config for row in scored_graders(made.collection)] == [made.config]


def test_the_one_graded_bank_is_the_default(made):
    factories.BankFactory(collection=made.collection, name="drafts")

    assert lookup.find_bank(made.collection, made.config, "") == made.bank
    assert lookup.find_bank(made.collection, made.config, "drafts").name == "drafts"


def test_several_graded_banks_are_listed(made):
    second = factories.BankFactory(collection=made.collection, name="second")
    factories.ItemFactory(bank=second, topic=made.topics["t1"], text="Which pigment makes leaves red?")

    with pytest.raises(
        BoardError, match=r"several banks have items graded by .*; name one bank of main, second"
    ):
        lookup.find_bank(made.collection, made.config, "")


def test_no_graded_bank_lists_all_banks(made):
    config = config_for("lexical", "lexical", "LexicalBaseline")
    made.bank.items.all().delete()

    with pytest.raises(BoardError, match=r"no bank has items graded by .*; name one bank of main"):
        lookup.find_bank(made.collection, config, "")


def test_an_unknown_bank_is_told_what_there_is(made):
    with pytest.raises(BoardError, match="autumn has no bank old; its banks are main"):
        lookup.find_bank(made.collection, made.config, "old")


def test_kinds_that_the_grader_does_not_grade(made):
    config = imported_config("t5", "NuggetSelfRatedPrompt", Purpose.RATE)

    assert lookup.find_kinds(made.config, "") == {ItemKind.QUESTION, ItemKind.NUGGET}
    assert lookup.find_kinds(made.config, "nugget") == {ItemKind.NUGGET}
    with pytest.raises(BoardError, match="grades nuggets, not questions"):
        lookup.find_kinds(config, "question")


@pytest.mark.parametrize(
    ("measure", "field", "text"),
    [
        (MeasureSpec("foo"), "measure", "no measure 'foo'; known are .*ndcg_cut_K.* and rubric_cover"),
        (MeasureSpec(min_grade=6), "min_grade", "min grade is 6, expected 1 to 5"),
        (MeasureSpec(cutoff=0), "cutoff", "cutoff is 0"),
        (MeasureSpec("map", min_answers=0), "min_answers", "min answers is 0"),
    ],
)
def test_a_measure_out_of_range_names_its_field(made, measure, field, text):
    with pytest.raises(BoardError, match=text) as caught:
        lookup.check_measure(made.config, measure)
    assert caught.value.field == field


def test_a_measure_gets_its_full_name(made):
    assert lookup.check_measure(made.config, MeasureSpec("ndcg_cut.10")).name == "ndcg_cut_10"


def test_rubric_cover_needs_items(db):
    direct = imported_config("labeller", "YesNoPrompt", Purpose.DIRECT)

    with pytest.raises(BoardError, match="use a trec_eval measure"):
        lookup.check_measure(direct, MeasureSpec())


def test_an_unknown_mode(db):
    with pytest.raises(BoardError, match="no label mode 'mean'; known are max, binary, count, calibrated"):
        lookup.parse_choice(LabelMode, "mean", "mode", label="label mode")
