"""Ask a model about two answers as a kind of background work, a pair a chunk, and price it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy

from grading import pairwise
from grading.graders.replies import NoReply
from grading.pairwise import Preference, pairwise_prompt
from rubricweb.arena.actions import JudgeRequest
from rubricweb.arena.answers import answer_words
from rubricweb.arena.judges import ORDERS, PairJudgment, Side, missing
from rubricweb.arena.models import JudgedPair, JudgeJob, digest_of
from rubricweb.corpus.models import Collection, Response
from rubricweb.corpus.writers import Writer, limited_writer
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import (
    CHARS_A_TOKEN,
    AskingKind,
    ExpectedCost,
    KeptReplies,
    price_of_calls,
)
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.progress import Price, rate_of, seconds_for
from rubricweb.webhooks import actions as webhooks

WORD_CHARS = 6
"""Characters of an English word with its blank."""
VERDICT_TOKENS = 5
"""Tokens of a usual reply."""
REPLACED = "an answer was replaced before the model was asked"
NO_VERDICT = "the reply names no verdict"
SIDES: Mapping[Preference, Side] = {
    Preference.FIRST: "left",
    Preference.SECOND: "right",
    Preference.TIE: "tie",
}


def price(collection: Collection, asking: JudgeRequest) -> Price:
    """Return the price of two calls for each pair that the model has not judged."""
    pairs = missing(collection, asking.judge, asking.pairs)
    lengths = answer_words(collection)
    of_answers = sum(
        lengths.get((run, pair.topic_id), 0) for pair in pairs for run in (pair.left_id, pair.right_id)
    )
    return _price(asking, len(pairs), of_answers)


def price_of_job(job: JudgeJob) -> Price:
    """Return the price of the whole job, whatever is done."""
    lengths = answer_words(job.collection)
    rows = job.chunks.values_list("topic", "left", "right")
    of_answers = sum(lengths.get((run, topic), 0) for topic, *runs in rows for run in runs)
    return _price(JudgeRequest(job.backend, job.llm), job.total, of_answers)


def _price(asking: JudgeRequest, pairs: int, n_words: int) -> Price:
    calls = ORDERS * pairs
    chars = calls * len(pairwise_prompt().template) + ORDERS * n_words * WORD_CHARS
    read, written = chars / CHARS_A_TOKEN, calls * VERDICT_TOKENS
    model = asking.backend, asking.llm
    seconds = seconds_for(pairs, _rate(*model))
    return price_of_calls(*model, calls=calls, read=read, written=written, seconds=seconds)


def _rate(backend: str, llm: str) -> float | None:
    """Return the pairs a second of one worker in the model's latest chunks; None if it never judged."""
    return rate_of(JudgedPair.objects.filter(job__backend=backend, job__llm=llm))


class PairVotes(AskingKind[JudgedPair]):
    name = "pair-vote"
    model = JudgedPair
    related = ("job__collection", "topic")
    payload = ("replies", "result")
    activity = "judging of answers"
    saves_batches = True

    def ask(self, lease: Lease[JudgedPair], chunk: JudgedPair) -> dict[str, Any]:
        result = _judged(lease, chunk)
        return {"result": result, "done": 1, "failed": int(bool(result["problem"]))}

    def label(self, work: JudgedPair) -> str:
        return f"votes of {work.job.llm}, topic {work.topic.query_id}"

    def on_finished(self, job: JudgeJob) -> None:
        page = lazy(page_of, str)(job)
        webhooks.job_ended(job, job.collection, kind="votes", page=page)


def _judged(lease: Lease[JudgedPair], pair: JudgedPair) -> PairJudgment:
    """Return the verdicts in both orders, by side; after one that cannot be read nothing more is asked.

    Each reply is stored as it comes (`KeptReplies`), so that whoever takes over asks only for the other one.
    """
    texts = _texts(pair)
    if texts is None:
        return _result(["", ""], REPLACED)
    prompt = pairwise_prompt(pair.job.prompt_id)
    job = pair.job
    writer = Writer(job.backend, job.llm)
    model = limited_writer(job, job.collection, writer, longest_reply=job.longest_reply)
    llm = KeptReplies(model, lease, pair)
    verdicts: list[Side] = ["", ""]
    for place, (first, second) in enumerate((texts, texts[::-1])):
        try:
            reply = llm.complete(pairwise.question(pair.topic.text, first, second, prompt))
        except NoReply as error:
            if not error.is_of_prompt:
                raise
            return _result(verdicts, str(error))
        preference = pairwise.preference_of(reply)
        if preference is None:
            return _result(verdicts, NO_VERDICT)
        verdicts[place] = SIDES[preference.swapped if place else preference]
    return _result(verdicts, "")


def _result(verdicts: list[Side], problem: str) -> PairJudgment:
    first, second = verdicts
    return {"verdicts": (first, second), "problem": problem, "at": timezone.now().isoformat()}


def _texts(pair: JudgedPair) -> tuple[str, str] | None:
    """Return both answers without citations, left first; None if one was replaced or removed since."""
    rows = Response.objects.filter(topic=pair.topic_id, run__in=(pair.left_id, pair.right_id))
    by_run = {row.run_id: row for row in rows}
    sides = [by_run.get(pair.left_id), by_run.get(pair.right_id)]
    if [row and digest_of(row) for row in sides] != [pair.left_digest, pair.right_digest]:
        return None
    left, right = (" ".join(sentence["text"] for sentence in row.sentences) for row in sides if row)
    return left, right


def page_of(job: JudgeJob) -> str:
    """Return the address of the page of judges with this job opened on it."""
    return f"{reverse('arena:judges', args=[job.collection.slug])}?job={job.pk}#job"


LISTING = Listing(
    kind="votes",
    unit="pair",
    jobs=lambda key: JudgeJob.objects.filter(collection=key).select_related("collection", "by"),
    name=lambda job: f"Ask {job.llm} for votes",
    does=lambda job: job.get_pairs_display(),
    address=page_of,
    rate=lambda job: _rate(job.backend, job.llm),
    expected=lambda job: ExpectedCost.of(price_of_job(job)),
    is_for_organizers=True,
)
