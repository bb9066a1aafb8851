"""Ask a model which of two answers is better."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from grading.pairwise import LONGEST_REPLY, PROMPT_ID
from rubricweb.accounts.models import User
from rubricweb.arena.battles import ArenaError, locked_arena
from rubricweb.arena.judges.votes import Judge, missing
from rubricweb.arena.models import JudgedPair, JudgeJob
from rubricweb.core import audit
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection
from rubricweb.jobs import steering
from rubricweb.jobs.steering import Limits


class NothingToJudge(ArenaError):
    """The model has judged, or will judge, every pair of the chosen ones."""

    def __init__(self) -> None:
        super().__init__("This model has judged all of these pairs, or a job is about to ask it.")


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Which model is asked, about which pairs, and how."""

    backend: str
    llm: str
    pairs: JudgeJob.Pairs = JudgeJob.Pairs.VOTED
    longest_reply: int = LONGEST_REPLY
    """In tokens."""

    @property
    def judge(self) -> Judge:
        return Judge(self.backend, self.llm, PROMPT_ID)


@transaction.atomic
def start(collection: Collection, asking: JudgeRequest, *, limits: Limits, by: User | None) -> JudgeJob:
    """Have workers ask the model about each pair that it has not judged. Raises NothingToJudge."""
    locked_arena(collection)  # two jobs that start at once ask about no pair twice
    pairs = missing(collection, asking.judge, asking.pairs)
    if not pairs:
        raise NothingToJudge
    job = JudgeJob(
        collection=collection,
        backend=asking.backend,
        llm=asking.llm,
        prompt_id=asking.judge.prompt_id,
        pairs=asking.pairs,
        longest_reply=asking.longest_reply,
        by=by,
    )
    chunks = [
        JudgedPair(
            size=1,
            topic_id=pair.topic_id,
            left_id=pair.left_id,
            right_id=pair.right_id,
            left_digest=pair.left_digest,
            right_digest=pair.right_digest,
            replies=pair.replies,
        )
        for pair in pairs
    ]
    steering.begin(job, chunks, limits)
    audit.record("votes asked of a model", collection, by=by, detail=f"{job}: {counted(job.total, 'pair')}")
    return job
