"""Replies, and what the papers' rules make of them."""

import json
import sys
import tomllib
import unicodedata
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from grading.errors import ParseFailure
from grading.parsing import parse_final_score, parse_label, parse_rating, parse_yes_no
from grading.parsing.words import is_unanswerable
from grading.types import Outcome, ParsedRating

REPLIES = [
    json.loads(line) for line in Path(__file__).with_name("replies.jsonl").read_text("utf-8").splitlines()
]
"""[rule and scale, reply, what a person reads in it: a rating, "unanswerable", or null for none]"""

LABELS = {"support": 2, "supported": 2, "partial_support": 1, "partially_supported": 1, "not_support": 0}


def _is_read_as(rule: str, reply: str, expected: int | str | None) -> bool:
    rule, _, ends = rule.partition(" ")
    low, high = map(int, ends.split("-")) if ends else (0, 1)
    parsers = {
        "rating": lambda on_unparsable: parse_rating(reply, scale=(low, high), on_unparsable=on_unparsable),
        "final_score": lambda on_unparsable: parse_final_score(
            reply, scale=(low, high), on_unparsable=on_unparsable
        ),
        "yes_no": lambda on_unparsable: parse_yes_no(reply, on_unparsable=on_unparsable),
        "label": lambda _: parse_label(reply, LABELS),
    }
    parse = parsers[rule]
    try:
        read = parse("fail")
    except ParseFailure:
        read = None
    if expected is None:
        by_default = ParsedRating(min(low + 1, high), Outcome.DEFAULTED)
        is_default = rule != "rating" or (parse("default") == by_default and not is_unanswerable(reply))
        return read is None and is_default
    if expected == "unanswerable":
        return read == ParsedRating(low, Outcome.UNANSWERABLE) and is_unanswerable(reply)
    return read == ParsedRating(expected, Outcome.NUMERIC)


@pytest.mark.parametrize("rule", sorted({rule for rule, _, _ in REPLIES}))
def test_replies_are_read_as_a_person_reads_them(rule: str) -> None:
    replies = [(reply, expected) for by, reply, expected in REPLIES if by == rule]
    assert [one for one in replies if not _is_read_as(rule, *one)] == []


def test_the_replies_of_the_list_differ() -> None:
    assert len({(rule, reply) for rule, reply, _ in REPLIES}) == len(REPLIES) > 1000


LANGUAGES = tomllib.loads(resources.files("grading.parsing").joinpath("languages.toml").read_text("utf-8"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_for_a_rating_is_read_in_its_language(language: str) -> None:
    entries = LANGUAGES[language]
    for label in entries["labels"].split():
        assert parse_rating(f"{label}: 4").rating == 4, label
        assert parse_rating(f'{{"{label}": 4.0}}').rating == 4, label
        assert parse_rating(f"{label}: 4.5").outcome is Outcome.DEFAULTED, label
    for unit in entries["units"].split():
        assert parse_rating(f"4 {unit}").rating == 4, unit
    for phrase in entries.get("out_of", []):
        assert parse_rating(f"4 {phrase} 5").rating == 4, phrase
        assert parse_rating(f"4 {phrase} 10").outcome is Outcome.DEFAULTED, phrase
    for phrase in entries.get("top_of", []):
        assert parse_rating(f"5{phrase} 4").rating == 4, phrase
    for word, is_yes in [(word, 1) for word in entries["yes"].split()] + [
        (word, 0) for word in entries["no"].split()
    ]:
        assert parse_yes_no(word.capitalize()) == ParsedRating(is_yes, Outcome.NUMERIC), word
        assert parse_yes_no(f"Answer: {word}") == ParsedRating(is_yes, Outcome.NUMERIC), word


ALL_CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def test_digits_of_every_script_are_read() -> None:
    digits = [character for character in ALL_CHARACTERS if unicodedata.category(character) == "Nd"]
    assert len(digits) > 600
    read = {digit: parse_rating(digit, scale=(0, 10)).rating for digit in digits}
    assert read == {digit: unicodedata.decimal(digit) for digit in digits}


def test_what_nobody_sees_beside_a_digit_is_not_read() -> None:
    unseen = [
        character
        for character in ALL_CHARACTERS
        if unicodedata.category(character) in ("Cf", "Zs", "Zl", "Zp", "Cc")
    ]
    assert len(unseen) > 200
    assert {parse_rating(f"{character}4{character}") for character in unseen} == {
        ParsedRating(4, Outcome.NUMERIC)
    }


@pytest.mark.parametrize("reply", ["The Beatles", "4.5", "x" * 500])
def test_any_other_reply_fails_on_request(reply: str) -> None:
    with pytest.raises(ParseFailure, match="no rating from 0 to 5"):
        parse_rating(reply, on_unparsable="fail")


def test_on_request_only_what_says_nothing_fails() -> None:
    assert parse_rating("4", on_unparsable="fail").rating == 4
    assert parse_rating("unknown", on_unparsable="fail").outcome is Outcome.UNANSWERABLE


@pytest.mark.parametrize("reply", ["", "2", "yes"])
def test_a_reply_without_one_label_fails_with_the_labels(reply: str) -> None:
    with pytest.raises(ParseFailure, match="names no single label of support, supported, partial_support"):
        parse_label(reply, LABELS)


@settings(deadline=None, max_examples=60)
@given(st.text() | st.text(alphabet='0123456789/.,-:(){}"* \nratinggradeoutof5'))
def test_every_reply_is_read_as_something_in_the_scale(reply: str) -> None:
    parsed = parse_rating(reply)
    assert 0 <= parsed.rating <= 5
    assert 0 <= parse_rating(reply, scale=(0, 3)).rating <= 3
    assert parse_yes_no(reply).rating in (0, 1)
    assert 0 <= parse_final_score(reply, scale=(0, 3)).rating <= 3
    assert (parsed.outcome is Outcome.UNANSWERABLE) <= is_unanswerable(reply)


@settings(deadline=None, max_examples=100)
@given(st.text() | st.text(alphabet='suportalni_- :{}"*\n') | st.sampled_from(["support", "not_support"]))
def test_a_label_is_found_or_a_parse_failure_raised(reply: str) -> None:
    try:
        assert parse_label(reply, LABELS).rating in (0, 1, 2)
    except ParseFailure:
        assert reply not in LABELS


@pytest.mark.parametrize(
    "reply",
    [
        '{"a":' * 5000,
        "{" * 20_000,
        "grade " * 20_000,
        "i rate " * 20_000,
        "I give it a " * 20_000 + "4",
        "scale of 0 to 5 " * 10_000,
        "4\n" * 50_000,
        "</think>" * 20_000,
        " " * 100_000 + "x",
        "(" * 50_000 + "4",
        '{"grade": ' + "1" * 9999,
        "final score" + "(" * 50_000,
        "final score: " * 20_000,
        "answer" + "*" * 50_000,
        "a" + " " * 50_000 + "4",
        "\\boxed{4" * 20_000,
        "$4$ " * 30_000,
        "$" * 100_000,
        "<|end" * 20_000,
        "4<|im_end|>" * 20_000,
        "not a 4 " * 20_000,
        "4 stars out of " * 10_000,
        "评分" * 30_000 + "满分" + " " * 20_000,
        "4 点" * 20_000 + "中",
        "\u0664\u200b" * 30_000,
        "yes or no " * 20_000,
    ],
)
def test_long_and_hostile_replies_are_read_in_reasonable_time(reply: str) -> None:
    assert 0 <= parse_rating(reply).rating <= 5
    assert 0 <= parse_final_score(reply).rating <= 5
    with pytest.raises(ParseFailure):
        parse_label(reply, LABELS)
