"""The model server that the environment names, the only place of its key."""

from __future__ import annotations

from django.conf import settings

from grading.graders.connection import Connection


def connection() -> Connection | None:
    """Return the OpenAI-compatible server; None if RUBRIC_OPENAI_BASE_URL is not set."""
    if not settings.OPENAI_BASE_URL:
        return None
    return Connection(settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
