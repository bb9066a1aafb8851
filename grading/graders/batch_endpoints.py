"""Where files of requests are answered: a vendor's batch endpoint, or a folder of `vllm run-batch`.

Both read and write OpenAI's batch format (https://platform.openai.com/docs/guides/batch): a JSON object a
line with `custom_id`, `method`, `url` and `body`; answers come in any order, in a file of replies and one of
errors. At most 50,000 requests and 200 MB a file. A file is named by its digest: whoever lost track of
a batch finds it, and no file is paid for twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from grading.errors import GraderUnavailable, TryLater
from grading.formats.reading import streamed_lines
from grading.graders.base import BatchState
from grading.graders.connection import Connection
from grading.graders.openai_errors import problem_of

if TYPE_CHECKING:
    from openai.types import Batch

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
URL: Final = "/v1/chat/completions"
DIGEST = "rubricweb_digest"
"""The key of a batch's metadata that has the digest of its file."""
LOOKED_AT = 1_000
"""Batches of the account, newest first, among which an earlier one is looked for."""
ENDED = ("completed", "expired", "cancelled", "failed")
FULL = "token_limit_exceeded"
"""The vendor's error where too much waits in its queue: to be sent later."""


class BatchEndpoint(Protocol):
    """Methods raise GraderUnavailable or TryLater."""

    def find(self, digest: str) -> str: ...

    def send(self, file: Path, digest: str) -> str: ...

    def state(self, batch: str) -> BatchState: ...

    def lines(self, batch: str) -> Iterator[str]:
        """Of all files with answers of a batch that has ended."""
        ...

    def cancel(self, batch: str) -> None: ...

    def close(self) -> None:
        """End the connections; it cannot be asked afterwards."""
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
        """An expired or cancelled batch counts if it has answers."""
        with self._explained():
            for batch in islice(self._api.batches.list(limit=100), LOOKED_AT):
                is_dead = batch.status == "failed" or (batch.status in ENDED and not _answered(batch))
                if (batch.metadata or {}).get(DIGEST) == digest and not is_dead:
                    return batch.id
        return ""

    def send(self, file: Path, digest: str) -> str:
        name = f"rubricweb-{digest}.jsonl"
        with self._explained():
            files = islice(self._api.files.list(purpose="batch"), LOOKED_AT)
            sent = next((each.id for each in files if each.filename == name), None)
            if sent is None:
                with file.open("rb") as requests:
                    sent = self._api.files.create(file=(name, requests), purpose="batch").id
            made = self._api.batches.create(
                input_file_id=sent, endpoint=URL, completion_window="24h", metadata={DIGEST: digest}
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
        """Failures of calls as errors of ours; that something is not there is the caller's to read."""
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
        """All at once: whoever looks into the folder sees a whole file or none."""
        made = self._in / f"{digest}.{os.getpid()}.part"
        made.write_bytes(file.read_bytes())
        made.replace(self._file(digest))
        return digest

    def state(self, batch: str) -> BatchState:
        """It has ended when there are as many answers as requests: vLLM answers each, if with an error."""
        asked, answers = self._file(batch), self._out / f"{batch}.jsonl"
        if not asked.exists():
            return BatchState(True, problem="its file of requests is gone")
        if not answers.exists() or _lines_of(answers) < _lines_of(asked):
            return BatchState(False)
        return BatchState(True, max(0.0, answers.stat().st_mtime - asked.stat().st_mtime))

    def lines(self, batch: str) -> Iterator[str]:
        with (self._out / f"{batch}.jsonl").open("rb") as answers:
            yield from streamed_lines(answers)

    def cancel(self, batch: str) -> None:
        self._file(batch).unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is open."""

    def _file(self, digest: str) -> Path:
        return self._in / f"{digest}.jsonl"


def endpoint(connection: Connection | None) -> BatchEndpoint:
    """The folder where one is set, else the server. Raises GraderUnavailable where there is neither."""
    if connection and connection.batch_folder:
        return FolderEndpoint(Path(connection.batch_folder))
    if connection and connection.addresses:
        return VendorEndpoint(connection)
    raise GraderUnavailable(
        "no batch endpoint is configured; set RUBRIC_OPENAI_BASE_URL, or RUBRIC_BATCH_FOLDER for the files "
        "of vllm run-batch, in the worker's environment"
    )


def _answered(batch: Batch) -> bool:
    return bool(batch.output_file_id or (batch.request_counts and batch.request_counts.completed))


def _lines_of(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)
