"""Read and change a workbench from Python, through its API: `Client`, and `AsyncClient` for asyncio.

Imports nothing of Django. docs/help/programs.md shows it in use.

    with Client("https://rubric.example.org", token) as rubric:
        board = rubric.board("rag25", measure="rubric_cover")
        print(to_pandas(board))
"""

from rubricweb.client.clients import AsyncClient, Client
from rubricweb.client.core import (
    ChangedMeanwhile,
    ClientError,
    Conflict,
    Forbidden,
    Invalid,
    JobEnded,
    Misconfigured,
    NotFound,
    NotSignedIn,
    ProblemAnswer,
    StillRunning,
    TooManyRequests,
    Unreachable,
)
from rubricweb.client.rows import to_pandas

__all__ = [
    "AsyncClient",
    "ChangedMeanwhile",
    "Client",
    "ClientError",
    "Conflict",
    "Forbidden",
    "Invalid",
    "JobEnded",
    "Misconfigured",
    "NotFound",
    "NotSignedIn",
    "ProblemAnswer",
    "StillRunning",
    "TooManyRequests",
    "Unreachable",
    "to_pandas",
]
