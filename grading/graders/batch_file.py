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
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from grading.graders.backend_options import ReplyOptions
from grading.graders.base import BatchState, GraderSpec, result_without_model
from grading.graders.batch_endpoints import MOST_BYTES, MOST_REQUESTS, URL, endpoint
from grading.graders.connection import Connection
from grading.graders.openai_client import CallFailed, chat, completion_of, refused_name, without
from grading.graders.openai_compatible import ServerGrader
from grading.graders.openai_errors import refusal
from grading.graders.results import Result, failed
from grading.graders.server_replies import ServerReplies
from grading.types import CellToGrade, Trace

logger = logging.getLogger(__name__)

NOT_ASKED = ("batch_expired", "batch_cancelled")
"""Codes of errors that say that the request was never answered."""

NOTHING_TO_ASK = "none"
"""The batch of pairs that need no model."""


class _Response(msgspec.Struct):
    status_code: int = 200
    body: dict[str, Any] | None = None


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Answer(msgspec.Struct):
    """A line of a file of answers."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


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
        if answer.response is None or answer.response.body is None:
            return self._refusal(pair, trace, answer.error or _Error())
        if answer.response.status_code != 200:
            error = answer.response.body.get("error") or answer.response.body
            words = msgspec.convert(error, _Error, strict=False) if isinstance(error, dict) else _Error()
            return self._refusal(pair, trace, words, answer.response.status_code)
        try:
            completion = completion_of(answer.response.body)
        except CallFailed as error:
            return failed(pair, str(error), error.error_class, trace)
        return self._replies.result(pair, replace(trace, reply=completion.text), completion)

    def _refusal(self, pair: CellToGrade, trace: Trace, error: _Error, status: int = 503) -> Result | None:
        message = error.message or error.code or "no answer"
        problem = refusal(status, message, f"{message} {error.code or ''}")
        if name := refused_name(problem):
            self._refused.add(name)
            return None
        if problem.is_passing or error.code in NOT_ASKED:
            return None
        return failed(pair, problem.reason, problem.error_class, trace)

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
        return _ANSWER.decode(line) if line.strip() else None
    except msgspec.MsgspecError:
        logger.warning("a line of a batch's answers cannot be read")
        return None
