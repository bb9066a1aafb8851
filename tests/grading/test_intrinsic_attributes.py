"""Scores of topics: the prompt's words and the reading of replies."""

import json

import pytest

from grading.errors import ParseFailure
from grading.intrinsic_attributes import CATEGORIES, MEANINGS, PROMPT, parse_scores, question

SCORES = dict.fromkeys(MEANINGS, 3)


def test_the_prompt_names_every_attribute_and_the_question_once():
    ((role, text),) = question(" why do leaves turn red ")
    assert (role, PROMPT.prompt_id) == ("user", "IntrinsicAttributes@1")
    assert all(text.count(f"- {name}: {meaning}") == 1 for name, meaning in MEANINGS.items())
    assert text.count("Question: why do leaves turn red\n") == 1
    assert (len(MEANINGS), len(CATEGORIES)) == (8, 7)


@pytest.mark.parametrize("around", ["{}", "Sure!\n```json\n{}\n```", "<think>{{}}</think> {}"])
def test_scores_are_read_whatever_surrounds_them(around):
    assert parse_scores(around.format(json.dumps(SCORES | {"note": "x", "harmful": 0.5}))) == SCORES | {
        "harmful": 0.5
    }


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I cannot say.", "no JSON object"),
        (json.dumps(SCORES | {"harmful": 11}), "for harmful"),
        (json.dumps(SCORES | {"subjective": True}), "for subjective"),
        (json.dumps({"ambiguity": 3}), "for incompleteness, assumptive"),
    ],
)
def test_a_reply_without_all_scores_is_refused(reply, message):
    with pytest.raises(ParseFailure, match=message):
        parse_scores(reply)
