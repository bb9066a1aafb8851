"""Coroutines in tests: each runs in an event loop of its own, in a thread of its own.

A browser test leaves Playwright's event loop running in the thread of the tests, where no second one can run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Its result."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()  # noqa: TID251 - no loop runs in this thread


def run_views(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Its result; the thread that the views ran in leaves no connection open to the test database."""

    async def run_and_close() -> Result:
        try:
            return await coroutine
        finally:
            await sync_to_async(connections.close_all)()

    return run(run_and_close())
