"""Graders: each rates, or answers, items against passages. `registry.build` makes one from its GraderSpec."""

from grading.graders.base import JSON, Grader, GraderSpec
from grading.graders.connection import Connection
from grading.graders.registry import BACKENDS, IMPORTED, Backend, backend_for, build, known_backends

__all__ = [
    "BACKENDS",
    "IMPORTED",
    "JSON",
    "Backend",
    "Connection",
    "Grader",
    "GraderSpec",
    "backend_for",
    "build",
    "known_backends",
]
