"""Generated answers: Ragnarok, RIFER and EIFRP, prompted ones, and the stand-in without a model."""

import json

import pytest

from grading.errors import UnknownPrompt
from grading.systems import Answer, CitedSentence, Source, system_prompt
from grading.systems.extractive import (
    BestSentences,
    Prompted,
    Ragnarok,
    SpanCiting,
    cited_sentences,
    output,
    passages_of,
    span_sentences,
)
from grading.systems.key_facts import KeyFact, Rifer, fact_lines, found_sentence, in_order, without_sentence
from grading.types import Topic

TOPIC = Topic("t1", "Why do tides rise?")
MOON, SUN, WIND = "The moon pulls the sea.", "The sun helps a little.", "Wind piles water up."
SOURCES = [
    Source("d1", f"{MOON} {SUN}", "Tides"),
    Source("d2", f"{WIND} {MOON}"),
    Source("d3", "Nothing is said here."),
]


class Scripted:
    """Answers by the first words of a prompt, and keeps what it was asked."""

    def __init__(self, **replies):
        self.replies, self.asked = replies, []

    def complete(self, messages):
        self.asked.append(messages)
        prompt = messages[-1][1]
        reply = next(reply for start, reply in self.replies.items() if prompt.startswith(STARTS[start]))
        return reply(prompt) if callable(reply) else reply


STARTS = {
    "extract": "Extract ONLY",
    "verify": "Please determine",
    "confirm": "Are you confident",
    "smooth": "Please revise",
    "remove": "Based on the query",
    "sort": "Rank the key facts",
    "chat": "INSTRUCTION",
    "spans": "Answer the question completely",
    "wiki": "Generate a 1000-word",
}


def reader(**more):
    """Quotes every sentence of a document, and finds a fact where it stands to the letter."""

    def extract(prompt):
        document = prompt.split("Document:\n")[1].split("\n\nThe output")[0]
        return "\n".join(sentence for sentence in (MOON, SUN, WIND) if sentence in document) or "None"

    def verify(prompt):
        fact, document = prompt.split("fact: '")[1].split("'. If")[0], prompt.split("Document: ")[1]
        return fact if fact in document else "No"

    return Scripted(
        **{
            "extract": extract,
            "verify": verify,
            "confirm": "Yes.",
            "smooth": lambda prompt: "Also: " + prompt.split('Second sentence: "')[1].split('"')[0],
            **more,
        }
    )


def test_rifer_cites_every_document_that_has_a_fact_and_extracts_it_once():
    answer = Rifer(reader()).answer(TOPIC, SOURCES)
    assert answer.sentences == (
        CitedSentence(MOON, (0, 1)),
        CitedSentence(f"Also: {SUN}", (0,)),
        CitedSentence(f"Also: {WIND}", (1,)),
    )
    response = answer.response("rifer", "t1")
    assert response.references == ("d1", "d2", "d3")
    assert [citation.doc_id for citation in response.sentences[0].citations] == ["d1", "d2"]


def test_a_verified_sentence_leaves_the_document_before_the_extraction():
    answer = Rifer(reader()).answer(TOPIC, SOURCES[:2])
    extractions = [step for step in answer.steps if step.stage == "extract"]
    assert MOON in extractions[0].prompt
    assert MOON not in extractions[1].prompt
    assert [step.source for step in extractions] == [0, 1]


def test_every_step_is_kept_with_its_source_and_fact():
    answer = Rifer(reader()).answer(TOPIC, SOURCES[:2])
    assert [(step.stage, step.source, step.fact) for step in answer.steps] == [
        ("extract", 0, ""),
        ("verify", 1, MOON),
        ("confirm", 1, MOON),
        ("verify", 1, SUN),
        ("extract", 1, ""),
        ("smooth", None, SUN),
        ("smooth", None, WIND),
    ]


def test_a_fact_that_is_not_confirmed_gets_no_citation():
    answer = Rifer(reader(confirm="No, it is not certain.")).answer(TOPIC, SOURCES[:2])
    assert answer.sentences[0] == CitedSentence(MOON, (0, 1))  # extracted again, and merged
    assert "confirm" in {step.stage for step in answer.steps}
    assert len([step for step in answer.steps if step.stage == "extract"][1].prompt.split(MOON)) == 2


def test_eifrp_removes_and_sorts_facts_before_it_smooths_them():
    model = reader(
        remove=lambda prompt: "None" if SUN in prompt else prompt.split("Input: ")[1].split("\n")[0],
        sort=lambda prompt: str([WIND, MOON]),
    )
    answer = Rifer(model, enhanced=True).answer(TOPIC, SOURCES)
    assert answer.sentences == (CitedSentence(WIND, (1,)), CitedSentence(f"Also: {MOON}", (0, 1)))


@pytest.mark.parametrize(
    "reply", ["No list at all.", "['one', ", "[1, 2]", "[[['deep']]]", '["something else"]']
)
def test_an_invalid_list_keeps_the_order(reply):
    facts = [KeyFact(MOON), KeyFact(SUN)]
    assert in_order(facts, reply) == facts


def test_no_documents_give_an_empty_answer():
    assert Rifer(reader()).answer(TOPIC, []).sentences == ()


def test_an_answer_keeps_to_the_limit_of_words():
    answer = Rifer(reader(), max_words=12).answer(TOPIC, SOURCES)
    assert [sentence.citations for sentence in answer.sentences] == [(0, 1), (0,)]


@pytest.mark.parametrize(
    "line",
    [
        "None",
        "none.",
        "Note: There are no other sentences here.",
        "Here are the key facts:",
        "Sure! I can.",
        "-",
    ],
)
def test_lines_that_only_talk_are_no_facts(line):
    assert fact_lines(f"{line}\n{MOON}") == [MOON]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [("No", None), ("'No.'", None), ("The document does not contain the fact.", None), (f'"{MOON}"', MOON)],
)
def test_what_a_model_found(reply, sentence):
    assert found_sentence(reply) == sentence


def test_a_sentence_that_the_document_lacks_removes_nothing():
    assert without_sentence(f"{MOON} {SUN}", "Whales sing in the deep.") == f"{MOON} {SUN}"


def test_the_published_prompt_of_ragnarok_with_titles_and_numbers():
    model = Scripted(chat=f"{MOON[:-1]} [1][2]. {SUN} [1, 7]")
    answer = Ragnarok(model).answer(TOPIC, SOURCES)
    (system, _), (_, prompt) = model.asked[0]
    assert system == "system"
    assert f"CONTEXTS:\n[1] Tides: {MOON} {SUN}\n[2] {WIND} {MOON}\n[3] Nothing" in prompt
    assert prompt.count("INSTRUCTION: Please give a complete answer") == 2
    assert answer.sentences == (CitedSentence(MOON, (0, 1)), CitedSentence(SUN, (0,)))
    assert json.loads(output(answer)) == {
        "references": ["d1", "d2", "d3"],
        "answer": [{"text": MOON, "citations": [0, 1]}, {"text": SUN, "citations": [0]}],
        "response_length": len(MOON) + len(SUN),
    }


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Tides rise [1-3].", [(0, 1, 2)]),
        ("Tides rise [1]\u2013[2], and fall [4].", [(0, 1, 3)]),
        ("Tides rise.[2] They fall.[2][2]", [(1,), (1,)]),
        ("[3] Tides rise.", [(2,)]),
        ("Tides rise [0] [9].", [()]),
        ("- Tides rise [1]\n- They fall [2]\n\n3. They rest", [(0,), (1,), ()]),
        ("", []),
        ("[1]", []),
    ],
)
def test_citations_within_brackets(text, cited):
    sentences = cited_sentences(text, 4)
    assert [sentence.citations for sentence in sentences] == cited
    assert not any("[" in sentence.text or sentence.text.startswith("-") for sentence in sentences)


@pytest.mark.parametrize(
    "cited",
    [
        [[1, 8], [0, 1, 2, 3, 4, 5, 8], [5], [0, 1, 3, 6, 7, 8, 9]],
        [[], [], [0], [], [1], [], [2]],
    ],
    ids=["Command R+", "GPT-4o"],
)
def test_the_citations_of_table_4_come_out_as_published(cited):
    """Pradeep et al. 2024, Table 4, over ten segments; in brackets and as spans. The sentences are ours."""
    texts = [f"Dr. Moon and the sun pull the {number} seas." for number in range(len(cited))]
    published = ", ".join(
        f'{{"text": "{text}", "citations": {places}}}' for text, places in zip(texts, cited, strict=True)
    )
    bracketed = " ".join(
        text[:-1] + "".join(f" [{place + 1}]" for place in places) + "."
        for text, places in zip(texts, cited, strict=True)
    )
    starts = [sum(len(text) + 1 for text in texts[:number]) for number in range(len(texts))]
    spans = [(start + 4, start + 12, places) for start, places in zip(starts, cited, strict=True) if places]
    sources = tuple(Source(f"d{number}", "") for number in range(10))
    for sentences in (cited_sentences(bracketed, 10), span_sentences(" ".join(texts), spans, 10)):
        assert f'"answer": [{published}]' in output(Answer(sentences, sources))


def test_a_span_over_two_sentences_belongs_to_the_one_in_which_it_ends():
    sentences = span_sentences(f"{MOON} {SUN}", [(4, len(MOON) + 8, [1]), (0, 5, [0])], 2)
    assert [sentence.citations for sentence in sentences] == [(0,), (1,)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The <co: 1>moon</co: 1> pulls. The <co: 0,1>sun</co: 0,1> helps.", [(1,), (0, 1)]),
        ("Cited Documents: 0\nGrounded answer: The <co: 1>moon pulls.</co: 1> Ships wait.", [(1,), ()]),
        ("The <co: 9>moon</co: 9> pulls. The <co: 0>sun helps", [(), (0,)]),
        ("The moon</co: 1> pulls. <co: >The sun</co> helps.", [(), ()]),
        ("<co: 0>The <co: 1>moon</co: 1> pulls</co: 0>. It is <co:1000000>late</co:1>.", [(1, 0), ()]),
        ("", []),
    ],
)
def test_marks_of_spans_are_read_and_leave_the_text(reply, expected):
    model = Scripted(spans=reply)
    answer = SpanCiting(model).answer(TOPIC, [Source("d1", "Moon."), Source("d2", "Sun.")])
    assert [sentence.citations for sentence in answer.sentences] == expected
    assert not [sentence.text for sentence in answer.sentences if "co" in sentence.text]
    assert "Document: 0" in model.asked[0][-1][1]
    assert [step.prompt_id for step in answer.steps] == ["Spans@1"]


def test_prompted_answers_are_passages_without_citations():
    model = Scripted(wiki="\n\n".join("word " * 250 for _ in range(3)))
    answer = Prompted(model, "Wiki").answer(TOPIC)
    assert model.asked == [[("user", "Generate a 1000-word long Wikipedia article on Why do tides rise?")]]
    assert [len(sentence.text.split()) for sentence in answer.sentences] == [250, 250, 250]
    assert answer.response("gpt-wiki", "t1").sentences[0].citations == ()


def test_a_question_is_asked_with_one_question_mark():
    assert system_prompt("Question").messages(query="why") == [("user", "why?")]
    with pytest.raises(UnknownPrompt, match="Poem"):
        system_prompt("Poem")


def test_passages_lose_no_word():
    text = "One two three. Four five six seven eight.\n\nNine ten.\n\nEleven twelve thirteen."
    for words in range(1, 14):
        assert " ".join(passages_of(text, words)).split() == text.split()


def test_braces_in_a_passage_are_no_placeholders():
    message = system_prompt("KeyFacts").messages(query="{document}", document="a {query} b")[0][1]
    assert "{document} (This" in message
    assert "a {query} b" in message


def test_the_stand_in_cites_sources_that_repeat_a_sentence():
    sources = [
        Source("d1", "The tides of the sea rise with the moon. Cats sleep all the day long."),
        Source("d2", "It is well known. The tides of the sea rise with the moon."),
    ]
    answer = BestSentences().answer(Topic("t1", "Why do tides rise?"), sources)
    assert answer.sentences == (CitedSentence("The tides of the sea rise with the moon.", (0, 1)),)
    assert BestSentences().answer(Topic("t1", "Zebra?"), sources).sentences == ()
