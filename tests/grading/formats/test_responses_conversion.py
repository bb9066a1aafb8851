"""Responses from one dialect into another: what is written, and the list of what is lost."""

import json
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.responses import ResponseDialect, dialect_of, losses, read_responses, write_responses
from grading.formats.responses.conversion import converted
from grading.types import Citation, Response, Sentence

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
FILES = {
    ResponseDialect.RAG24: "rag24.jsonl",
    ResponseDialect.RAG25: "rag25.jsonl",
    ResponseDialect.RAGTIME: "ragtime.jsonl",
    ResponseDialect.DRAGUN: "dragun.jsonl",
    ResponseDialect.AUTOJUDGE: "autojudge.jsonl",
    ResponseDialect.BIOGEN24: "biogen24.json",
}
SEGMENTS = ["msmarco_v2.1_doc_01_1001#1_20001", "msmarco_v2.1_doc_02_1002#2_20002"]


def first(dialect):
    return next(read_responses(FORMATS / FILES[dialect]))


def written(dialect, target):
    return converted(first(dialect), target)[0]


@pytest.mark.parametrize("target", ResponseDialect)
@pytest.mark.parametrize("source", ResponseDialect)
def test_what_is_written_in_a_dialect_is_read_again(source, target, tmp_path):
    """Texts and ids stay; the order of citations stays where they have no scores."""
    responses = list(read_responses(FORMATS / FILES[source]))
    write_responses(tmp_path / "run", responses, target)
    again = list(read_responses(tmp_path / "run"))
    assert [(r.run_tag, r.query_id) for r in again] == [(r.run_tag, r.query_id) for r in responses]
    if target is not ResponseDialect.BIOGEN24:
        assert [[s.text for s in r.sentences] for r in again] == [
            [s.text for s in r.sentences] for r in responses
        ]
        cited = [
            [set(s.citations or ()) and {c.doc_id for c in s.citations} for s in r.sentences] for r in again
        ]
        assert cited == [
            [set(s.citations or ()) and {c.doc_id for c in s.citations} for s in r.sentences]
            for r in responses
        ]
    assert all(losses(response, source) == [] for response in responses)


def test_made_up_scores_are_listed():
    assert written(ResponseDialect.DRAGUN, ResponseDialect.RAGTIME)["responses"][0]["citations"] == {
        SEGMENTS[0]: 1.0,
        SEGMENTS[1]: 0.5,
    }
    assert losses(first(ResponseDialect.DRAGUN), ResponseDialect.RAGTIME) == [
        f"sentence 1: the score 1 of {SEGMENTS[0]} is made up from its rank",
        f"sentence 1: the score 0.5 of {SEGMENTS[1]} is made up from its rank",
    ]


def test_a_map_cites_a_document_once():
    twice = Response("r", "t", (Sentence("A.", (Citation("a"), Citation("b"), Citation("a"))),))
    content, notes = converted(twice, ResponseDialect.RAGTIME)
    assert content["responses"][0]["citations"] == {"a": 1.0, "b": 0.5}
    assert notes[-1] == "sentence 1: a is cited once instead of several times"


def test_scores_become_an_order_best_first():
    low, high = "0a1b2c3d-0000-4000-8000-000000000001_1", "0a1b2c3d-0000-4000-8000-000000000002_2"
    assert written(ResponseDialect.RAGTIME, ResponseDialect.AUTOJUDGE)["responses"][0]["citations"] == [
        high,
        low,
    ]
    assert losses(first(ResponseDialect.RAGTIME), ResponseDialect.AUTOJUDGE) == [
        f"sentence 1: the score 0.5 of {low} is dropped",
        f"sentence 1: the score 90 of {high} is dropped",
    ]


def test_equal_scores_keep_the_file_s_order():
    tied = Response("r", "t", (Sentence("A.", (Citation("b", 0.5), Citation("a", 0.5), Citation("c", 0.7))),))
    assert converted(tied, ResponseDialect.DRAGUN)[0]["responses"][0]["citations"] == ["c", "b", "a"]


def test_ids_become_positions_and_what_is_cited_joins_the_references():
    content = written(ResponseDialect.AUTOJUDGE, ResponseDialect.RAG25)
    assert content["answer"][0]["citations"] == [0]
    assert content["references"] == ["Waggle_dance"]
    assert content["answer"][0]["evaldata"] == {"ok": True}
    assert content["metadata"] == {
        "team_id": "teamA",
        "run_id": "run1",
        "narrative_id": "bees",
        "collection_ids": ["kiddie"],
    }
    assert losses(first(ResponseDialect.AUTOJUDGE), ResponseDialect.RAG25) == [
        "metadata.narrative is not known",
        "references: Waggle_dance is added, since sentence 1 cites it",
    ]


def test_rag24_has_a_place_for_the_topic_only():
    content = written(ResponseDialect.RAG25, ResponseDialect.RAG24)
    assert {key: content[key] for key in ("run_id", "topic_id", "topic", "response_length")} == {
        "run_id": "hive-1",
        "topic_id": 7,
        "topic": "Why do bees dance? I keep two hives.",
        "response_length": 18,
    }
    assert losses(first(ResponseDialect.RAG25), ResponseDialect.RAG24) == [
        "metadata.type is dropped",
        "metadata.prompt is dropped",
        "metadata.seed is dropped",
        "team_id is dropped",
    ]
    assert losses(first(ResponseDialect.AUTOJUDGE), ResponseDialect.RAG24)[:2] == [
        "metadata.collection_ids is dropped",
        "the text of Waggle_dance is dropped",
    ]


def test_the_topic_is_filled_in_where_the_file_does_not_say_it(tmp_path):
    path = tmp_path / "answers.jsonl"
    answer = first(ResponseDialect.AUTOJUDGE)
    write_responses(path, [answer], ResponseDialect.RAG24, {answer.query_id: "How do bees find food?"})
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["topic"] == "How do bees find food?"
    assert "topic is not known" not in losses(answer, ResponseDialect.RAG24, "How do bees find food?")
    assert "topic is not known" in losses(answer, ResponseDialect.RAG24)
    assert "narrative" not in converted(answer, ResponseDialect.DRAGUN, "Bees?")[0]["metadata"]
    kept = converted(first(ResponseDialect.RAG25), ResponseDialect.RAG24, "Bees?")[0]
    assert kept["topic"] == "Why do bees dance? I keep two hives."


def test_dragun_allows_five_fields_of_metadata():
    content = written(ResponseDialect.RAG24, ResponseDialect.DRAGUN)
    assert content["metadata"] == {"run_id": "apiary", "topic_id": 2024}
    assert content["reasoning_traces"] == ["first thoughts"]
    assert losses(first(ResponseDialect.RAG24), ResponseDialect.DRAGUN) == [
        "response_length is dropped",
        "metadata.narrative is dropped",
        "metadata.type is not known",
        "metadata.use_starter_kit is not known",
    ]


def test_biogen_has_one_text():
    content, notes = converted(first(ResponseDialect.RAG25), ResponseDialect.BIOGEN24)
    assert (content["team_id"], content["run_name"]) == ("hive", "hive-1")
    (result,) = content["results"]
    assert result["answer"].startswith(
        "Bees dance to tell others where food is [shard_00009_3, shard_00001_1]. ## Ca"
    )
    assert notes[-4:] == [
        "sentence 1: shard_00001_1 is no PMID and stays in the text",
        "sentence 3: no citations, though they are not known",
        "sentence 4: no citations, though they are not known",
        "4 sentences are read as 3",
    ]


def test_what_biogen_says_of_a_run_is_listed():
    assert losses(first(ResponseDialect.BIOGEN24), ResponseDialect.RAG25)[:3] == [
        "contact_email is dropped",
        "note is dropped",
        "metadata.narrative is not known",
    ]


def test_biogen_takes_one_run_a_document(tmp_path):
    responses = [first(ResponseDialect.BIOGEN24), first(ResponseDialect.DRAGUN)]
    with pytest.raises(BadFormat, match="responses of several runs, expected one run a document"):
        write_responses(tmp_path / "run.json", responses, ResponseDialect.BIOGEN24)
    with pytest.raises(BadFormat, match="no responses, expected those of a run"):
        write_responses(tmp_path / "run.json", [], ResponseDialect.BIOGEN24)


@pytest.mark.parametrize("dialect", ResponseDialect)
def test_a_response_that_no_file_said_is_written(dialect, tmp_path):
    sentences = (Sentence("Honey soothes.", (Citation("11", 0.5),)), Sentence("It is sweet.", ()))
    response = Response("r1", "t1", sentences, team="teamA", documents={"11": "On honey."})
    write_responses(tmp_path / "run", [response], dialect)
    (again,) = read_responses(tmp_path / "run")
    expected = (Citation("11", 0.5),) if dialect is ResponseDialect.RAGTIME else (Citation("11"),)
    assert [sentence.citations for sentence in again.sentences] == [expected, ()]
    assert dialect_of(again.foreign) in (dialect, ResponseDialect.AUTOJUDGE)


def test_mirrored_sentences_become_one_list():
    line = {
        "metadata": {"run_id": "r", "topic_id": "t"},
        "answer": [{"text": "A."}],
        "responses": [{"text": "A."}],
    }
    response = Response("r", "t", (Sentence("A.", None),), foreign=line)
    assert converted(response, ResponseDialect.AUTOJUDGE)[0] == line
    assert json.dumps(converted(response, ResponseDialect.RAG25)[0]) == json.dumps(
        {"metadata": {"run_id": "r", "narrative_id": "t"}, "answer": [{"text": "A."}]}
    )
