"""Rules as data: those that come along, and those that an organizer writes."""

import json

import pytest

from grading.errors import BadFormat
from grading.submissions import read_rules, rules_as_json, rules_from_json, rules_of, track_names
from grading.submissions.rules import CATEGORIES, Rules

OWN = """
name = "ours"
label = "Our track"
warnings = ["length"]

[run_id]
max_characters = 8

[responses]
dialects = ["autojudge"]
citations = { shapes = ["ids"], doc_id = 'd\\d+' }
length = { max_count = 100 }
"""


def test_tracks_come_along():
    assert set(track_names()) >= {
        "rag24",
        "rag25",
        "rag26",
        "ragtime25",
        "ragtime26",
        "dragun25",
        "biogen24",
        "kiddie",
    }
    assert all(rules_of(track).warnings <= set(CATEGORIES) for track in track_names())


def test_an_organizer_writes_rules_of_their_own(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(OWN)
    rules = read_rules(path)
    assert isinstance(rules, Rules)
    assert (rules.label, rules.run_id.max_characters, rules.retrieval) == ("Our track", 8, None)
    assert (rules.responses.length.unit, rules.responses.length.max_count) == ("words", 100)


@pytest.mark.parametrize(
    ("was", "now", "phrase"),
    [
        ("max_characters = 8", "longest = 8", "Object contains unknown field `longest` - at `$.run_id`"),
        ("max_characters = 8", "max_characters = -8", "Expected `int` >= 0 - at `$.run_id.max_characters`"),
        ('"ids"', '"numbers"', "Invalid enum value 'numbers'"),
        ('"autojudge"', '"car"', "Invalid enum value 'car'"),
        ('["length"]', '["lenght"]', "no category 'lenght', expected one of malformed, layout"),
        ('["length"]', '["malformed"]', "malformed in warnings or off, expected it to be an error always"),
        ("'d\\d+'", "'d('", "the pattern 'd(' (missing ), unterminated subpattern"),
        ('name = "ours"', "", "Object missing required field `name`"),
        ("[run_id]", "[run_id", "malformed TOML"),
    ],
)
def test_a_mistake_in_rules_is_named(was, now, phrase, tmp_path):
    path = tmp_path / "ours.toml"
    assert was in OWN
    path.write_text(OWN.replace(was, now))
    with pytest.raises(BadFormat) as caught:
        read_rules(path)
    assert phrase in str(caught.value)
    assert caught.value.file == "ours.toml"


@pytest.mark.parametrize("track", track_names())
def test_rules_go_to_json_and_back(track):
    stored = rules_as_json(rules_of(track))
    assert json.loads(json.dumps(stored)) == stored
    assert rules_from_json(stored) == rules_of(track)


def test_an_unknown_track_is_answered_with_those_that_there_are():
    with pytest.raises(BadFormat, match="no rules for 'rag23', expected one of autojudge, biogen24,"):
        rules_of("rag23")
    with pytest.raises(BadFormat, match=r"no rules for '\.\./rules'"):
        rules_of("../rules")
