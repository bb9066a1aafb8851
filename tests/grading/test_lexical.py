"""The baseline without a model, against examples worked by hand."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec
from grading.graders.lexical import LONGEST_ANSWER, WINDOW, stem, weight
from grading.graders.registry import build
from grading.types import CellToGrade, Grade, GradeFailure, Item, ItemKind, Outcome, Passage, Topic

SPEC = GraderSpec("lexical", "lexical", "LexicalBaseline")
TOPIC = Topic("q1", "rock n roll")


def pair(item: str, passage: str, kind: ItemKind = ItemKind.QUESTION) -> CellToGrade:
    return CellToGrade(Item("q1/a", kind, item), Passage("p1", passage), TOPIC)


def grade(item: str, passage: str, kind: ItemKind = ItemKind.QUESTION) -> Grade:
    [outcome] = build(SPEC).grade([pair(item, passage, kind)])
    assert isinstance(outcome, Grade)
    return outcome


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Bands", "band"), ("cities", "city"), ("trees", "tree"), ("causes", "cause"), ("glass", "glass"),
     ("virus", "virus"), ("Haley's", "haley"), ("Haley\u2019s", "haley"), ("gas", "gas")],
)  # fmt: skip
def test_stem_takes_off_the_plural(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_weight_grows_with_rarity() -> None:
    assert weight("the") == 0
    assert weight("what") == weight(stem("does")) == 0
    assert 0 < weight("with") < weight("water") < weight("mountain") < weight("zydeco") == 1


def test_weight_of_the_second_commonest_word_by_zipf() -> None:
    # log(1 + 1) / log(1 + N), where N is the number of distinct stems in the list
    distinct = round(math.exp(math.log(2) / weight("of"))) - 1
    assert 1000 < distinct < 1500


@pytest.mark.parametrize(
    ("passage", "coverage", "rating"),
    [
        ("Zydeco, quasar, ocelot and lichen.", "1.00", 5),
        ("Zydeco, quasar and ocelot.", "0.75", 4),
        ("Zydeco and a quasar.", "0.50", 2),
        ("Zydeco zydeco zydeco.", "0.25", 1),
        ("Nothing of it.", "0.00", 0),
        ("", "0.00", 0),
    ],
)
def test_rating_by_the_share_of_equally_rare_words(passage: str, coverage: str, rating: int) -> None:
    graded = grade("What are zydeco, quasars, ocelots, lichens?", passage)
    assert (graded.rating, graded.outcome, graded.confidence) == (rating, Outcome.NUMERIC, None)
    assert graded.trace is not None
    assert graded.trace.reply == f"coverage {coverage}"


def test_words_count_together_only_inside_one_window() -> None:
    near = "zydeco" + " the" * (WINDOW - 2) + " quasar"
    far = "zydeco" + " the" * (WINDOW - 1) + " quasar"
    assert grade("zydeco quasar", near).rating == 5
    assert grade("zydeco quasar", far).rating == 2


def test_the_answer_is_the_sentence_around_the_best_window() -> None:
    text = 'Zydeco is music. Bill Haley recorded "Rock Around the Clock" (1954)! It was a hit.\nThe end'
    answer = grade("When did Haley record rock around the clock?", text).answer
    assert answer == 'Bill Haley recorded "Rock Around the Clock" (1954)!'
    assert grade("the end of zydeco", "Not this.\n  A zydeco end \nNor this.").answer == "A zydeco end"


def test_the_answer_of_an_endless_sentence_is_as_long_as_a_window() -> None:
    text = "very " * LONGEST_ANSWER + "zydeco " + "very " * LONGEST_ANSWER
    answer = grade("zydeco", text).answer
    assert answer == "zydeco" + " very" * (WINDOW - 1)


def test_nothing_found_is_no_answer() -> None:
    assert grade("Who is Bill Haley?", "The cat sat on the mat.").answer == ""


@pytest.mark.parametrize(
    "text",
    [
        "<p>Bill <b>Haley</b></p>",
        "{Bill} {{Haley}} {question} %s",
        "\u201cBill\u201d\u2014Haley\u2019s",
        "BILL_HALEY",
    ],
)
def test_markup_and_braces_do_no_harm(text: str) -> None:
    graded = grade("Bill Haley", text, ItemKind.NUGGET)
    assert graded.rating == 5
    assert graded.answer
    assert graded.answer in text


WORDS = st.lists(
    st.sampled_from(
        ["the", "of", "Haley", "zydeco,", "rock.", "water?", "Comets\n", "(it)", "na\u00efve", "{x}"]
    )
)


@settings(deadline=None, max_examples=60)
@given(before=WORDS, item=WORDS, after=WORDS)
def test_a_passage_that_holds_the_item_word_for_word_gets_five(
    before: list[str], item: list[str], after: list[str]
) -> None:
    text = " ".join([*before, *item, "quasar", *after])
    graded = grade(" ".join([*item, "quasar"]), text)
    assert graded.rating == 5
    assert "quasar" in graded.answer
    assert graded.answer in text


@settings(deadline=None, max_examples=60)
@given(item=WORDS, text=WORDS, more=WORDS)
def test_a_longer_passage_never_gets_less(item: list[str], text: list[str], more: list[str]) -> None:
    question = " ".join([*item, "quasar"])
    assert (grade(question, " ".join(text)).rating or 0) <= (
        grade(question, " ".join(text + more)).rating or 0
    )


@settings(deadline=None, max_examples=60)
@given(item=st.text(), text=st.text())
def test_every_text_gets_a_grade_or_a_reason(item: str, text: str) -> None:
    [outcome] = build(SPEC).grade([pair(item, text)])
    if isinstance(outcome, Grade):
        assert outcome.rating in range(6)
        assert outcome.answer in text
    else:
        assert outcome.reason == "the item has no word that could be matched"


def test_an_item_of_question_words_fails_instead_of_getting_a_zero() -> None:
    assert list(build(SPEC).grade([pair("What is the?", "What is the?")])) == [
        GradeFailure("q1/a", "p1", "the item has no word that could be matched")
    ]


def test_a_direct_item_fails_with_a_reason() -> None:
    [failure] = build(SPEC).grade([pair("rock n roll", "Rock n roll", ItemKind.DIRECT)])
    assert failure == GradeFailure(
        "q1/a", "p1", "LexicalBaseline is worded for a nugget or question, not for a direct item"
    )


def test_grades_lazily() -> None:
    taken = []

    def pairs() -> Iterator[CellToGrade]:
        for word in ("zydeco", "quasar", "ocelot"):
            taken.append(word)
            yield pair(word, "zydeco")

    grades = build(SPEC).grade(pairs())
    next(grades)
    assert taken == ["zydeco"]


def test_takes_no_options() -> None:
    with pytest.raises(GraderUnavailable, match="lexical has no option window; it takes none"):
        build(GraderSpec("lexical", "lexical", "LexicalBaseline", {"window": 3}))
