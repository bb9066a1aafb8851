"""The parts of the judge that need no runner: settings, shared replies, passages, scores."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("minima_llm")
pytest.importorskip("openai")

from minima_llm import MinimaLlmRequest, OpenAIMinimaLlm, PromptCache

from grading.errors import GraderUnavailable
from grading.types import CellToGrade, Grade, Item, ItemKind, Outcome, Passage, Topic
from rubricweb.autojudge.items import (
    NothingToGrade,
    WeighedItem,
    best_grades,
    check_documents,
    graded_reports,
    parts_of,
    topic_of,
    values_of,
)
from rubricweb.autojudge.model import (
    FILE,
    BadSetting,
    GradeText,
    Model,
    Query,
    Settings,
    SharedReplies,
    canonical,
    key_of,
    settings_of,
)
from tests.grading.servers.http import Reply, serving

ASKED = {
    "model": "m",
    "messages": [{"role": "user", "content": "Wörter?"}],
    "temperature": 0,
    "max_tokens": 8,
}
REPLY = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grade_treshold": 4}, "no setting grade_treshold; known are filebase,"),
        ({"kind": "claim"}, "kind is 'claim', expected one of question, nugget"),
        ({"grade_threshold": "high"}, "grade_threshold is 'high'"),
        ({"weigh": "perhaps"}, "weigh is 'perhaps', expected true or false"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        settings_of(given)


def test_settings_come_as_texts_from_the_command_line() -> None:
    made = settings_of({"weigh": "true", "concurrency": "2", "timeout_s": 30, "outdir": Path("out")})
    assert (made.weigh, made.concurrency, made.timeout_s, made.outdir) == (True, 2, 30.0, Path("out"))


def test_a_query_is_made_of_the_fields_that_a_topic_has() -> None:
    whole = SimpleNamespace(request_id="t1", title="tides", problem_statement="Why does the sea go?")
    bare = SimpleNamespace(request_id="t2", title="tides", problem_statement=None)
    assert [topic_of(whole, query).text for query in Query] == [
        "tides",
        "Why does the sea go?",
        "tides\nWhy does the sea go?",
    ]
    assert {topic_of(bare, query).text for query in Query} == {"tides"}


def test_replies_are_kept_where_other_judges_look(tmp_path: Path) -> None:
    """Key and row are those of minima-llm."""
    SharedReplies(tmp_path / "cache").put(ASKED, REPLY)
    request = MinimaLlmRequest("r1", ASKED["messages"], temperature=0, max_tokens=8)
    theirs = OpenAIMinimaLlm._canonical_request(request, "m")
    assert canonical(ASKED) == theirs
    table = PromptCache(str(tmp_path / "cache" / FILE), read_only=True)
    assert table.get(OpenAIMinimaLlm._hash_key(theirs)) == ("4", REPLY)
    table.close()
    with sqlite3.connect(tmp_path / "cache" / FILE) as rows:
        assert rows.execute("select model, canonical from cache").fetchall() == [("m", theirs)]
    rows.close()


def test_rarer_parameters_are_extra_as_theirs(tmp_path: Path) -> None:
    extra = {"response_format": {"type": "json_object"}}
    request = MinimaLlmRequest("r1", ASKED["messages"], temperature=0, max_tokens=8, extra=extra)
    assert canonical({**ASKED, **extra}) == OpenAIMinimaLlm._canonical_request(request, "m")


@pytest.mark.parametrize("raw", [None, REPLY, {"id": "no choices"}])
def test_what_another_judge_kept_is_read(raw: dict[str, object] | None, tmp_path: Path) -> None:
    table = PromptCache(str(tmp_path / FILE))
    table.put(key_of(canonical(ASKED)), "4", raw)
    table.close()
    found = SharedReplies(tmp_path).get(ASKED)
    assert found is not None
    assert found["choices"][0]["message"]["content"] == "4"
    assert SharedReplies(tmp_path).get({**ASKED, "max_tokens": 9}) is None


def test_a_reply_that_is_no_answer_is_kept_as_none(tmp_path: Path) -> None:
    refused = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}
    parts = {"choices": [{"message": {"content": [{"type": "text", "text": "4"}]}, "finish_reason": "stop"}]}
    replies = SharedReplies(tmp_path)
    for reply, tokens in ((refused, 8), (parts, 9)):
        replies.put({**ASKED, "max_tokens": tokens}, reply)
        assert replies.get({**ASKED, "max_tokens": tokens}) == reply
    with sqlite3.connect(tmp_path / FILE) as rows:
        assert sorted(rows.execute("select response_text from cache").fetchall()) == [("",), ("4",)]
    rows.close()


def test_an_empty_text_of_another_judge_is_no_answer(tmp_path: Path) -> None:
    table = PromptCache(str(tmp_path / FILE))
    table.put(key_of(canonical(ASKED)), "", None)
    table.close()
    assert SharedReplies(tmp_path).get(ASKED) is None


class Document(SimpleNamespace):
    def get_text(self) -> str:
        return str(self.text)


class Report(SimpleNamespace):
    evaldata = None

    def get_sentences(self) -> list[str]:
        return list(self.sentences)


REPORT = Report(
    metadata=SimpleNamespace(run_id="alpha", topic_id="t1"),
    sentences=["The moon pulls.", "The sun helps."],
    documents={"d1": Document(text="One.\n\nTwo.")},
)


@pytest.mark.parametrize(
    ("grade_text", "texts"),
    [
        (GradeText.RESPONSE, ["The moon pulls. The sun helps."]),
        (GradeText.DOCUMENT, ["One. Two."]),
        (GradeText.DOCUMENT_PARAGRAPHS, ["One.", "Two."]),
        (GradeText.RESPONSE_AND_DOCUMENTS, ["The moon pulls. The sun helps.", "One. Two."]),
        (GradeText.RESPONSE_AND_DOCUMENT_PARAGRAPHS, ["The moon pulls. The sun helps.", "One.", "Two."]),
    ],
)
def test_what_is_graded_is_a_setting(grade_text: GradeText, texts: list[str]) -> None:
    assert [part.passage.text for part in parts_of(REPORT, grade_text)] == texts


def test_documents_that_nobody_brings_are_no_0() -> None:
    bare = Report(metadata=REPORT.metadata, sentences=[], documents=None)
    check_documents([bare], GradeText.RESPONSE)
    with pytest.raises(NothingToGrade, match="no report has documents"):
        check_documents([bare], GradeText.DOCUMENT)


def test_the_measures_of_a_topic_worked_by_hand() -> None:
    """Two reports share a passage; of the second item one reply held no grade; the third says nothing."""
    items = [
        WeighedItem(Item(name, ItemKind.QUESTION, name), weight, name)
        for name, weight in (("a", 1.0), ("b", 0.5))
    ]
    one, two = (SimpleNamespace(passage=Passage(name, name), doc_id="", paragraph=None) for name in "pq")
    rated = {("a", "p"): 5, ("b", "p"): 2, ("a", "q"): 3}
    graded = {
        (item, passage): Grade(item, passage, rating, Outcome.NUMERIC)
        for (item, passage), rating in rated.items()
    }
    topic = graded_reports([[one, two], [two], []], items, graded)
    assert best_grades(topic).tolist() == [[5, 2], [3, 0], [0, 0]]
    assert topic.ratings.dtype == np.int8
    first, second, silent = values_of(topic, grade_threshold=4)
    assert first == {
        "NUGGET_COVERAGE": 0.5,
        "WEIGHTED_COVERAGE": pytest.approx(1 / 1.5),
        "COVERED_COUNT": 1,
        "AVG_GRADE": 3.5,
        "MAX_GRADE": 5,
    }
    assert (second["NUGGET_COVERAGE"], second["AVG_GRADE"], second["MAX_GRADE"]) == (0.0, 1.5, 3)
    assert set(silent.values()) == {0}


def test_a_server_that_does_not_answer_ends_the_judge() -> None:
    """An unfinished leaderboard would be taken for a finished one."""
    cell = CellToGrade(Item("i", ItemKind.QUESTION, "Why?"), Passage("p", "So."), Topic("t1", "tides"))
    with serving(lambda *_: Reply(401, {"error": {"message": "no"}})) as server:
        config = SimpleNamespace(model="m", base_url=server.url, api_key="k", cache_dir=None)
        with pytest.raises(GraderUnavailable, match="i and passage p: status 401"):
            Model.of(config, Settings()).grade([cell])


def test_a_reply_without_a_grade_is_missing() -> None:
    cell = CellToGrade(Item("i", ItemKind.DIRECT, "tides"), Passage("p", "So."), Topic("t1", "tides"))
    with serving(
        lambda *_: Reply(
            200,
            {
                **REPLY,
                "choices": [{**REPLY["choices"][0], "message": {"role": "assistant", "content": "Well."}}],
            },
        )
    ) as server:
        config = SimpleNamespace(model="m", base_url=server.url, api_key="k", cache_dir=None)
        assert Model.of(config, Settings()).grade([cell]) == {}
