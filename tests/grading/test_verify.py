"""Answers against answer keys."""

import pytest
from hypothesis import given, settings, strategies as st

from grading.verify import AnswerCheck, normal, verify

CHOICES = ["igneous", "sedimentary", "metamorphic", "all of the above"]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The water table will be rising!", "water tabl rise"),
        ("Rises", "rise"),
        ("an increase of the RAINFALL", "increas rainfal"),
        ("It's 1.5 km, or 1,500 m.", "1.5 km 1,500 m"),
        ("moves up", "move up"),
        ("moves down", "move down"),
        ("not ionic", "not ionic"),
        ("can't", "cant"),
        ("the", "the"),
        ("\uff13 moons", "3 moon"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_the_normal_form(text: str, form: str) -> None:
    assert normal(text) == form


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("rise", "rise"),
        ("Rising.", "rises"),
        ("the photosynthesis", "Photosynthesis"),
        ("in 1945", "1945"),
        # distance 1 of 6, under a fifth
        ("mitoses", "mitosis"),
        # "abcdef" and "abcdxf": 1 of 6 = 16.7 %
        ("abcdef", "abcdxf"),
        # 1 of 9 and 2 of 11
        ("abcdefghi", "abcdefghx"),
        ("abcdefghijk", "xbcdefghijx"),
        # a letter more: 1 of the longer one's 6
        ("bcdfg", "bcdfgh"),
        # a letter or a numeral is right where the key is one
        ("C", "C"),
        ("c", "C"),
        ("C.", "C"),
        ("(c)", "C)"),
        ("a.", "a"),
        ("(iii)", "iii"),
    ],
)
def test_right_answers(answer: str, key: str) -> None:
    assert verify(answer, [key]) == AnswerCheck(correct=True, matched_key=key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        # exactly a fifth is too much: 1 of 5, 2 of 10
        ("bcdfg", "bcdfx"),
        ("abcdefghij", "xbcdefghix"),
        # 1 of the longer one's 5
        ("abcd", "abcdx"),
        # shorter than four characters: equal or wrong
        ("cat", "bat"),
        ("abc", "abcdef"),
        ("moves up", "moves down"),
        ("not ionic", "ionic"),
        ("1945", "1946"),
        ("increase", "rise"),
        ("", "rise"),
        ("the", "a"),
        ("...", "..."),
        # unanswerable and ill-formed replies are wrong, whatever the key says
        ("unanswerable", "unanswerable"),
        ("No answer.", "no answer"),
        ("It does not say", "it does not say"),
        ("a.", "vitamin A"),
        ("(iii)", "three"),
        ("b", "C"),
        ("C.", "D"),
    ],
)
def test_wrong_answers(answer: str, key: str) -> None:
    assert verify(answer, [key]) == AnswerCheck(correct=False, matched_key=None)


@pytest.mark.parametrize(
    ("answer", "key", "correct"),
    [
        ("true", "true", True),
        ("Yes.", "True", True),
        ("correct", "true", True),
        ("right!", "TRUE.", True),
        ("Yes, it does", "true", True),
        ("**True** - it is", "true", True),
        ("no", "false", True),
        ("Incorrect", "false", True),
        ("wrong", "False", True),
        ("True", "yes", True),
        ("false", "true", False),
        ("yes", "false", False),
        ("No plants grow there", "false", False),
        ("right-handed", "true", False),
        ("unanswerable", "false", False),
        ("", "false", False),
        ("The Right Bank", "right bank", True),
    ],
)
def test_true_and_false_have_other_words(answer: str, key: str, correct: bool) -> None:
    assert verify(answer, [key]).correct is correct


@pytest.mark.parametrize(
    ("answer", "key", "choices", "correct"),
    [
        ("all of the above", "all of the above", CHOICES, True),
        ("All of these.", "all of the above", CHOICES, True),
        ("Igneous, sedimentary and metamorphic rocks", "all of the above", CHOICES, True),
        ("igneous and sedimentary", "all of the above", CHOICES, False),
        ("Igneous, sedimentary and metamorphic rocks", "all of the above", [], False),
        ("all of them", "all of the above", [], True),
        ("none of these", "none of the above", CHOICES, True),
        ("neither igneous nor sedimentary nor metamorphic", "none of the above", CHOICES, True),
        ("igneous, sedimentary, metamorphic", "none of the above", CHOICES, False),
        ("neither igneous nor sedimentary", "none of the above", CHOICES, False),
        ("granite", "none of the above", CHOICES, False),
    ],
)
def test_all_and_none_of_the_above(answer: str, key: str, choices: list[str], correct: bool) -> None:
    assert verify(answer, [key], choices).correct is correct


def test_the_first_key_that_fits_is_named() -> None:
    assert verify("rising", ["falls", "Rises", "rise"]) == AnswerCheck(correct=True, matched_key="Rises")
    assert verify("rising", []) == AnswerCheck(correct=False, matched_key=None)


@settings(deadline=None, max_examples=200)
@given(st.text(), st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_nothing_raises(answer: str, keys: list[str], choices: list[str]) -> None:
    verdict = verify(answer, keys, choices)
    assert verdict.correct == (verdict.matched_key is not None)


@given(st.text(alphabet="fgh ", min_size=1).map(lambda text: f"rock {text}"))
def test_an_answer_that_says_something_equals_itself(answer: str) -> None:
    assert verify(answer, [answer]).correct
