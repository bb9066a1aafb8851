"""Attributes of topics and their slices."""

import pytest

from grading.errors import UnknownSlice
from grading.topic_attributes import MAX_CATEGORIES, attributes, find_slice, slices

TOPICS = {
    "t1": {"kind": ["how", "why"], "ambiguity": 0, "is_set": True, "nested": {"a": 1}, "empty": " "},
    "t2": {"kind": "how", "ambiguity": 0, "is_set": False},
    "t3": {"kind": "what", "ambiguity": 0.5, "level": 3},
    "t4": {"ambiguity": 10, "level": "high", "a=b": "c"},
}


def ids(token):
    return sorted(find_slice(TOPICS, token).query_ids)


def test_scored_or_in_categories():
    found = attributes(TOPICS)

    assert sorted(found) == ["a=b", "ambiguity", "is_set", "kind", "level"]
    assert [name for name, one in found.items() if one.is_scored] == ["ambiguity"]
    assert found["level"].categories == {"t3": {"3"}, "t4": {"high"}}, "words and numbers are categories"


def test_what_has_too_many_values_is_no_attribute():
    topics = {str(n): {"title": f"title {n}", "words": n} for n in range(MAX_CATEGORIES + 1)}
    assert list(attributes(topics)) == ["words"]


@pytest.mark.parametrize(
    ("token", "query_ids"),
    [
        ("kind=how", ["t1", "t2"]),
        ("is_set=true", ["t1"]),
        ("a=b=c", ["t4"]),
        ("ambiguity=0", ["t1", "t2"]),
        ("ambiguity=0.5..10", ["t3", "t4"]),
        ("ambiguity=..0.5", ["t1", "t2", "t3"]),
        ("ambiguity=5..", ["t4"]),
        ("ambiguity=low", ["t1", "t2"]),
        ("ambiguity=middle", ["t3"]),
        ("ambiguity=high", ["t4"]),
    ],
)
def test_slices_by_name(token, query_ids):
    assert ids(token) == query_ids


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        ("size=5", "there are a=b, ambiguity, is_set, kind, level"),
        ("kind", "expected attribute=value"),
        ("kind=where", "no topic with kind = where; there are how, what, why"),
        ("ambiguity=7..9", "no topic with ambiguity >= 7 and <= 9; there are scores from 0 to 10"),
        ("ambiguity=9..7", "expected a score, a range such as 5..10"),
        ("ambiguity=..", "expected a score"),
        ("ambiguity=nan", "expected a score"),
        ("ambiguity=very", "expected a score"),
    ],
)
def test_what_there_is_not(token, problem):
    with pytest.raises(UnknownSlice, match=problem.replace("..", r"\.\.")):
        find_slice(TOPICS, token)


def test_slices_of_an_attribute_are_the_largest_first_and_never_empty():
    found = attributes(TOPICS)
    assert [one.token for one in slices(found["kind"], 4)] == ["kind=how", "kind=what", "kind=why"]
    same = attributes({query_id: {"words": 1} for query_id in "abc"})["words"]
    assert [(one.value, len(one.query_ids)) for one in slices(same, 3)] == [("low", 3)]
