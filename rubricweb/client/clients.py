"""The clients: one waits for answers, the other awaits them. Their methods are `calls` and `panel_calls`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self, TypeVar

import httpx

from rubricweb.client import calls, panel_calls
from rubricweb.client.core import (
    LOST,
    Answer,
    Listing,
    Misconfigured,
    NextLine,
    Opening,
    Pause,
    Request,
    Rows,
    Steps,
    async_call,
    async_listing,
    call,
    listing,
    resume,
)

API = "/api/v1/"
TOKEN, ADDRESS = "RUBRIC_TOKEN", "RUBRIC_URL"
TIMEOUT = 60.0
"""Seconds for a connection, and between two parts of an answer."""

T = TypeVar("T")


class Client:
    """Waits for each answer. Use it in a `with`, or `close` it."""

    request = call(calls.request)
    collections = listing(calls.collections)
    collection = call(calls.collection)
    topics = listing(calls.topics)
    topic = call(calls.topic)
    pool = listing(calls.pool)
    passage = call(calls.passage)
    runs = listing(calls.runs)
    banks = listing(calls.banks)
    items = listing(calls.items)
    item = call(calls.item)
    item_history = listing(calls.item_history)
    add_item = call(calls.add_item)
    reword_item = call(calls.reword_item)
    weigh_item = call(calls.weigh_item)
    retire_item = call(calls.retire_item)
    restore_item = call(calls.restore_item)
    versions = listing(calls.versions)
    graders = listing(calls.graders)
    panels = call(panel_calls.panels)
    form_panel = call(panel_calls.form_panel)
    combine_panel = call(panel_calls.combine_panel)
    grades = listing(calls.grades)
    ratings = listing(calls.ratings)
    rate = call(calls.rate)
    board = call(calls.board)
    qrels = call(calls.qrels)
    jobs = listing(calls.jobs)
    plan = call(calls.plan)
    start_grading = call(calls.start_grading)
    grade_answer = call(calls.grade_answer)
    job = call(calls.job)
    steer_job = call(calls.steer_job)
    wait_for_job = call(calls.wait_for_job)
    comparison = call(calls.comparison)
    what_if = call(calls.what_if)
    impact = call(calls.impact)
    imports = listing(calls.imports)
    read_import = call(calls.read_import)
    upload_files = call(calls.upload_files)
    describe_file = call(calls.describe_file)
    check_import = call(calls.check_import)
    start_import = call(calls.start_import)
    undo_import = call(calls.undo_import)
    wait_for_import = call(calls.wait_for_import)
    responses = listing(calls.responses)
    flags = listing(calls.flags)
    campaigns = listing(calls.campaigns)
    campaign = call(calls.campaign)
    submissions = listing(calls.submissions)
    submit = call(calls.submit)
    submission = call(calls.submission)
    releases = listing(calls.releases)
    release = call(calls.release)
    release_file = call(calls.release_file)

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Connect to the server at `url` with `token`, by default those of RUBRIC_URL and RUBRIC_TOKEN.

        `transport` is httpx's. Raises Misconfigured where the address or the token is missing.
        """
        settings = _settings(url, token, timeout)
        self._http = httpx.Client(**settings, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _run(self, steps: Steps[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = resume(steps, answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = self._answer(step)

    def _rows(self, steps: Listing[T]) -> Iterator[T]:
        opened: httpx.Response | None = None
        lines: Iterator[str] = iter(())
        answer: Answer = None
        try:
            while (step := _next_step(steps, answer)) is not None:
                answer = None
                if isinstance(step, Rows):
                    yield from step.rows
                elif isinstance(step, NextLine):
                    answer = _next(lines)
                else:
                    answer = self._answer(step)
                    if isinstance(step, Opening) and isinstance(answer, httpx.Response):
                        opened, lines = answer, _lines(answer.iter_bytes())
        finally:
            if opened is not None:
                opened.close()

    def _answer(self, step: Request | Pause) -> Answer:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            response = self._http.send(_built(self._http, step), stream=isinstance(step, Opening))
            if response.is_error:
                response.read()
        except LOST as error:
            return error
        return response


class AsyncClient:
    """Awaits each answer, with the methods of `Client`. Use it in an `async with`, or `aclose` it."""

    request = async_call(calls.request)
    collections = async_listing(calls.collections)
    collection = async_call(calls.collection)
    topics = async_listing(calls.topics)
    topic = async_call(calls.topic)
    pool = async_listing(calls.pool)
    passage = async_call(calls.passage)
    runs = async_listing(calls.runs)
    banks = async_listing(calls.banks)
    items = async_listing(calls.items)
    item = async_call(calls.item)
    item_history = async_listing(calls.item_history)
    add_item = async_call(calls.add_item)
    reword_item = async_call(calls.reword_item)
    weigh_item = async_call(calls.weigh_item)
    retire_item = async_call(calls.retire_item)
    restore_item = async_call(calls.restore_item)
    versions = async_listing(calls.versions)
    graders = async_listing(calls.graders)
    panels = async_call(panel_calls.panels)
    form_panel = async_call(panel_calls.form_panel)
    combine_panel = async_call(panel_calls.combine_panel)
    grades = async_listing(calls.grades)
    ratings = async_listing(calls.ratings)
    rate = async_call(calls.rate)
    board = async_call(calls.board)
    qrels = async_call(calls.qrels)
    jobs = async_listing(calls.jobs)
    plan = async_call(calls.plan)
    start_grading = async_call(calls.start_grading)
    grade_answer = async_call(calls.grade_answer)
    job = async_call(calls.job)
    steer_job = async_call(calls.steer_job)
    wait_for_job = async_call(calls.wait_for_job)
    comparison = async_call(calls.comparison)
    what_if = async_call(calls.what_if)
    impact = async_call(calls.impact)
    imports = async_listing(calls.imports)
    read_import = async_call(calls.read_import)
    upload_files = async_call(calls.upload_files)
    describe_file = async_call(calls.describe_file)
    check_import = async_call(calls.check_import)
    start_import = async_call(calls.start_import)
    undo_import = async_call(calls.undo_import)
    wait_for_import = async_call(calls.wait_for_import)
    responses = async_listing(calls.responses)
    flags = async_listing(calls.flags)
    campaigns = async_listing(calls.campaigns)
    campaign = async_call(calls.campaign)
    submissions = async_listing(calls.submissions)
    submit = async_call(calls.submit)
    submission = async_call(calls.submission)
    releases = async_listing(calls.releases)
    release = async_call(calls.release)
    release_file = async_call(calls.release_file)

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Connect with the same arguments as `Client`."""
        settings = _settings(url, token, timeout)
        self._http = httpx.AsyncClient(**settings, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _run(self, steps: Steps[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = resume(steps, answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = await self._answer(step)

    async def _rows(self, steps: Listing[T]) -> AsyncIterator[T]:
        opened: httpx.Response | None = None
        lines: AsyncIterator[str] | None = None
        answer: Answer = None
        try:
            while (step := _next_step(steps, answer)) is not None:
                answer = None
                if isinstance(step, Rows):
                    for row in step.rows:
                        yield row
                elif isinstance(step, NextLine):
                    answer = await _anext(lines)
                else:
                    answer = await self._answer(step)
                    if isinstance(step, Opening) and isinstance(answer, httpx.Response):
                        opened, lines = answer, _alines(answer.aiter_bytes())
        finally:
            if opened is not None:
                await opened.aclose()

    async def _answer(self, step: Request | Pause) -> Answer:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            response = await self._http.send(_built(self._http, step), stream=isinstance(step, Opening))
            if response.is_error:
                await response.aread()
        except LOST as error:
            return error
        return response


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield lines as bytes are split: httpx also splits at characters that JSON has as they are (U+2028)."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
    if rest:
        yield rest.decode()


async def _alines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the lines of a response, like `_lines`."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
    if rest:
        yield rest.decode()


def _settings(url: str | None, token: str | None, timeout: float) -> dict[str, Any]:
    url, token = url or os.environ.get(ADDRESS), token or os.environ.get(TOKEN)
    missing = [name for name, value in ((ADDRESS, url), (TOKEN, token)) if not value]
    if missing or not url:
        raise Misconfigured(f"{' and '.join(missing)}: neither given nor in the environment")
    headers = {"Authorization": f"Bearer {token}"}
    return {"base_url": url.rstrip("/") + API, "headers": headers, "timeout": timeout}


def _built(http: httpx.Client | httpx.AsyncClient, step: Request) -> httpx.Request:
    content: dict[str, Any] = {"json": step.body}
    if step.files:
        content = {"data": step.body, "files": [("file", named) for named in step.files]}
    return http.build_request(
        step.method, step.path, params=step.query, headers=dict(step.headers), **content
    )


def _next_step(steps: Listing[T], answer: Answer) -> Request | NextLine | Pause | Rows[T] | None:
    """Return the next step of a listing; None at its end."""
    try:
        return resume(steps, answer)
    except StopIteration:
        return None


def _next(lines: Iterator[str]) -> Answer:
    try:
        return next(lines, None)
    except LOST as error:
        return error


async def _anext(lines: AsyncIterator[str] | None) -> Answer:
    try:
        return None if lines is None else await anext(lines, None)
    except LOST as error:
        return error
