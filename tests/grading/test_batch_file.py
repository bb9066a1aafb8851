"""Files of requests, and answers that come in any order, in part, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai")

from grading.errors import GraderUnavailable, TryLater
from grading.graders import JSON, BatchGrader, BatchState, GraderSpec, batch_file
from grading.graders.batch_file import BatchFileGrader
from grading.graders.connection import Connection
from grading.graders.registry import build
from grading.types import ErrorClass, Grade, GradeFailure
from tests.grading.servers.batches import BatchServer, Body, rates, serving_batches
from tests.grading.servers.http import serving
from tests.grading.servers.replies import pairs, says

RATE = "QuestionSelfRatedPromptWithReminder"


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with serving_batches() as running:
        yield running


def grader(connection: Connection, **options: JSON) -> BatchFileGrader:
    built = build(GraderSpec("batch_file", "m", RATE, options), connection)
    assert isinstance(built, BatchFileGrader)
    assert isinstance(built, BatchGrader)
    return built


def at(server: BatchServer, **options: JSON) -> BatchFileGrader:
    return grader(Connection(server.url, "secret"), **options)


def refused(status: int, message: str) -> Body:
    return {"status_code": status, "request_id": "1", "body": {"error": {"message": message}}}


def part(body: Body) -> int:
    """The number of the passage that a request is about."""
    return int(str(body["messages"][-1]["content"]).partition("Part ")[2].partition(".")[0])


def ratings(results: Iterator[Grade | GradeFailure]) -> dict[str, int | None]:
    return {result.passage_id: getattr(result, "rating", None) for result in results}


def test_requests_are_those_of_single_calls_and_answers_come_in_any_order(server: BatchServer) -> None:
    asking = at(server)
    batch = asking.send(pairs(6))
    [first, *_] = server.requests(batch)
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    assert {name: first["body"][name] for name in ("model", "temperature", "max_tokens", "top_logprobs")} == {
        "model": "m",
        "temperature": 0,
        "max_tokens": 64,
        "top_logprobs": 10,
    }
    assert len({request["custom_id"] for request in server.requests(batch)}) == 6
    assert max(len(request["custom_id"]) for request in server.requests(batch)) <= 64
    assert asking.state(batch) == BatchState(has_ended=False)
    server.end(batch, lambda body: rates(part(body) % 6))
    assert asking.state(batch) == BatchState(has_ended=True, seconds=90.0)
    assert ratings(asking.collect(batch, pairs(6))) == {f"p{number}": number for number in range(6)}
    assert ratings(asking.collect(batch, pairs(6)[4:])) == {"p4": 4, "p5": 5}


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_of_a_batch_that_ended_early_what_is_there_is_kept(server: BatchServer, status: str) -> None:
    asking = at(server)
    batch = asking.send(pairs(5))
    server.end(batch, lambda body: rates(3) if part(body) < 2 else None, status)
    assert asking.state(batch).has_ended
    assert ratings(asking.collect(batch, pairs(5))) == {"p0": 3, "p1": 3}


def test_an_error_that_another_try_changes_is_no_result(server: BatchServer) -> None:
    asking = at(server)
    batch = asking.send(pairs(3))
    answers = [rates(2), refused(429, "slow down"), refused(400, "This model's maximum context length is 5")]
    server.end(batch, lambda body: answers[part(body)])
    rated, failed = sorted(asking.collect(batch, pairs(3)), key=lambda result: result.passage_id)
    assert isinstance(rated, Grade)
    assert isinstance(failed, GradeFailure)
    assert (failed.passage_id, failed.error_class) == ("p2", ErrorClass.CONTEXT)


def test_what_the_server_refuses_is_left_out_of_the_next_file(server: BatchServer) -> None:
    asking = at(server)
    batch = asking.send(pairs(2))
    server.end(batch, lambda _: refused(400, "Unsupported: max_tokens; use max_completion_tokens"))
    assert list(asking.collect(batch, pairs(2))) == []
    assert asking.find(pairs(2)) == ""
    [first, _] = server.requests(asking.send(pairs(2)))
    assert first["body"]["max_completion_tokens"] == 64
    assert "max_tokens" not in first["body"]


def test_a_batch_is_found_by_its_requests_alone(server: BatchServer) -> None:
    batch = at(server).send(pairs(3))
    assert at(server).find(pairs(3)) == batch
    assert at(server).find(pairs(2)) == ""
    assert at(server).find(pairs(3), salt="7") == ""
    assert at(server, attempt=2).find(pairs(3)) == ""
    server.end(batch, lambda _: None, "expired")
    assert at(server).find(pairs(3)) == ""  # it has nothing to find


def test_a_file_that_was_uploaded_and_asked_nothing_is_not_uploaded_again(server: BatchServer) -> None:
    asking = at(server)
    server.batches.pop(asking.send(pairs(3)))
    asking.send(pairs(3))
    assert (len(server.files), len(server.batches)) == (1, 1)


def test_a_file_has_no_more_requests_than_allowed(
    server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_file, "MOST_REQUESTS", 3)
    assert len(server.requests(at(server).send(pairs(5)))) == 3
    monkeypatch.setattr(batch_file, "MOST_BYTES", 2_600)
    assert len(server.requests(at(server).send(pairs(5)))) == 2


def test_a_refused_file_says_why_and_a_full_queue_is_no_refusal(server: BatchServer) -> None:
    asking = at(server)
    batch, other = asking.send(pairs(1)), asking.send(pairs(2))
    server.fail(batch, "invalid_json_line", "line 3 is no JSON")
    server.fail(other, "token_limit_exceeded", "enqueued token limit reached")
    assert asking.state(batch).problem == "line 3 is no JSON"
    assert asking.state(other) == BatchState(has_ended=True, is_refused_for_now=True)
    assert asking.find(pairs(1)) == ""


def test_a_batch_that_is_gone_has_ended(server: BatchServer) -> None:
    assert at(server).state("batch_9").problem == "the server does not know the batch any more"


def test_a_busy_server_is_asked_later_and_one_that_refuses_the_key_not(server: BatchServer) -> None:
    server.status = 503
    with pytest.raises(TryLater, match="status 503"):
        at(server).find(pairs(1))
    server.status = 401
    with pytest.raises(GraderUnavailable, match="status 401"):
        at(server).find(pairs(1))


def test_a_cancelled_batch_is_cancelled_at_the_server(server: BatchServer) -> None:
    asking = at(server)
    batch = asking.send(pairs(1))
    asking.cancel(batch)
    assert server.batches[batch]["status"] == "cancelling"
    assert not asking.state(batch).has_ended


def test_who_waits_for_single_pairs_is_answered_at_once() -> None:
    with serving(lambda *_: says("4")) as server:
        asking = grader(Connection(server.url))
        assert ratings(iter(asking.grade(pairs(2)))) == {"p0": 4, "p1": 4}
        asking.close()


def test_without_an_endpoint_it_says_what_to_set() -> None:
    with pytest.raises(GraderUnavailable, match="RUBRIC_BATCH_FOLDER"):
        grader(Connection(""))


def test_files_go_through_a_folder_as_vllm_reads_and_writes_them(tmp_path: Path) -> None:
    asking = grader(Connection("", batch_folder=str(tmp_path)))
    assert asking.find(pairs(3)) == ""
    batch = asking.send(pairs(3))
    assert asking.find(pairs(3)) == batch
    [file] = (tmp_path / "in").iterdir()
    requests = [json.loads(line) for line in file.read_text().splitlines()]
    lines = [
        json.dumps({"id": "v", "custom_id": request["custom_id"], "response": rates(part(request["body"]))})
        for request in reversed(requests)
    ]
    answers = tmp_path / "out" / file.name
    answers.write_text("\n".join(lines[:2]) + "\n")
    assert not asking.state(batch).has_ended
    answers.write_text("\n".join([*lines[:2], '{"custom_id": ']) + "\n")
    assert asking.state(batch).has_ended
    assert ratings(asking.collect(batch, pairs(3))) == {"p1": 1, "p2": 2}
    answers.write_text("\n".join(lines) + "\n")
    assert ratings(asking.collect(batch, pairs(3))) == {"p0": 0, "p1": 1, "p2": 2}
    asking.cancel(batch)
    assert asking.find(pairs(3)) == ""
