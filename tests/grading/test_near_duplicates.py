"""Near-duplicates among passages."""

import random
from itertools import combinations

import numpy as np
import pytest

from grading.near_duplicates import NGRAM, Shingler, bands, find_near_duplicates, jaccard

WORDS = [f"word{number}" for number in range(400)]


def text_of(numbers, length=60):
    return " ".join(numbers.choices(WORDS, k=length))


def edited(text, numbers, edits):
    words = text.split()
    for place in numbers.sample(range(len(words)), edits):
        words[place] = "edited"
    return " ".join(words)


def shingles_by_hand(text):
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    last = max(len(words) - NGRAM, 0)
    return {tuple(words[start : start + NGRAM]) for start in range(last + 1)} if words else set()


def all_pairs(passages, threshold):
    """Connected components of all pairs by exact Jaccard similarity."""
    sets = {key: shingles_by_hand(text) for key, text in passages}
    groups = {key: {key} for key in sets}
    for first, second in combinations(sets, 2):
        either = sets[first] | sets[second]
        if either and len(sets[first] & sets[second]) / len(either) >= threshold:
            joined = groups[first] | groups[second]
            groups.update(dict.fromkeys(joined, joined))
    return {frozenset(group) for group in groups.values() if len(group) > 1}


@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_as_all_pairs_find_them(threshold):
    numbers = random.Random(7)
    passages = [(f"p{n}", text_of(numbers)) for n in range(40)]
    for n in range(40):
        passages += [(f"p{n}-{edits}", edited(passages[n][1], numbers, edits)) for edits in (0, 1, 2)]

    found = {frozenset(group) for group in find_near_duplicates(passages, threshold=threshold)}
    assert found == all_pairs(passages, threshold)
    assert len(found) == 40, "the copies at least"


def test_case_and_punctuation_do_not_count():
    text = text_of(random.Random(1))
    passages = [("a", text), ("b", f"{text.upper()}..."), ("c", text.replace(" ", ", "))]
    assert find_near_duplicates(passages) == [("a", "b", "c")]


def test_short_and_empty_texts():
    passages = [
        ("a", ""),
        ("b", " ... "),
        ("c", "Maple leaves."),
        ("d", "maple leaves"),
        ("e", "leaves maple"),
    ]
    assert find_near_duplicates(passages) == [("c", "d")], "no words are no duplicates, order counts"


def test_many_copies_are_one_group():
    passages = [(n, "the same words in each of these many passages of one run") for n in range(3_000)]
    assert find_near_duplicates(passages) == [tuple(range(3_000))]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.95])
def test_lsh_proposes_what_is_at_the_threshold(threshold):
    n_bands, rows = bands(threshold, 128)
    assert n_bands * rows <= 128
    assert 1 - (1 - threshold**rows) ** n_bands >= 0.99


def test_jaccard_counts_each_shingle_once():
    words = " ".join(WORDS[:NGRAM])
    twice = Shingler().shingles(f"{words} {words}")
    once = Shingler().shingles(words)
    assert len(twice) == len(shingles_by_hand(f"{words} {words}")) == len(np.unique(twice))
    assert jaccard(once, twice) == pytest.approx(1 / len(twice))
