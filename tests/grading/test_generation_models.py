"""Drafts by real models: a tiny T5 and a tiny GPT-2, each taught one list, and what cannot write."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from grading.errors import GraderUnavailable, UnknownGrader
from grading.generation import DraftTask, draft
from grading.generation.models import drafting_backend, drafting_backends, text_model
from grading.graders.connection import Connection
from grading.types import ItemKind, Topic

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grading.generation.models import CausalText  # noqa: E402
from grading.graders import hf_model  # noqa: E402
from tests.grading import tiny_llama_gguf, tiny_writers  # noqa: E402

pytestmark = pytest.mark.models

TOPIC = Topic("q1", "why do leaves turn red")
REQUEST = DraftTask(TOPIC, ItemKind.QUESTION)
QUESTIONS = ["Which pigment is red?", "When do leaves fall?"]
REPLY = json.dumps(QUESTIONS)


def test_a_t5_drafts(tmp_path: Path) -> None:
    tiny_writers.build_t5(tmp_path, REQUEST.messages[0][1], REPLY)
    drafts = draft(text_model("hf_seq2seq", str(tmp_path)), REQUEST)
    assert (drafts.texts, drafts.tries, drafts.prompt_id) == (tuple(QUESTIONS), 1, "TrecDlQuestions@1")


@pytest.mark.parametrize("template", ["", tiny_writers.CHAT])
def test_a_gpt2_drafts_with_and_without_a_chat_template(tmp_path: Path, template: str) -> None:
    tiny_writers.build_gpt2(tmp_path, REQUEST.messages[0][1], REPLY, template)
    drafts = draft(CausalText(str(tmp_path)), REQUEST)
    assert (drafts.texts, drafts.tries) == (tuple(QUESTIONS), 1)
    assert "Break the query" not in drafts.raw


def test_a_reply_ends_where_its_lines_repeat(tmp_path: Path) -> None:
    line = "Which pigment is red? "
    tiny_writers.build_gpt2(tmp_path, REQUEST.messages[0][1], line * 12, "")
    reply = CausalText(str(tmp_path)).complete(REQUEST.messages)
    assert 4 <= reply.count(line.strip()) < 8


def test_a_reply_can_be_watched_and_stopped(tmp_path: Path) -> None:
    tiny_writers.build_gpt2(tmp_path, REQUEST.messages[0][1], REPLY, "")
    counts: list[tuple[int, int]] = []
    threads: set[int] = set()

    def note(written: int, most: int) -> None:
        counts.append((written, most))
        threads.add(torch.get_num_threads())
        if len(counts) == 3:
            raise InterruptedError

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(InterruptedError):
            CausalText(str(tmp_path), 50, on_tokens=note).complete(REQUEST.messages)
        assert counts == [(1, 50), (2, 50), (3, 50)]
        assert threads == {1}, "a small model writes on one thread"
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("backend", "task"), [("hf_causal", "CAUSAL"), ("hf_seq2seq", "SEQ2SEQ")])
def test_writing_uses_the_kernels_of_rating(tmp_path: Path, backend: str, task: str) -> None:
    if backend == "hf_causal":
        pytest.importorskip("gguf")
        tiny_llama_gguf.build(tmp_path / "tiny.gguf")
    else:
        tiny_writers.build_t5(tmp_path, REQUEST.messages[0][1], REPLY)
    text_model(backend, str(tmp_path))
    assert hf_model.load(str(tmp_path), getattr(hf_model, task)).model.is_quick


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GraderUnavailable, match="sequence-to-sequence"):
        text_model("hf_seq2seq", str(tmp_path / "nothing"))


class Server(BaseHTTPRequestHandler):
    """Says REPLY to every chat, in OpenAI's form."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert request["messages"] == [{"role": "user", "content": REQUEST.messages[0][1]}]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quietly."""


def test_a_server_drafts() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = Connection(f"http://127.0.0.1:{server.server_port}/v1")
        drafts = draft(text_model("openai_compatible", "m", connection), REQUEST)
        server.shutdown()
    assert drafts.texts == tuple(QUESTIONS)


def test_a_server_that_is_not_configured() -> None:
    with pytest.raises(GraderUnavailable, match="no model server is configured"):
        text_model("openai_compatible", "m")


def test_what_cannot_write_names_what_can() -> None:
    assert "lexical" not in {backend.name for backend in drafting_backends()}
    with pytest.raises(UnknownGrader, match=r"lexical cannot write .* hf_seq2seq"):
        drafting_backend("lexical")
