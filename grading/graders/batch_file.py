"""Grades by files of requests, answered within a day at half the price, or by `vllm run-batch`.

Requests go to a vendor's batch endpoint or a folder of `vllm run-batch`. Both read and write OpenAI's batch
format (https://platform.openai.com/docs/guides/batch): a JSON object a line with `custom_id`, `method`, `url`
and `body`; answers come in any order, in a file of replies and one of errors. A file has at most 50,000
requests and 200 MB. It is named by its digest, so that a lost batch is found again and no file is paid for
twice.

Jobs use this back-end. `grade`, for callers that wait for single pairs (a dry run), asks the server at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from grading.errors import GraderUnavailable, TryLater
from grading.formats.reading import streamed_lines
from grading.graders import BatchState, GraderSpec, Result, result_without_model, tokens_of_lines, unanswered
from grading.graders.backend_options import ReplyOptions
from grading.graders.completions import error_in, read
from grading.graders.connection import CallProblem, Connection, problem_of, refusal, without
from grading.graders.openai_client import chat
from grading.graders.openai_compatible import ServerGrader, ServerReplies
from grading.graders.replies import NoReply
from grading.types import CellToGrade, Trace

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
URL: Final = "/v1/chat/completions"
DIGEST = "rubricweb_digest"
"""The key of a batch's metadata that has the digest of its file."""
LOOKED_AT = 1_000
"""Batches of the account, newest first, among which an earlier one is looked for."""
ENDED = ("completed", "expired", "cancelled", "failed")
FULL = "token_limit_exceeded"
"""The vendor's error where too much waits in its queue: to be sent later."""


logger = logging.getLogger(__name__)
NOT_ASKED = ("batch_expired", "batch_cancelled")
"""Codes of errors that say that the request was never answered."""
NOTHING_TO_ASK = "none"
"""The batch of pairs that need no model."""


class BatchEndpoint(Protocol):
    """Methods raise GraderUnavailable or TryLater."""

    def find(self, digest: str) -> str: ...

    def send(self, file: Path, digest: str) -> str: ...

    def state(self, batch: str) -> BatchState: ...

    def lines(self, batch: str) -> Iterator[str]:
        """Yield the lines of all files with answers of a batch that has ended."""
        ...

    def cancel(self, batch: str) -> None: ...

    def close(self) -> None:
        """End the connections; the endpoint is not usable afterwards."""
        ...


class VendorEndpoint:
    """`/v1/files` and `/v1/batches` of a vendor, by the openai client."""

    def __init__(self, connection: Connection) -> None:
        try:
            import openai
        except ImportError as error:
            raise GraderUnavailable(
                f"{error}; install the models extra: pip install 'rubricweb[models]'"
            ) from error
        self._connection = connection
        [address, *_] = connection.addresses
        address.check()
        try:
            # No retries: a batch that was made, though the answer was lost, is found by its digest instead.
            self._api = openai.OpenAI(**connection.settings(address), timeout=300.0)
        except (ImportError, ValueError) as error:
            raise GraderUnavailable(
                f"the proxy that the environment names cannot be used: {error}"
            ) from error

    def find(self, digest: str) -> str:
        """Return the batch of a file's digest, or nothing; an expired or cancelled one counts if answered."""
        with self._explained():
            for batch in islice(self._api.batches.list(limit=100), LOOKED_AT):
                is_answered = batch.output_file_id or (
                    batch.request_counts and batch.request_counts.completed
                )
                is_dead = batch.status == "failed" or (batch.status in ENDED and not is_answered)
                if (batch.metadata or {}).get(DIGEST) == digest and not is_dead:
                    return batch.id
        return ""

    def send(self, file: Path, digest: str) -> str:
        name = f"rubricweb-{digest}.jsonl"
        with self._explained():
            files = islice(self._api.files.list(purpose="batch"), LOOKED_AT)
            file_id = next((each.id for each in files if each.filename == name), None)
            if file_id is None:
                with file.open("rb") as requests:
                    file_id = self._api.files.create(file=(name, requests), purpose="batch").id
            made = self._api.batches.create(
                input_file_id=file_id, endpoint=URL, completion_window="24h", metadata={DIGEST: digest}
            )
        return made.id

    def state(self, batch: str) -> BatchState:
        import openai

        try:
            with self._explained():
                now = self._api.batches.retrieve(batch)
        except openai.NotFoundError:
            return BatchState(True, problem="the server does not know the batch any more")
        if now.status == "failed":
            errors = (now.errors and now.errors.data) or []
            if any(error.code == FULL for error in errors):
                return BatchState(True, is_refused_for_now=True)
            return BatchState(
                True, problem="; ".join(error.message or "" for error in errors[:3]) or "failed"
            )
        ended = now.completed_at or now.expired_at or now.cancelled_at
        return BatchState(now.status in ENDED, float((ended or now.created_at) - now.created_at))

    def lines(self, batch: str) -> Iterator[str]:
        with self._explained():
            ended = self._api.batches.retrieve(batch)
            for name in filter(None, (ended.output_file_id, ended.error_file_id)):
                with self._api.files.with_streaming_response.content(name) as answers:
                    yield from streamed_lines(answers.iter_bytes())

    def cancel(self, batch: str) -> None:
        with self._explained():
            if self._api.batches.retrieve(batch).status not in ENDED:
                self._api.batches.cancel(batch)

    def close(self) -> None:
        self._api.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn failures of calls into our errors; that something does not exist is the caller's to read."""
        import openai

        try:
            yield
        except openai.NotFoundError as error:
            if error.request.url.path.endswith(("/batches", "/files")):
                raise GraderUnavailable(f"{self._connection.host} has no batch endpoint") from error
            raise
        except openai.APIError as error:
            problem = self._connection.cleaned(problem_of(error, datetime.now(UTC)))
            raise (TryLater if problem.is_passing else GraderUnavailable)(problem.reason) from error


class FolderEndpoint:
    """Files that somebody has `vllm run-batch -i IN -o OUT` answer: DIGEST.jsonl in `in`, then in `out`."""

    def __init__(self, folder: Path) -> None:
        self._in, self._out = folder / "in", folder / "out"
        try:
            for each in (self._in, self._out):
                each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderUnavailable(f"the folder of batches cannot be used: {error}") from error

    def find(self, digest: str) -> str:
        return digest if self._file(digest).exists() else ""

    def send(self, file: Path, digest: str) -> str:
        """Move the file into the folder at once: whoever looks there sees a whole file or none."""
        made = self._in / f"{digest}.{os.getpid()}.part"
        made.write_bytes(file.read_bytes())
        made.replace(self._file(digest))
        return digest

    def state(self, batch: str) -> BatchState:
        """Return the state: ended with as many answers as requests, since vLLM answers each."""
        requests, answers = self._file(batch), self._out / f"{batch}.jsonl"
        if not requests.exists():
            return BatchState(True, problem="its file of requests is gone")
        if not answers.exists() or _lines_of(answers) < _lines_of(requests):
            return BatchState(False)
        return BatchState(True, max(0.0, answers.stat().st_mtime - requests.stat().st_mtime))

    def lines(self, batch: str) -> Iterator[str]:
        with (self._out / f"{batch}.jsonl").open("rb") as answers:
            yield from streamed_lines(answers)

    def cancel(self, batch: str) -> None:
        self._file(batch).unlink(missing_ok=True)

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def _file(self, digest: str) -> Path:
        return self._in / f"{digest}.jsonl"


def endpoint(connection: Connection | None) -> BatchEndpoint:
    """Return the folder where one is set, else the server.

    Raises GraderUnavailable where there is neither.
    """
    if connection and connection.batch_folder:
        return FolderEndpoint(Path(connection.batch_folder))
    if connection and connection.addresses:
        return VendorEndpoint(connection)
    raise GraderUnavailable(
        "no batch endpoint is configured; set RUBRIC_OPENAI_BASE_URL, or RUBRIC_BATCH_FOLDER for the files "
        "of vllm run-batch, in the worker's environment"
    )


def _lines_of(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


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
        """Take the endpoint. Raises GraderUnavailable where the options are wrong or there is none."""
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
        """Yield the results of a batch, and of pairs that need no model. A damaged line counts as none."""
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
        """Return the pair's result; None where the pair can be sent again."""
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
            call = self._replies.call.longer(tokens_of_lines(pair))
            reply = read(response.body, call.expected)
        except NoReply as no_reply:
            return unanswered(pair, NoReply(self._cleaned(no_reply.problem), raw=no_reply.raw), trace)
        return self._replies.result(pair, trace, reply)

    def _refusal(self, pair: CellToGrade, trace: Trace, problem: CallProblem | None) -> Result | None:
        if problem is None or problem.is_passing:
            return None
        if problem.refuses:
            self._refused.add(problem.refuses)
            return None
        return unanswered(pair, NoReply(self._cleaned(problem)), trace)

    def _cleaned(self, problem: CallProblem) -> CallProblem:
        return self._connection.cleaned(problem) if self._connection else problem

    def _custom_id(self, pair: CellToGrade, salt: str) -> str:
        """Return an id as short as some vendors want it, the same whenever this grader sends this pair."""
        parts = (self._fingerprint, salt, pair.item.item_id, pair.passage.passage_id)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    @contextmanager
    def _written(self, pairs: Sequence[CellToGrade], salt: str) -> Iterator[tuple[Path, str]]:
        """Yield the requests as a file, and its SHA-256 (hex); as many as a file may have."""
        refused, options = sorted(self._refused), self._replies.call
        digest, size = hashlib.sha256(), 0
        with tempfile.NamedTemporaryFile(prefix="rubricweb-batch-", suffix=".jsonl") as file:
            open_pairs = (pair for pair in pairs if not result_without_model(self._replies.prompt, pair))
            for number, pair in enumerate(open_pairs):
                messages = chat(self._replies.messages(pair, None))
                parameters = without(options.longer(tokens_of_lines(pair)).parameters(), refused)
                request = {
                    "custom_id": self._custom_id(pair, salt),
                    "method": "POST",
                    "url": URL,
                    "body": {"messages": messages, **parameters},
                }
                line = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                if number == MOST_REQUESTS or size + len(line) > MOST_BYTES:
                    break
                file.write(line)
                digest.update(line)
                size += len(line)
            file.flush()
            yield Path(file.name), digest.hexdigest()


def _read(line: str) -> _Answer | None:
    try:
        # By Python's own reader, which takes NaN and halves of characters: the gate says what they are.
        return msgspec.convert(json.loads(line), _Answer) if line.strip() else None
    except (ValueError, RecursionError, msgspec.MsgspecError):
        logger.warning("a line of a batch's answers cannot be read")
        return None
