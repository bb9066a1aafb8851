"""What is said of two runs: never more than the topics show."""

import numpy as np
import pytest

from grading.statistics.pair_difference import PairDifference
from grading.statistics.paired_tests import PairedTest
from rubricweb.leaderboards.comparison.selectors import RunComparison
from rubricweb.leaderboards.comparison.sentences import document, sentence

KNOWN = {"mean": 0.031, "low": 0.004, "high": 0.058, "n_topics": 54, "p": 0.03, "n_found": 40, "n_pairs": 105}


def found(ahead=0.031, *, has_test=True, **known):
    difference = PairDifference(**(KNOWN | {"mean": ahead} | known)) if has_test else None
    return RunComparison(
        "A", "B", ahead, difference, PairedTest.RANDOMISATION, is_apart_among_all=False, topics=()
    )


NOISE = "54 topics; 3 of 40 such pairs at this level would be noise"
CLEAR = "A beats B by 0.031 (95 % 0.004 to 0.058; "
UNCLEAR = "A is ahead of B by 0.031, maybe by chance (95 % \N{MINUS SIGN}0.004 to 0.058; "


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, f"{CLEAR}{NOISE})."),
        ({"p": 0.0001}, f"{CLEAR}{NOISE.replace('3 of', 'fewer than 1 of')})."),
        ({"low": -0.004, "p": 0.08}, f"{UNCLEAR}54 topics; p = 0.080)."),
        (
            {"n_found": 1, "p": 0.002},
            f"{CLEAR}54 topics; no other pair is as clear, and 0.2 would be by chance).",
        ),
        ({"n_found": 1, "n_pairs": 1}, f"{CLEAR}54 topics; p = 0.030)."),
        (
            {"low": -np.inf, "high": np.inf, "n_topics": 5, "p": 0.06},
            "A is ahead of B by 0.031; too few topics to test (5 topics).",
        ),
        (
            {"ahead": 0.0, "low": -0.01, "high": 0.01, "p": 1.0, "n_found": 1, "n_pairs": 1},
            "A and B score the same (95 % \N{MINUS SIGN}0.010 to 0.010; 54 topics; p = 1.000).",
        ),
        ({"has_test": False}, "A is ahead of B by 0.031; nothing tests whether by chance."),
        ({"ahead": np.nan}, "No topic counts for both A and B."),
    ],
)
def test_it_says_what_the_topics_show(known, said):
    assert sentence(found(**known)) == said


def test_as_a_document_it_has_no_infinite_number():
    document_of_few = document(found(low=-np.inf, high=np.inf, n_topics=5, p=0.06))
    assert (document_of_few["low"], document_of_few["high"]) == (None, None)
    whole = document(found())
    assert whole["expected_by_chance"] == pytest.approx(3.15)
    assert whole["tex"] == f"{CLEAR}{NOISE}).".replace("%", r"\%")
