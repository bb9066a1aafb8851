"""Drafts of questions and nuggets: what is asked, and what is made of the replies."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from grading import generation
from grading.errors import ParseFailure, UnknownPrompt
from grading.generation import DraftTask, draft, parse_drafts, parse_importances, repeats, weigh
from grading.generation.similarity import near_duplicates, nearest
from grading.types import Importance, ItemKind, Topic

TOPIC = Topic("940547", "when did rock n roll begin?")
CAR = Topic("tqa2:L_0001", "The Water Cycle")
TWO = ["Who was Bill Haley?", "Why Memphis?"]


class Scripted:
    """Says one reply after the other, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[list[tuple[str, str]]] = []

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        self.asked.append(list(messages))
        return self.replies.pop(0)


def words(topic: Topic, kind: ItemKind, subtopic: str = "") -> str:
    [(role, text)] = DraftTask(topic, kind, subtopic).messages
    assert role == "user"
    return text


def test_questions_for_a_query_are_asked_in_the_papers_words() -> None:
    assert words(TOPIC, ItemKind.QUESTION) == (
        "Break the query 'when did rock n roll begin?' into concise questions that must be answered. "
        "Generate 10 concise insightful questions that reveal whether information relevant for "
        "'when did rock n roll begin?' was provided, showcasing a deep understanding of the subject matter. "
        "Avoid basic or introductory-level inquiries. Keep the questions short. "
        "Give the question set in the following JSON format:\n"
        '```json\n{ "questions" : [question_text_1, question_text_2, ...] }\n```'
    )


def test_nuggets_for_a_query_are_asked_in_the_papers_words() -> None:
    assert words(TOPIC, ItemKind.NUGGET) == (
        "Break the query 'when did rock n roll begin?' into concise nuggets that must be mentioned. "
        "Generate 10 concise insightful nuggets that reveal whether information relevant for "
        "'when did rock n roll begin?' was provided, showcasing a deep understanding of the subject matter. "
        "Avoid basic or introductory-level nuggets. Keep nuggets to a maximum of 4 words. "
        "Give the nugget set in the following JSON format:\n"
        '```json\n{ "nuggets" : [nugget_text_1, nugget_text_2, ...] }\n```'
    )


def test_questions_for_a_subtopic_are_asked_in_the_papers_words() -> None:
    assert words(CAR, ItemKind.QUESTION, "Infiltration").startswith(
        "Explore the connection between 'The Water Cycle' with a specific focus on the subtopic "
        "'Infiltration'. Generate insightful questions that delve into advanced aspects of 'Infiltration', "
        "showcasing a deep understanding of the subject matter. Avoid basic or introductory-level inquiries. "
        "Give the question set"
    )


def test_nuggets_for_a_subtopic_are_asked_in_the_papers_words() -> None:
    assert words(CAR, ItemKind.NUGGET, "Infiltration").startswith(
        "Explore the connection between 'The Water Cycle' with a specific focus on the subtopic "
        "'Infiltration'. Generate insightful nuggets (key facts) that delve into advanced aspects of "
        "'Infiltration', showcasing a deep understanding of the subject matter. Avoid basic or "
        "introductory-level nuggets. Keep nuggets to a maximum of 4 words. Give the nugget set"
    )


@pytest.mark.parametrize(
    ("prompt_class", "problem"),
    [
        ("TrecDlNuggets", "TrecDlNuggets does not draft question items"),
        ("NuggetImportance", "NuggetImportance does not draft question items"),
        ("TrecCarQuestions", "TrecCarQuestions drafts for a subtopic, and none is given"),
    ],
)
def test_a_prompt_that_does_not_fit_the_request_is_refused(prompt_class: str, problem: str) -> None:
    with pytest.raises(UnknownPrompt, match=problem):
        draft(Scripted(), DraftTask(TOPIC, ItemKind.QUESTION, prompt_class=prompt_class))


def test_a_subtopic_can_be_asked_about_with_a_prompt_for_queries() -> None:
    request = DraftTask(CAR, ItemKind.QUESTION, "Infiltration", prompt_class="TrecDlQuestions")
    assert request.prompt.prompt_id == "TrecDlQuestions@1"


def test_braces_in_a_query_stay() -> None:
    assert words(Topic("q", "what is {instruction} or {query_title}?"), ItemKind.QUESTION).startswith(
        "Break the query 'what is {instruction} or {query_title}?' into"
    )


def test_every_drafting_prompt_has_an_id_and_a_source() -> None:
    assert [prompt.prompt_id for prompt in generation.drafting_prompts().values()] == [
        "TrecDlQuestions@1",
        "TrecDlNuggets@1",
        "TrecCarQuestions@1",
        "TrecCarNuggets@1",
        "NuggetImportance@1",
    ]
    assert all(prompt.source for prompt in generation.drafting_prompts().values())
    with pytest.raises(UnknownPrompt, match=r"no drafting prompt 'Haiku'; known are NuggetImportance"):
        generation.drafting_prompt("Haiku")


DRAFTS = {
    # as it was asked for
    '```json\n{ "questions" : ["Who was Bill Haley?", "Why Memphis?"] }\n```': TWO,
    '{"questions": ["Who was Bill Haley?", "Why Memphis?"]}': TWO,
    '{"nuggets": ["Early 1950s innovation"]}': ["Early 1950s innovation"],
    'Sure! {"Questions": ["Who was Bill Haley?", "Why Memphis?"]} I hope that this helps.': TWO,
    # other JSON
    '["Who was Bill Haley?", "Why Memphis?"]': TWO,
    '{"topic": "rock", "list": ["Who was Bill Haley?", "Why Memphis?"]}': TWO,
    '{"questions": [{"id": 1, "question": "Who was Bill Haley?"}, {"text": "Why Memphis?"}]}': TWO,
    '{"questions": {"1": "Who was Bill Haley?", "2": "Why Memphis?"}}': TWO,
    # a string is one text a line, never one a character
    '{"questions": "Who was Bill Haley?\\nWhy Memphis?"}': TWO,
    '{"questions": "1. Who was Bill Haley?\\n2. Why Memphis?"}': TWO,
    '{"nuggets": "early 1950s"}': ["early 1950s"],
    # not quite JSON: a comma too many, Python's quotes, cut off in the third text
    '{"questions": ["Who was Bill Haley?", "Why Memphis?",]}': TWO,
    "['Who was Bill Haley?', 'Why Memphis?']": TWO,
    '{"questions": ["Who was Bill Haley?", "Why Memphis?", "Which la': TWO,
    '```json\n{"questions": [\n"Who was Bill Haley?",\n"Why Memphis?",\n"Which': TWO,
    # lines
    "Here are two:\n1. Who was Bill Haley?\n2. Why Memphis?\n": TWO,
    "1) **Who was Bill Haley?**\n\n2) **Why Memphis?**": TWO,
    "**1.** Who was Bill Haley?\n**2.** Why Memphis?": TWO,
    "[1] Who was Bill Haley?\n[2] Why Memphis?": TWO,
    "- Who was Bill Haley?\n\u2022 Why Memphis?": TWO,
    "Q1: Who was Bill Haley?\nQuestion 2: Why Memphis?": TWO,
    '- Question: "Who was Bill Haley?"\n- Question: "Why Memphis?"': TWO,
    'Question: "Who was Bill Haley?"\nQuestion: "Why Memphis?"': TWO,
    "Of course.\nWho was Bill Haley?\nWhy Memphis?": TWO,
    '"Who was Bill Haley?" (basic),\n"Why Memphis?" (advanced)': TWO,
    # what texts are freed of
    '{"questions": ["1. Who was Bill Haley?", " \\"Why  Memphis?\\", "]}': TWO,
    '["Who was Bill Haley?", "who was bill haley?", "Why Memphis?"]': TWO,
    '["W", "?", "", "...", "Why Memphis?"]': ["Why Memphis?"],
    '["3 wise men", "-5 degrees", "C++", "1950s"]': ["3 wise men", "-5 degrees", "C++", "1950s"],
    '["What does \\"rock\\" mean?"]': ['What does "rock" mean?'],
    # nothing
    "": [], "I am sorry, I cannot do that.": [], '{"questions": []}': [], '{"questions": [1, 2.5, null]}': [],
    "{}": [], "[": [], '["': [], "Rock n roll began in the 1950s.": [], "[" * 5000: [], '{"a":' * 5000: [],
    f'["{"very " * 100}long prose?"]': [],
}  # fmt: skip


@pytest.mark.parametrize(("reply", "texts"), DRAFTS.items(), ids=range(len(DRAFTS)))
def test_a_reply_is_read_as_the_texts_that_it_lists(reply: str, texts: list[str]) -> None:
    assert parse_drafts(reply) == texts


@settings(deadline=None, max_examples=100)
@given(st.text() | st.text(alphabet="[]{}\":,\\\n'1.-* abquestions?"))
def test_no_reply_raises_or_gives_single_characters(reply: str) -> None:
    assert all(len(text) > 1 for text in parse_drafts(reply))


def test_drafts_keep_reply_and_prompt() -> None:
    llm = Scripted(next(iter(DRAFTS)))
    drafts = draft(llm, DraftTask(TOPIC, ItemKind.QUESTION))
    assert drafts.texts == tuple(TWO)
    assert (drafts.raw, drafts.prompt_id, drafts.tries) == (next(iter(DRAFTS)), "TrecDlQuestions@1", 1)
    assert llm.asked == [DraftTask(TOPIC, ItemKind.QUESTION).messages]


def test_a_reply_without_drafts_is_asked_again_twice() -> None:
    drafts = draft(Scripted("Hm.", "No.", '["early 1950s"]'), DraftTask(TOPIC, ItemKind.NUGGET))
    assert (drafts.texts, drafts.tries) == (("early 1950s",), 3)
    llm = Scripted("Hm.", "No.", "I am sorry.", '["early 1950s"]')
    with pytest.raises(ParseFailure, match=r"no nugget in 3 replies; the last one begins: 'I am sorry\.'"):
        draft(llm, DraftTask(TOPIC, ItemKind.NUGGET))
    assert len(llm.asked) == 3


def test_near_duplicates_are_found_in_the_bank_and_among_the_drafts() -> None:
    existing = ["Who influenced early rock n roll?", "When did rock n roll begin?"]
    texts = [
        "When did rock'n roll begin?",
        "Which cities were early centers?",
        "Which city was an early center?",
        "Where did rock n roll begin?",
    ]
    duplicates = near_duplicates(texts, existing)
    assert [(duplicate.text, duplicate.other) for duplicate in duplicates] == [
        (texts[0], existing[1]),
        (texts[2], texts[1]),
    ]
    assert duplicates[1].score == 1.0
    assert all(0.85 <= duplicate.score <= 1 for duplicate in duplicates)


def test_a_denial_or_another_question_word_is_no_near_duplicate() -> None:
    assert near_duplicates(["Where did it begin?"], ["When did it begin?"]) == []
    assert near_duplicates(["Taxes rose"], ["Taxes did not rise"]) == []
    assert near_duplicates(["anything"]) == []


def test_the_threshold_can_be_moved() -> None:
    pair = ["inner layer of a narwhal tusk"], ["outer layer of a narwhal tusk"]
    assert near_duplicates(*pair, threshold=0.95) == []
    assert len(near_duplicates(*pair, threshold=0.7)) == 1


def test_nuggets_are_weighed_window_by_window() -> None:
    nuggets = [f"fact {number}" for number in range(12)]
    llm = Scripted('["vital"' + ', "okay"' * 9 + "]", "['okay', 'VITAL']")
    weighed = weigh(llm, TOPIC, nuggets)
    vital = [number for number, label in enumerate(weighed.labels) if label is Importance.VITAL]
    assert (len(weighed.labels), vital, weighed.defaulted) == (12, [0, 11], 0)
    assert weighed.prompt_id == "NuggetImportance@1"
    [(_, prompt)] = llm.asked[1]
    assert "Query: when did rock n roll begin?\nNuggets:\n[1] fact 10\n[2] fact 11\n" in prompt
    assert "a JSON list of the 2 labels" in prompt


def test_a_window_without_an_answer_is_okay_and_counted() -> None:
    weighed = weigh(Scripted("vital", "vital", "no idea"), TOPIC, ["one", "two"])
    assert weighed.labels == (Importance.OKAY, Importance.OKAY)
    assert (weighed.defaulted, weighed.unsaid) == (2, (0, 1))


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        ('["vital", "okay"]', ["vital", "okay"]),
        ("[1] vital\n[2] okay", []),
        ("1. Vital\n2. Okay", ["vital", "okay"]),
        ('Some are vital. ["okay", "vital"]', ["okay", "vital"]),
        ('["vital"]', []),
        ("", []),
    ],
)
def test_labels_of_a_window(reply: str, labels: list[str]) -> None:
    assert parse_importances(reply, 2) == labels


def test_the_nearest_share_rare_words() -> None:
    offered = ["Is it so?", "Does frost dull the leaves?", "When do leaves fall?", "", "Who bakes bread?"]
    near = nearest("The first frost dulls leaves", offered)
    assert [hit.place for hit in near] == [1, 2]
    assert 0 < near[1].score < near[0].score < 1
    assert nearest("leaves that fall", offered, most=1)[0].place == 2
    assert nearest("leaves fall", ["fall: leaves"]) == [(0, 1.0)]
    assert nearest("", offered) == nearest("what is the", offered) == []


@pytest.mark.parametrize("filler", ["\n", " ", " \n", '"', "[", "{", "* \n", '["a" \n'])
def test_a_long_reply_without_drafts_is_read_in_one_pass(filler):
    """A reading that looked at the rest again from each line would take hours."""
    assert len(parse_drafts(filler * 300_000)) <= 1


@pytest.mark.parametrize(
    ("reply", "is_over"),
    [
        ("1. Who built the old bridge?\n2. Why was it built here?\n3. When did the bridge fall?\n", False),
        ("1. Who built it then?\n" + "".join(f"{n}. Why was it built here?\n" for n in range(2, 6)), True),
        ("Who built the bridge?\n\nWhy was it built?\n\n" * 3, True),
        ("[" + '"Who built the bridge?", ' * 4, True),
        ("The bridge fell down. " * 4, True),
        (
            "The bridge fell down. It was never built again. The bridge fell down. Nobody crossed it since. ",
            False,
        ),
        ('["vital", "vital", "vital", "vital", "okay", "vital", "vital", "vital", "vital", ', False),
        ("partial support\n" * 12, False),
        ("橋は昔の人たちが石で長い時間をかけて作った\n" * 4, True),
        ("", False),
    ],
)
def test_a_reply_repeats_once_three_long_lines_are_old(reply: str, is_over: bool) -> None:
    assert repeats(reply) is is_over
