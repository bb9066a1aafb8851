"""The real openai client against `transformers serve`, a server that others wrote, around a tiny GPT-2."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("openai")

from grading.graders import GraderSpec
from grading.graders.connection import Connection
from grading.graders.openai_compatible import ServerGrader
from grading.graders.registry import build
from grading.types import ErrorClass, Grade, GradeFailure
from tests.grading import tiny_gpt2
from tests.grading.servers.transformers_serve import served

pytestmark = pytest.mark.models

AS_IT_IS = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@pytest.fixture(scope="module")
def chat_folder(tiny_gpt2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model; the server wants a chat template."""
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("chat") / "gpt2"
    shutil.copytree(tiny_gpt2_folder, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = AS_IT_IS
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base_url(chat_folder: Path) -> Iterator[str]:
    with served(chat_folder, chat_folder.parent / "serve.log") as url:
        yield url


def grader(base_url: str, llm: str) -> ServerGrader:
    options = {"max_new_tokens": 12, "concurrency": 2, "attempts": 1}
    built = build(GraderSpec("openai_compatible", llm, tiny_gpt2.RATE, options), Connection(base_url))
    assert isinstance(built, ServerGrader)
    return built


def test_rates_as_the_model_says(base_url: str, chat_folder: Path) -> None:
    pairs = tiny_gpt2.pairs()[:15]
    served = grader(base_url, str(chat_folder))
    grades = [grade for grade in served.grade(pairs) if isinstance(grade, Grade) and grade.trace]
    assert len(grades) == len(pairs)
    replies = {grade.passage_id: grade.trace.reply for grade in grades if grade.trace}
    expected = {pair.passage.passage_id: pair.passage.passage_id.partition("-")[0] for pair in pairs}
    assert replies == {name: tiny_gpt2.REPLIES[word] for name, word in expected.items()}
    assert {grade.confidence for grade in grades} == {None}, "this server tells no log-probabilities"
    assert served.tokens_used.prompt > 1_000
    assert served.tokens_used.completion >= len(pairs)
    served.close()


def test_a_model_that_is_not_served_fails_with_the_servers_words(base_url: str) -> None:
    served = grader(base_url, "another/model")
    (failure,) = served.grade(tiny_gpt2.pairs()[:1])
    assert isinstance(failure, GradeFailure)
    assert failure.error_class is not None
    assert failure.error_class is ErrorClass.OTHER
    assert "requested 'another/model'" in failure.reason
    served.close()
