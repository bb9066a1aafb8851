"""When a job that can only fail pauses itself."""

from __future__ import annotations

import pytest

from grading.types import ErrorClass
from rubricweb.grades.engine.breaker import Breaker, label, remedy


def after(*errors: str) -> Breaker:
    breaker = Breaker()
    for error_class in errors:
        breaker.add(error_class)
    return breaker


@pytest.mark.parametrize(
    ("errors", "tripped"),
    [
        (["auth"], "auth"),
        (["quota", "", "quota"], ""),
        (["quota", "", "quota", "", "quota"], "quota"),
        (["server"] * 9, ""),
        (["server"] * 10, "server"),
        (["timeout"] * 9 + [""] + ["timeout"] * 9, ""),
        (["rate"] * 5 + ["timeout"] * 5 + ["rate"] * 5, ""),
        (["parse"] * 49, ""),
        (["parse"] * 10 + [""] * 40, ""),
        ([""] * 40 + ["parse"] * 10, ""),
        ([""] * 40 + ["parse"] * 11, "parse"),
        (["parse"] * 50, "parse"),
        (["other"] * 200, ""),
        (["context"] * 200, ""),
    ],
)
def test_what_is_enough(errors, tripped):
    assert after(*errors).tripped == tripped


def test_it_is_kept_in_json():
    breaker = after("", "parse", "server", "server")
    again = Breaker.of(breaker.kept)
    assert (again, again.kept) == (breaker, breaker.kept)
    assert Breaker.of({}) == Breaker()


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (["auth"], "Paused: the server refused the key, once. Check the model server's key"),
        (["quota"] * 3, "Paused: the quota is used up, 3 times. "),
        (["server"] * 10, "Paused: errors of the server, 10 times in a row. "),
        ([""] * 40 + ["parse"] * 12, "Paused: replies without a rating, 12 of 52 pairs. "),
    ],
)
def test_it_says_so_with_a_remedy(errors, said):
    sentence = after(*errors).sentence
    assert sentence.startswith(said)
    assert sentence.endswith("Then resume.")


def test_it_warns_before_that_while_nothing_succeeds():
    assert after("unavailable", "unavailable").warning == ""
    warning = after("", *["unavailable"] * 3).warning
    assert warning.startswith("The model cannot be reached, 3 times in a row. Start its server, or correct")
    assert after(*["unavailable"] * 9, "").warning == ""


@pytest.mark.parametrize("error_class", list(ErrorClass))
def test_every_class_has_words_and_a_remedy(error_class):
    assert label(error_class)
    assert remedy(error_class).endswith(".")
