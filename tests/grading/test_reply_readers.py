"""Everything that reads what a model sends gets it through the gate, and one odd reply harms no other."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from grading import support
from grading.errors import ParseFailure
from grading.generation import DraftTask, TextModel, draft, weigh
from grading.generation.models import text_model
from grading.graders import Connection, GraderSpec, build, openai_client
from grading.graders.replies import NoReply
from grading.systems import Source
from grading.systems.extractive import Prompted, Ragnarok
from grading.systems.key_facts import Rifer
from grading.systems.reranking import ListwiseReranker, PointwiseReranker, rating_prompts
from grading.types import Grade, GradeFailure, ItemKind, Topic
from tests.grading.odd_replies import ODD, OPENED_AND_CLOSED, Body, Odd, reply
from tests.grading.servers.http import Reply, Server, serving
from tests.grading.servers.replies import pairs

ROOT = Path(__file__).resolve().parents[2]
RATE = "QuestionSelfRatedPromptWithReminder"
TOPIC = Topic("t1", "Why do tides rise?")
SOURCES = [Source("d1", "The moon pulls the sea."), Source("d2", "The sun helps a little.")]
Asks = Callable[[TextModel], object]

WRITTEN: dict[str, Asks] = {
    "drafts": lambda llm: draft(llm, DraftTask(TOPIC, ItemKind.QUESTION)),
    "importance": lambda llm: weigh(llm, TOPIC, ["the moon pulls"]),
    "ragnarok": lambda llm: Ragnarok(llm).answer(TOPIC, SOURCES),
    "rifer": lambda llm: Rifer(llm).answer(TOPIC, SOURCES),
    "eifrp": lambda llm: Rifer(llm, enhanced=True).answer(TOPIC, SOURCES),
    "prompted": lambda llm: Prompted(llm, "Wiki").answer(TOPIC),
    "listwise reranking": lambda llm: ListwiseReranker(llm).rerank(TOPIC, SOURCES),
    "pointwise reranking": lambda llm: PointwiseReranker(llm, rating_prompts()["Sun"]).rerank(TOPIC, SOURCES),
    "support": lambda llm: support.label_of(
        llm.complete(support.question("Tides.", "The moon.", support.support_prompt())),
        support.support_prompt(),
    ),
}
"""What asks a model to write."""


class Speaker:
    """A server that says the same to everybody, and the writer that asks it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.llm = text_model("openai_compatible", "m", Connection(server.url))


@pytest.fixture(scope="module")
def speaker() -> Iterator[Speaker]:
    says: list[Body] = []
    with serving(lambda *_: Reply(200, json.dumps(made.says).encode())) as server:
        made = Speaker(server)
        made.says = says  # type: ignore[attr-defined]
        yield made


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)


@pytest.mark.parametrize("reader", WRITTEN)
def test_whoever_asks_a_model_to_write_gets_an_answer_or_no_reply(speaker: Any, reader: str) -> None:
    for odd in ODD[::2]:  # any of them at each place is asked of the gate itself
        speaker.says = odd.body
        if odd.fails:
            with pytest.raises(NoReply):
                WRITTEN[reader](speaker.llm)
        else:
            with suppress(ParseFailure):  # an answer, though perhaps not to this question
                WRITTEN[reader](speaker.llm)


@pytest.mark.parametrize(("opened", "closed"), OPENED_AND_CLOSED, ids=lambda mark: mark.strip())
def test_nothing_of_the_thinking_gets_into_an_answer(speaker: Any, opened: str, closed: str) -> None:
    thought = "The moon [2] is no answer. Yes. [1] > [2]"
    speaker.says = reply(f"{opened}{thought}{closed}The moon pulls the sea [1].")
    answer = Ragnarok(speaker.llm).answer(TOPIC, SOURCES)
    assert [(one.text, one.citations) for one in answer.sentences] == [("The moon pulls the sea.", (0,))]
    speaker.says = reply(f"{opened}{thought}{closed}[2] > [1]")
    ranked = ListwiseReranker(speaker.llm).rerank(TOPIC, SOURCES)
    assert [source.passage_id for source in ranked.sources] == ["d2", "d1"]


def test_a_grader_fails_the_pairs_of_odd_replies_and_no_other() -> None:
    """Each odd reply among good ones, of which none may be lost."""
    cells = pairs(2 * len(ODD))
    number = {cell.passage.passage_id: place for place, cell in enumerate(cells)}

    def script(body: Any, _: int) -> Reply:
        place = int(body["messages"][-1]["content"].partition("Part ")[2].partition(".")[0])
        return Reply(200, json.dumps(ODD[place // 2].body if place % 2 else reply("5")).encode())

    with serving(script) as server:
        grader = build(GraderSpec("openai_compatible", "m", RATE, {"attempts": 2}), Connection(server.url))
        results = list(grader.grade(cells))
        grader.close()
    assert len(results) == len(cells)
    for result in results:
        place = number[result.passage_id]
        _check(result, None if place % 2 == 0 else ODD[place // 2])


def test_a_batch_fails_the_pairs_of_odd_replies_and_no_other(tmp_path: Path) -> None:
    cells = pairs(2 * len(ODD))
    grader: Any = build(GraderSpec("batch_file", "m", RATE), Connection("", batch_folder=str(tmp_path)))
    batch = grader.send(cells)
    lines = (tmp_path / "in" / f"{batch}.jsonl").read_text().splitlines()
    bodies = [ODD[place // 2].body if place % 2 else reply("5") for place in range(len(lines))]
    answers = [
        {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200, "body": body}}
        for line, body in zip(lines, bodies, strict=True)
    ]
    (tmp_path / "out" / f"{batch}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in answers))
    results = {result.passage_id: result for result in grader.collect(batch, cells)}
    for place, cell in enumerate(cells):
        odd = ODD[place // 2] if place % 2 else None
        if odd and odd.body is None:  # no answer at all: asked again
            assert cell.passage.passage_id not in results
        else:
            _check(results[cell.passage.passage_id], odd)


def _check(result: Grade | GradeFailure, odd: Odd | None) -> None:
    """`odd` is None for a good reply, which says 5."""
    if odd is None or odd.fails is None:
        assert isinstance(result, Grade), (odd, result)
        assert result.rating == (4 if odd else 5)
        assert result.confidence is None or 0 <= result.confidence <= 1
    else:
        assert isinstance(result, GradeFailure), (odd, result)
        assert result.error_class is odd.fails


GATE = {"grading/graders/replies.py", "grading/graders/completions.py"}
SENDS = {"grading/graders/openai_client.py"}
"""What may name the address of a chat completion."""
OF_A_REPLY = {"choices", "reasoning_content", "finish_reason", "top_logprobs", "tool_calls"}
BUILDS_A_REPLY = ("rubricweb/autojudge/model.py",)
"""For a table in which others keep the text alone; the gate reads what it builds."""
READS_FILES = "grading/formats/"
"""The choices in files of annotations are people's."""


@cache
def _sources() -> dict[str, ast.Module]:
    paths = (path for top in ("grading", "rubricweb") for path in sorted((ROOT / top).rglob("*.py")))
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
        if "migrations" not in path.parts
    }


def test_nobody_else_reads_a_completion_or_decodes_tokens() -> None:
    """A reader of its own would take thinking, refusals and broken-off texts for answers again."""
    problems = []
    for name, tree in _sources().items():
        if name in GATE:
            continue
        for node in ast.walk(tree):
            if _decodes(node):
                problems.append(f"{name}:{node.lineno} decodes tokens; use replies.of_tokens")
            if _reads_a_reply(node) and not name.startswith((READS_FILES, *BUILDS_A_REPLY)):
                problems.append(f"{name}:{node.lineno} reads a completion; use completions.read")
            if isinstance(node, ast.Constant) and node.value == "/chat/completions" and name not in SENDS:
                problems.append(f"{name}:{node.lineno} calls a server; use ChatClient")
    assert problems == []


def test_the_walk_finds_a_reader_of_its_own() -> None:
    for code in (
        "body['choices'][0]",
        "reply.choices[0].message.content",
        "message.get('reasoning_content')",
    ):
        assert any(_reads_a_reply(node) for node in ast.walk(ast.parse(code))), code
    for code in ("self._loaded.tokenizer.decode(ids)", "tokenizer.batch_decode(ids)"):
        assert any(_decodes(node) for node in ast.walk(ast.parse(code))), code


def test_every_model_that_writes_passes_the_gate() -> None:
    """Whoever has a method `complete` asks through one of these, or hands on what another one says."""
    found = {
        f"{name}:{node.name}"
        for name, tree in _sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(each, ast.FunctionDef) and each.name == "complete" for each in node.body)
    }
    assert found == {
        "grading/generation/__init__.py:TextModel",
        "grading/generation/models.py:CausalText",
        "grading/generation/models.py:Seq2SeqText",
        "grading/generation/models.py:ServerText",
        "grading/systems/pipeline.py:_NoModel",
        "rubricweb/autojudge/model.py:Writer",
        "rubricweb/banks/draft_jobs.py:Remembering",
        "rubricweb/jobs/limits.py:KeptReplies",
        "rubricweb/jobs/limits.py:LimitedModel",
    }


def _decodes(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in {"decode", "batch_decode"}
        and "tokenizer" in ast.unparse(node.value)
    )


def _reads_a_reply(node: ast.AST) -> bool:
    """By a key or `get` of a dictionary, or by the attributes of the openai library."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in OF_A_REPLY
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        name = node.args[0] if node.args else None
        return isinstance(name, ast.Constant) and name.value in OF_A_REPLY
    return isinstance(node, ast.Attribute) and (
        (node.attr == "content" and ast.unparse(node.value).endswith("message"))
        or node.attr in {"reasoning_content", "tool_calls"}
        or ast.unparse(node).endswith("chat.completions")
    )
