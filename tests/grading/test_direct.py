"""Direct grading: the papers' words, and how replies become labels."""

import pytest

from grading import prompts
from grading.errors import ParseFailure
from grading.types import CellToGrade, Item, ItemKind, Outcome, Parsed, Passage, Purpose, Topic

TOPIC = Topic("940547", "when did rock n roll begin?")
PAIR = CellToGrade(Item("direct", ItemKind.DIRECT, TOPIC.text), Passage("p1", "In the 1950s. {query}"), TOPIC)
END = "Question: when did rock n roll begin?\nPassage: In the 1950s. {query}\nAnswer:"
EXAMPLES = (
    "Passage: Its 25 drops per ml, you guys are all wrong. If it is water, the standard was changed 15 - 20 "
    "years ago to make 20 drops = 1mL. The viscosity of most things is temperature dependent, so this "
    "would be "
    "at room temperature. Hope this helps.\n"
    "Question: how many eye drops per ml\n"
    "Answer: Yes\n"
    "Passage: RE: How many eyedrops are there in a 10 ml bottle of Cosopt? My Kaiser pharmacy insists that 2 "
    "bottles should last me 100 days but I run out way before that time when I am using 4 drops per "
    "day. In the "
    "past other pharmacies have given me 3 10-ml bottles for 100 days. E: How many eyedrops are there "
    "in a 10 ml "
    "bottle of Cosopt? My Kaiser pharmacy insists that 2 bottles should last me 100 days but I run out way "
    "before that time when I am using 4 drops per day.\n"
    "Question: how many eye drops per ml\n"
    "Answer: No\n"
    "Passage: You can transfer money to your checking account from other Wells Fargo. accounts through Wells "
    "Fargo Mobile Banking with the mobile app, online, at any. Wells Fargo ATM, or at a Wells Fargo "
    "branch. 1 "
    "Money in \u2014 deposits.\n"
    "Question: can you open a wells fargo account online\n"
    "Answer: No\n"
    "Passage: You can open a Wells Fargo banking account from your home or even online. It is really "
    "easy to do, "
    "provided you have all of the appropriate documentation. Wells Fargo has so many bank account "
    "options that "
    "you will be sure to find one that works for you. They offer free checking accounts with free online "
    "banking.\n"
    "Question: can you open a wells fargo account online\n"
    "Answer: Yes\n"
)
FAG = "Instruction: Indicate if the passage is relevant for the question. Respond with 'Yes' or 'No'.\n"
SUN = (
    "Instruction: Given a passage and a query, predict whether the passage includes an answer to the "
    "query by "
    'producing either "Yes" or "No".\n'
)
TEXTS = {
    "Thomas": (
        "Instruction: You are a search quality rater evaluating the relevance of passages. Given a "
        "query and a "
        "passages, you must provide a score on an integer scale of 0 to 2 with the following meanings:\n"
        "2 = highly relevant, very helpful for this query\n"
        "1 = relevant, may be partly helpful but might contain other irrelevant content\n"
        "0 = not relevant, should never be shown for this query\n"
    ),
    "FagB": FAG,
    "FagB_few": FAG + EXAMPLES,
    "HELM": "Instruction: Does the passage answer the query?\nRespond with 'Yes' or 'No'.\n",
    "Sun": SUN,
    "Sun_few": SUN + EXAMPLES,
}
YES_NO = sorted(TEXTS.keys() - {"Thomas"})


@pytest.mark.parametrize(("prompt_class", "instruction"), TEXTS.items())
def test_the_words_are_the_papers(prompt_class: str, instruction: str) -> None:
    prompt = prompts.get(prompt_class)
    assert prompt.render(PAIR) == instruction + END
    assert (prompt.purpose, prompt.kinds) == (Purpose.DIRECT, {ItemKind.DIRECT})
    assert prompt.scale == ((0, 2) if prompt_class == "Thomas" else (0, 1))


@pytest.mark.parametrize("prompt_class", YES_NO)
@pytest.mark.parametrize(
    ("reply", "rating", "outcome"),
    [
        ("Yes", 1, Outcome.NUMERIC),
        ("Yes.", 1, Outcome.NUMERIC),
        ("yes, it is", 1, Outcome.NUMERIC),
        ("Correct", 1, Outcome.NUMERIC),
        ("true", 1, Outcome.NUMERIC),
        ("No.", 0, Outcome.NUMERIC),
        ("no", 0, Outcome.NUMERIC),
        ("Incorrect", 0, Outcome.NUMERIC),
        ("Wrong", 0, Outcome.NUMERIC),
        ("false", 0, Outcome.NUMERIC),
    ],
)
def test_yes_is_relevant_and_no_is_not(prompt_class: str, reply: str, rating: int, outcome: Outcome) -> None:
    assert prompts.get(prompt_class).parse(reply, PAIR) == Parsed(rating, outcome)


@pytest.mark.parametrize(
    ("reply", "rating", "outcome"),
    [
        ("0", 0, Outcome.NUMERIC),
        ("1.", 1, Outcome.NUMERIC),
        ("2 = highly relevant", 2, Outcome.NUMERIC),
        ("Score: 2", 2, Outcome.NUMERIC),
        ("1/2", 1, Outcome.NUMERIC),
        ('{"score": "2"}', 2, Outcome.NUMERIC),
    ],
)
def test_thomas_is_a_number_from_0_to_2(reply: str, rating: int, outcome: Outcome) -> None:
    assert prompts.get("Thomas").parse(reply, PAIR) == Parsed(rating, outcome)


UNREADABLE = ("", "a.", "I cannot assess this.", "unanswerable", "-1", "1.5", "7")


@pytest.mark.parametrize("prompt", [one for one in prompts.published() if one.purpose == Purpose.DIRECT])
@pytest.mark.parametrize("reply", UNREADABLE)
def test_a_reply_without_a_label_is_a_failed_grade(prompt: prompts.Prompt, reply: str) -> None:
    """Whatever the grader's options: it is no label 1, and not relevant by default."""
    with pytest.raises(ParseFailure):
        prompt.parse(reply, PAIR)


@pytest.mark.parametrize("reply", ["3", "5: highly relevant", "4/5", "relevant", "-1", "1.5"])
def test_a_label_out_of_the_scale_is_none(reply: str) -> None:
    with pytest.raises(ParseFailure, match="no rating from 0 to 2"):
        prompts.get("Thomas").parse(reply, PAIR)


def test_an_own_direct_prompt_is_read_as_strictly() -> None:
    own = prompts.from_template("OwnLabels", "{query} {context}", {ItemKind.DIRECT}, (0, 3))
    with pytest.raises(ParseFailure, match="no rating from 0 to 3"):
        own.parse("I cannot assess this.", PAIR)


def test_umbrela_style_ends_with_its_final_score() -> None:
    prompt = prompts.get("UmbrelaStyle")
    text = prompt.render(PAIR)
    assert "\nQuery: when did rock n roll begin?\nPassage: In the 1950s. {query}\n" in text
    assert text.endswith("##final score: n")
    assert [f"\n- {score}: " in text for score in range(5)] == [True, True, True, True, False]
    assert prompt.parse("M: 3\nT: 2\n##final score: 2", PAIR) == Parsed(2, Outcome.NUMERIC)
    assert prompt.parse("##final score: 3\n##final score: 0", PAIR) == Parsed(0, Outcome.NUMERIC)
    assert prompt.parse("3", PAIR) == Parsed(3, Outcome.NUMERIC)
    with pytest.raises(ParseFailure, match="not from 0 to 3"):
        prompt.parse("##final score: 4", PAIR)
