"""Passages of generated responses: what is graded of them, and that nothing of a text is lost."""

import pytest

from grading.segmentation import MAX_TOKENS, PassagesOf, count_tokens, response_passages
from grading.types import text_md5


def texts(sentences: list[str], passages_of: str) -> list[str]:
    return [passage.text for passage in response_passages(sentences, PassagesOf(passages_of))]


def words(number: int, word: str = "w") -> str:
    return " ".join(f"{word}{n}" for n in range(number))


TIDES = ["# Tides", "The moon pulls.\n\n", "The sun helps.", " ", "It is weaker.", "**Causes**", "Gravity."]


@pytest.mark.parametrize(
    ("passages_of", "expected"),
    [
        (
            "sentence",
            ["# Tides", "The moon pulls.", "The sun helps.", "It is weaker.", "**Causes**", "Gravity."],
        ),
        ("paragraph", ["# Tides The moon pulls.", "The sun helps. It is weaker.", "**Causes** Gravity."]),
        (
            "response",
            ["# Tides The moon pulls. The sun helps. It is weaker. **Causes** Gravity."],
        ),
        ("whole", ["# Tides The moon pulls. The sun helps. It is weaker. **Causes** Gravity."]),
    ],
)
def test_what_becomes_a_passage(passages_of, expected):
    assert texts(TIDES, passages_of) == expected


def test_a_passage_knows_its_sentences():
    places = [(p.first, p.last) for p in response_passages(TIDES, PassagesOf.PARAGRAPH)]
    assert places == [(0, 1), (2, 4), (5, 6)]


def test_a_blank_line_within_a_sentence_begins_no_paragraph():
    assert texts(["One.\n\nStill one.", "Two."], "paragraph") == ["One.\n\nStill one. Two."]


def test_equal_texts_have_one_id_whatever_surrounds_them():
    ids = [passage.doc_id for passage in response_passages(["Tides.", " Tides.\n"], PassagesOf.SENTENCE)]
    assert ids == [text_md5("Tides.")] * 2


@pytest.mark.parametrize("sentences", [[], [""], [" ", "\n"]])
def test_without_text_there_is_no_passage(sentences):
    assert all(not texts(sentences, rule) for rule in PassagesOf)


def test_a_text_of_exactly_the_limit_is_whole():
    assert texts([words(MAX_TOKENS)], "response") == [words(MAX_TOKENS)]


def test_a_long_response_is_cut_between_sentences():
    sentences = [words(150, name) for name in "abcde"]
    cut = response_passages(sentences, PassagesOf.RESPONSE)
    assert [(p.first, p.last, p.is_part) for p in cut] == [(0, 1, True), (2, 3, True), (4, 4, True)]
    assert " ".join(p.text for p in cut) == " ".join(sentences)


@pytest.mark.parametrize("rule", [rule for rule in PassagesOf if rule is not PassagesOf.WHOLE])
def test_a_long_sentence_is_cut_into_equal_parts_and_nothing_is_lost(rule):
    text = words(450, "x, ")
    cut = response_passages([text, "End."], rule)
    assert max(count_tokens(p.text) for p in cut) <= MAX_TOKENS
    assert "".join("".join(p.text.split()) for p in cut) == "".join(text.split()) + "End."
    parts = [count_tokens(p.text) for p in cut if p.last == 0]
    assert max(parts) - min(parts) < len(parts)


def test_characters_count_where_there_are_no_spaces():
    text = "潮" * 900
    parts = texts([text], "sentence")
    assert ("".join(parts), [len(part) for part in parts]) == (text, [300, 300, 300])


def test_a_whole_response_is_never_cut():
    sentences = [words(MAX_TOKENS), " ", words(MAX_TOKENS, "v")]
    (whole,) = response_passages(sentences, PassagesOf.WHOLE)
    assert (count_tokens(whole.text), whole.first, whole.last, whole.is_part) == (2 * MAX_TOKENS, 0, 2, False)
    assert response_passages([" "], PassagesOf.WHOLE) == []
