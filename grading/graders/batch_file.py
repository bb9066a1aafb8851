"""Grades by files of requests, which are answered within a day at half the price, or by `vllm run-batch`.

The back-end of jobs. `grade`, for whoever waits for single pairs (a dry run), asks the server at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from grading.graders.backend_options import ReplyOptions
from grading.graders.base import BatchState, GraderSpec, Result, result_without_model, unanswered
from grading.graders.batch_endpoints import MOST_BYTES, MOST_REQUESTS, URL, endpoint
from grading.graders.completions import error_in, read
from grading.graders.connection import Connection
from grading.graders.openai_client import chat
from grading.graders.openai_compatible import ServerGrader, ServerReplies
from grading.graders.openai_errors import Problem, refusal, without
from grading.graders.replies import NoReply
from grading.types import CellToGrade, Trace

logger = logging.getLogger(__name__)

NOT_ASKED = ("batch_expired", "batch_cancelled")
"""Codes of errors that say that the request was never answered."""

NOTHING_TO_ASK = "none"
"""The batch of pairs that need no model."""


class _Response(msgspec.Struct):
    status_code: int = 200
    body: Any = None


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Answer(msgspec.Struct):
    """A line of a file of answers."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


class BatchFileGrader:
    """See `base.BatchGrader`."""

    def __init__(self, spec: GraderSpec, connection: Connection | None) -> None:
        """Raises GraderUnavailable where the options are wrong or there is no endpoint."""
        self.spec, self._connection, self._fingerprint = spec, connection, spec.fingerprint
        self._replies = ServerReplies(spec, ReplyOptions.of(spec))
        self._endpoint = endpoint(connection)
        self._refused: set[str] = set()
        """Settings that the server was found to refuse."""
        self._at_once: ServerGrader | None = None

    @property
    def device(self) -> str:
        where = self._connection.batch_folder or self._connection.host if self._connection else ""
        return f"batches of {where}"

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Result]:
        """Ask the server at once, at its full price."""
        if self._at_once is None:
            self._at_once = ServerGrader(self.spec, self._connection)
        return self._at_once.grade(pairs)

    def close(self) -> None:
        self._endpoint.close()
        if self._at_once:
            self._at_once.close()

    def find(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        with self._written(pairs, salt) as (file, digest):
            return self._endpoint.find(digest) if file.stat().st_size else ""

    def send(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        with self._written(pairs, salt) as (file, digest):
            if not file.stat().st_size:
                return NOTHING_TO_ASK
            return self._endpoint.send(file, digest)

    def state(self, batch: str) -> BatchState:
        return BatchState(True) if batch == NOTHING_TO_ASK else self._endpoint.state(batch)

    def cancel(self, batch: str) -> None:
        if batch != NOTHING_TO_ASK:
            self._endpoint.cancel(batch)

    def collect(self, batch: str, pairs: Sequence[CellToGrade], salt: str = "") -> Iterator[Result]:
        """Also yields what needs no model. A damaged line is as good as none."""
        left: dict[str, CellToGrade] = {}
        for pair in pairs:
            if settled := result_without_model(self._replies.prompt, pair):
                yield settled
            else:
                left[self._custom_id(pair, salt)] = pair
        for line in self._endpoint.lines(batch) if left else ():
            answer = _read(line)
            pair_of_line = left.pop(answer.custom_id, None) if answer else None
            if answer and pair_of_line and (result := self._result(pair_of_line, answer)):
                yield result

    def _result(self, pair: CellToGrade, answer: _Answer) -> Result | None:
        """None where the pair can be asked about again."""
        trace = Trace("\n".join(text for _, text in self._replies.messages(pair, None)), "")
        response, error = answer.response, answer.error or _Error()
        if response is None or response.body is None:
            message = error.message or error.code or "no answer"
            problem = refusal(503, message, f"{message} {error.code or ''}")
            return None if error.code in NOT_ASKED else self._refusal(pair, trace, problem)
        if response.status_code != 200:
            body = response.body if isinstance(response.body, dict) else {"error": response.body}
            return self._refusal(pair, trace, error_in(body, response.status_code))
        try:
            reply = read(response.body, self._replies.call.expected)
        except NoReply as no_reply:
            return unanswered(pair, NoReply(self._cleaned(no_reply.problem), raw=no_reply.raw), trace)
        return self._replies.result(pair, trace, reply)

    def _refusal(self, pair: CellToGrade, trace: Trace, problem: Problem | None) -> Result | None:
        if problem is None or problem.is_passing:
            return None
        if problem.refuses:
            self._refused.add(problem.refuses)
            return None
        return unanswered(pair, NoReply(self._cleaned(problem)), trace)

    def _cleaned(self, problem: Problem) -> Problem:
        return self._connection.cleaned(problem) if self._connection else problem

    def _custom_id(self, pair: CellToGrade, salt: str) -> str:
        """Short, as some vendors want it, and the same whenever this grader asks this pair."""
        parts = (self._fingerprint, salt, pair.item.item_id, pair.passage.passage_id)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    @contextmanager
    def _written(self, pairs: Sequence[CellToGrade], salt: str) -> Iterator[tuple[Path, str]]:
        """The requests as a file, and its SHA-256 (hex); as many as a file may have."""
        parameters = without(self._replies.call.parameters(), sorted(self._refused))
        digest, size = hashlib.sha256(), 0
        with tempfile.NamedTemporaryFile(prefix="rubricweb-batch-", suffix=".jsonl") as file:
            asked = (pair for pair in pairs if not result_without_model(self._replies.prompt, pair))
            for number, pair in enumerate(asked):
                messages = chat(self._replies.messages(pair, None))
                line = _request(self._custom_id(pair, salt), {"messages": messages, **parameters})
                if number == MOST_REQUESTS or size + len(line) > MOST_BYTES:
                    break
                file.write(line)
                digest.update(line)
                size += len(line)
            file.flush()
            yield Path(file.name), digest.hexdigest()


def _request(name: str, body: dict[str, Any]) -> bytes:
    request = {"custom_id": name, "method": "POST", "url": URL, "body": body}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read(line: str) -> _Answer | None:
    try:
        # By Python's own reader, which takes NaN and halves of characters: the gate says what they are.
        return msgspec.convert(json.loads(line), _Answer) if line.strip() else None
    except (ValueError, RecursionError, msgspec.MsgspecError):
        logger.warning("a line of a batch's answers cannot be read")
        return None
