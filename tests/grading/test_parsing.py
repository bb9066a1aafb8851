"""Replies, and what the papers' rules make of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.errors import ParseFailure
from grading.parsing import (
    ParsedRating,
    is_unanswerable,
    parse_final_score,
    parse_label,
    parse_rating,
    parse_yes_no,
)
from grading.types import Outcome

NUMERIC = {
    # the digit itself, whatever is around it
    "0": 0, "5": 5, "4.": 4, " 4\n": 4, "(4)": 4, "[5]": 5, "**4**": 4, "`3`": 3, '"2"': 2, "_4_": 4,
    "- 4": 4, "<b>4</b>": 4, "“4”": 4, "\uff14": 4, "4️⃣": 4, "③": 3,
    # at the start, set off from its text
    "5: The answer is highly relevant, complete, and accurate.": 5, "4 - good": 4, "4 \u2013 good": 4,
    "4 — good": 4, "4. Mostly there": 4, "(4) good": 4, "**4** good": 4, "4) good": 4,
    "4, because of gaps": 4, "3\nThe answer is partial.": 3, "- 2: Briefly mentioned": 2,
    "5: covers 3 of 4 points": 5, "1 : barely": 1,
    # after a lead-in
    "Rating: 4": 4, "rating 4": 4, "**Rating:** 4": 4, "Grade = 2": 2, "Score - 3": 3,
    "The score is 3.": 3, "Code: 1": 1, "Answer: 5": 5, "The answer is 4": 4,
    "I would give this a rating of 4 because of gaps": 4, "My grade for this passage would be 2.": 2,
    "Rating (0-5): 4": 4, "Score out of 5: 3": 3, "Rating: 4/5": 4, "Rating:\n\n4": 4,
    "Rating: 4. Final rating: 4": 4, "{'grade': 4}": 4, "Rating: 4 out of 5, some gaps": 4,
    # out of the whole scale
    "3/5": 3, "4 / 5.": 4, "4 out of 5": 4, "4/5 - mostly relevant": 4,
    # JSON
    '{"grade": 4}': 4, '{"rating":"3"}': 3, '{"score": 0}': 0, '```json\n{"grade": 4}\n```': 4,
    'Sure! {"grade": 2} I hope that this is useful.': 2, '{"reason": "1 of 3 parts", "grade": 5}': 5,
    '{"a": {"Rating": 1}}': 1, '{broken} {"grade": 4}': 4,
}  # fmt: skip

UNANSWERABLE = [
    "", "  \n", "...", "**", "a.", "(iii)", "B)", "[A]", "d", "iv.", "Unanswerable.", "unanswerable",
    "No.", "no", "NO ANSWER", "Not enough information.", "unknown", "It is not possible to tell.",
    "it does not  say", "“No relevant information”", "**Unanswerable**",
]  # fmt: skip

DEFAULTED = [
    "4.5", "-1", "\u22121", "6", "10", "between 3 and 4", "3 or 4", "3-4", "3 to 4", "4 4", "2, 3", "4%",
    "½", "4.0", ".5", "3 years", "3-year-old", "42", "6 months", "1/8", "4/10", "7/5", "6/5",
    "4 out of 10", "3:30", "1,000", "2nd", "Rating: 10", "Rating: 4.5", "Rating: -1", "Rating: 3-4",
    "Rating: 3 or 4", "Rating: 4/10", "Rating: 4%", "Rating: 4, score: 2", "Rating: high",
    "The answer is one of 3 options", "C", '{"grade": 4.5}', '{"grade": 7}', '{"grade": true}',
    '{"grade": null}', '{"grade": "four"}', '{"level": 4}', "four", "The Beatles", "No way",
    "no answer was given", "v.", "before",
]  # fmt: skip


PROSE = {
    # first person
    "I would rate this passage a 4 out of 5.": 4, "I'd give this a 4.": 4, "I\u2019d give it a 3.": 3,
    "I would rate this passage as a 3 because it omits the main cause.": 3, "I rate this passage: 2": 2,
    "I would give this passage a rating of 4 out of 5.": 4, "I would assign a score of 3 to this passage.": 3,
    "I'll give it a 2, since only part of the question is covered.": 2, "I'd say 4.": 4, "We rate it 5!": 5,
    "Based on the passage, I would rate the answer a 5.": 5,
    "I would rate this passage a **4** out of **5**.": 4,
    "I would rate the relevance of the passage as 3/5.": 3, "I would score this 1, as it is off topic.": 1,
    "While it does not name the author, I would still rate it a 4.": 4, "I choose 3.": 3,
    "I would rate this passage as highly relevant (5).": 5,
    "I'd give the passage a 4 on a scale of 0 to 5.": 4,
    "I have to give this passage a 0, as it says nothing about leaves.": 0,
    "The passage covers 2 of the 3 causes. I would rate it a 4.": 4,
    "I would grade this passage as \"2\": the key facts are missing.": 2,
    # labels
    "Rate: 4": 4, "Rated 4/5": 4, "Rated: 2": 2, "Relevance: 3": 3, "Overall: 4/5": 4, "Verdict: 5": 5,
    "Rating for this passage: 4": 4, "Relevance to the question: 2": 2,
    "Rating: 4 The passage explains it.": 4,
    "Answer: 4\n\nExplanation: The passage names 2 causes.": 4, "**Rating: 3/5**": 3,
    "Final rating: **2**": 2,
    "Here is my rating:\n\n**4**": 4, "My rating is a 4.": 4, "Grade: 4 (mostly relevant)": 4,
    # the third person
    "This passage is a 4.": 4, "It's a 2.": 2, "This would be a solid 4.": 4, "This deserves a 5.": 5,
    "The passage should be given a 3.": 3, "The passage would be rated a 4, I think.": 4, "It gets a 1": 1,
    "This passage is rated as a 2 because it is vague.": 2, "The passage earns a 4 rating.": 4,
    # a stated scale
    "On a scale of 0 to 5, this passage is 4.": 4, "On a scale from 0 to 5, I would rate this as 3.": 3,
    "Using the scale of 0-5, I would rate this passage a 4.": 4, "4 on a scale of 0 to 5": 4,
    # out of the whole scale, or a line of its own
    "This passage gets 4 out of 5.": 4, "Mostly relevant, so 4/5.": 4, "That makes 3 out of 5, at best.": 3,
    "The passage answers the question, with minor gaps.\n\n4": 4, "It covers 2 of 3 points.\n\n**3**\n": 3,
    "Let me think.\nThe passage is good.\n\n4/5": 4,
    # explained at once
    "4 because it names the cause": 4, "4 (mostly relevant)": 4, "5 (Highly relevant).": 5, "4/5 stars": 4,
}  # fmt: skip

NO_PROSE_RATING = [
    # numbers that count something
    "The answer is 3 years.", "It takes 3 years", "Answer: 4 people died", "I would give 3 reasons for that.",
    "I'd say 4 people were there.", "4 out of 5 dentists recommend it", "The passage answers 4/5 of it",
    "question 4 is not answered", "The passage answers question 3.", "See section 4.", "It is a 3 year plan.",
    "This is a 5 point list", "It was given a 4 year sentence.", "The plan scores a 3 percent gain",
    "for grade 4 students", "Chapter 2 covers it", "There are 4.", "about 5", "the top 5 of all", "1 of 5",
    # other scales, and no number of this one
    "I would rate this passage a 4/10.", "I'd give it 8 out of 10.", "I would rate it a 7.", "4 out of 100",
    "I would rate this a 3.5 out of 5.", "I'd give this a B+.", "Rating: **4** out of 10", "It's a 10.",
    "On a scale of 1 to 10, this is 4.", "I would rate it 80%.", "I would rate this a -1.",
    # undecided, or denied
    "I would rate this a 3 or 4.", "I would rate this a 3 or a 4.", "I'd give it between 2 and 4.",
    "I would rate this higher than 3.", "I'd give it at least 3.", "I would not give this a 5.",
    "This is not a 5.", "It doesn't deserve a 5.", "I'd rate it a 4. On reflection, I'd rate it a 2.",
    "Please rate the passage from 0 to 5.", "The scale is 0 to 5.", "Either\n2\n4", "Rate it 0-5.",
    "I cannot rate this passage.", "It should not be given a 4.",
]  # fmt: skip


@pytest.mark.parametrize(("reply", "rating"), NUMERIC.items())
def test_reads_the_number_that_a_reply_says(reply: str, rating: int) -> None:
    assert parse_rating(reply) == ParsedRating(rating, Outcome.NUMERIC)


@pytest.mark.parametrize(("reply", "rating"), PROSE.items())
def test_reads_the_rating_that_a_sentence_says(reply: str, rating: int) -> None:
    assert parse_rating(reply) == ParsedRating(rating, Outcome.NUMERIC)


@pytest.mark.parametrize("reply", NO_PROSE_RATING)
def test_a_number_in_a_sentence_is_no_rating_by_itself(reply: str) -> None:
    assert parse_rating(reply) == ParsedRating(1, Outcome.DEFAULTED)


@pytest.mark.parametrize("reply", UNANSWERABLE)
def test_reads_a_denial_as_zero(reply: str) -> None:
    assert parse_rating(reply) == ParsedRating(0, Outcome.UNANSWERABLE)
    assert is_unanswerable(reply)


@pytest.mark.parametrize("reply", DEFAULTED)
def test_any_other_reply_counts_as_one_by_default(reply: str) -> None:
    assert parse_rating(reply) == ParsedRating(1, Outcome.DEFAULTED)
    assert not is_unanswerable(reply)


@pytest.mark.parametrize("reply", ["The Beatles", "4.5", "x" * 500])
def test_any_other_reply_fails_on_request(reply: str) -> None:
    with pytest.raises(ParseFailure, match="no rating from 0 to 5"):
        parse_rating(reply, on_unparsable="fail")


def test_on_request_only_what_says_nothing_fails() -> None:
    assert parse_rating("4", on_unparsable="fail").rating == 4
    assert parse_rating("unknown", on_unparsable="fail").outcome is Outcome.UNANSWERABLE


@pytest.mark.parametrize(
    ("reply", "scale", "expected"),
    [
        ("2", (0, 2), ParsedRating(2, Outcome.NUMERIC)),
        ("3", (0, 2), ParsedRating(1, Outcome.DEFAULTED)),
        ("##final score: 3", (0, 3), ParsedRating(3, Outcome.NUMERIC)),
        ("2/3", (0, 3), ParsedRating(2, Outcome.NUMERIC)),
        ("2/5", (0, 3), ParsedRating(1, Outcome.DEFAULTED)),
        ("10", (0, 10), ParsedRating(10, Outcome.NUMERIC)),
        ("Grade (0 to 10): 9/10", (0, 10), ParsedRating(9, Outcome.NUMERIC)),
        ('{"grade": 3}', (0, 2), ParsedRating(1, Outcome.DEFAULTED)),
    ],
)
def test_other_scales(reply: str, scale: tuple[int, int], expected: ParsedRating) -> None:
    assert parse_rating(reply, scale=scale) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Yes", ParsedRating(1, Outcome.NUMERIC)),
        ("yes, it is.", ParsedRating(1, Outcome.NUMERIC)),
        ("**Correct**", ParsedRating(1, Outcome.NUMERIC)),
        ("True.", ParsedRating(1, Outcome.NUMERIC)),
        ("No, it is not correct", ParsedRating(0, Outcome.NUMERIC)),
        ("incorrect", ParsedRating(0, Outcome.NUMERIC)),
        ("Wrong!", ParsedRating(0, Outcome.NUMERIC)),
        ("false", ParsedRating(0, Outcome.NUMERIC)),
        ("Yesterday", ParsedRating(0, Outcome.DEFAULTED)),
        ("1 yes", ParsedRating(0, Outcome.DEFAULTED)),
        ("", ParsedRating(0, Outcome.DEFAULTED)),
    ],
)
def test_yes_and_no(reply: str, expected: ParsedRating) -> None:
    assert parse_yes_no(reply) == expected


@pytest.mark.parametrize("reply", ["Maybe", "", "Relevant", "The passage says yes"])
def test_neither_yes_nor_no_fails_on_request(reply: str) -> None:
    with pytest.raises(ParseFailure, match="says neither yes nor no"):
        parse_yes_no(reply, on_unparsable="fail")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("##final score: 2", ParsedRating(2, Outcome.NUMERIC)),
        ("M: 3\nT: 1\nO: 2\n##final score: 1", ParsedRating(1, Outcome.NUMERIC)),
        ("##final score: 1\nOn reflection:\n##final score: 3", ParsedRating(3, Outcome.NUMERIC)),
        ("**Final Score:** 0", ParsedRating(0, Outcome.NUMERIC)),
        ("The final score is 2.", ParsedRating(2, Outcome.NUMERIC)),
        ("final_score = 2/3", ParsedRating(2, Outcome.NUMERIC)),
        ("final score (0-3): 3", ParsedRating(3, Outcome.NUMERIC)),
        ('{"M": 3, "T": 2, "O": 1}', ParsedRating(1, Outcome.NUMERIC)),
        ('```json\n{"M": 3, "T": 2, "O": "2"}\n```', ParsedRating(2, Outcome.NUMERIC)),
        # no final score: the rules of any rating
        ("2", ParsedRating(2, Outcome.NUMERIC)),
        ("Score: 3", ParsedRating(3, Outcome.NUMERIC)),
        ("", ParsedRating(0, Outcome.UNANSWERABLE)),
        # out of the scale, even after one within it
        ("##final score: 4", ParsedRating(1, Outcome.DEFAULTED)),
        ("##final score: 2\n##final score: 10", ParsedRating(1, Outcome.DEFAULTED)),
        ("##final score: 2.5", ParsedRating(1, Outcome.DEFAULTED)),
        ("##final score: high", ParsedRating(1, Outcome.DEFAULTED)),
        ('{"O": 2.5}', ParsedRating(1, Outcome.DEFAULTED)),
    ],
)
def test_the_last_final_score_decides(reply: str, expected: ParsedRating) -> None:
    assert parse_final_score(reply, scale=(0, 3)) == expected


@pytest.mark.parametrize("reply", ["##final score: 4", "the passage is good", '{"O": null}'])
def test_a_reply_without_a_final_score_fails_on_request(reply: str) -> None:
    with pytest.raises(ParseFailure, match="0 to 3"):
        parse_final_score(reply, scale=(0, 3), on_unparsable="fail")


LABELS = {"support": 2, "supported": 2, "partial_support": 1, "partially_supported": 1, "not_support": 0}


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("support", 2), ("Support.", 2), ("**supported**", 2), (" SUPPORT\n", 2),
        ("partial_support", 1), ("Partial support", 1), ("partial-support!", 1), ("`partial_support`", 1),
        ("not_support", 0), ("Not support", 0), ("not-support", 0), ("- not_support", 0),
        ("Label: partial_support", 1), ("The label is not_support.", 0), ("2. support", 2),
        ('{"label": "not_support"}', 0), ('```json\n{"assignment": "Partial Support"}\n```', 1),
        ("['support']", 2), ('["partial_support"]', 1),
        ("support: the passage states all of it", 2),
        ("The nugget is partially supported by the passage.", 1),
        # a lead-in decides between several
        ("It could be support or partial_support. Answer: partial_support", 1),
        ("Label: support\nIt does not lack anything.", 2),
    ],
)  # fmt: skip
def test_reads_the_label_that_a_reply_names(reply: str, rating: int) -> None:
    assert parse_label(reply, LABELS) == ParsedRating(rating, Outcome.NUMERIC)


@pytest.mark.parametrize(
    "reply",
    [
        "", "2", "yes", "unsure", "supportive", "support or partial_support",
        "Label: support. Label: not_support",
        # what is denied is no label, and nothing says what it is instead
        "The passage does not fully support the nugget", "It doesn't support it", "no support",
        '{"label": "maybe"}', '{"label": 2}',
    ],
)  # fmt: skip
def test_a_reply_without_one_label_fails(reply: str) -> None:
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
    ],
)
def test_long_and_hostile_replies_are_read_in_reasonable_time(reply: str) -> None:
    assert 0 <= parse_rating(reply).rating <= 5
    assert 0 <= parse_final_score(reply).rating <= 5
    with pytest.raises(ParseFailure):
        parse_label(reply, LABELS)
