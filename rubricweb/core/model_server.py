"""The model server that the environment names; its key is nowhere else."""

from __future__ import annotations

from django.conf import settings

from grading.graders.connection import Connection


def connection() -> Connection | None:
    """Where to ask an OpenAI-compatible server; None where RUBRIC_OPENAI_BASE_URL is not set."""
    if not settings.OPENAI_BASE_URL:
        return None
    return Connection(settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY)
