"""A model labels citations, in the background: once for all runs, and never more often than it may."""

import pytest

from grading.support import JudgedCitations, Support
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.jobs import limits
from rubricweb.jobs.limits import Limits, change_limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from rubricweb.support import actions
from rubricweb.support.kind import price
from rubricweb.support.models import SupportChunk, SupportLabel
from tests.rubricweb.support.conftest import BREAD, MOON, SUN


class Judge:
    """Says full of the moon, nothing that is a label of bread, and none of all else."""

    def __init__(self):
        self.asked = []

    def complete(self, messages):
        ((_, text),) = messages
        self.asked.append(text)
        if "Statement: The moon" in text:
            return "full_support"
        return "I am not sure." if "Statement: Bread" in text else "Label: no_support"


@pytest.fixture
def judge(monkeypatch):
    made = Judge()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: made)
    return made


def asking(rule=JudgedCitations.ALL, llm="m"):
    return actions.Asking("openai_compatible", llm, rule)


def start(collection, owner, *, rule=JudgedCitations.ALL, most_calls=99, most_dollars=None):
    return actions.start(collection, asking(rule), limits=Limits(most_calls, most_dollars), by=owner)


def work(job):
    for chunk in job.chunks.filter(state=SupportChunk.State.QUEUED):
        work_on("support", chunk.pk)
    job.refresh_from_db()
    return job


def test_each_citation_with_a_text_is_asked_once_for_all_runs(sea, owner, judge, cite):
    job = work(start(sea, owner))
    assert (job.state, job.total, job.calls) == (Job.State.DONE, 4, 4)
    assert {(row.sentence_md5, row.doc_id): row.label for row in SupportLabel.objects.all()} == {
        cite("s1", MOON, "d1")[1:]: Support.FULL,
        cite("s1", MOON, "d2")[1:]: Support.FULL,
        cite("s1", SUN, "d2")[1:]: Support.NONE,
        cite("s2", BREAD, "d3")[1:]: None,
    }
    assert "Statement: The sun helps.\n\nPassage: The sun lifts them a little." in "".join(judge.asked)


def test_a_reply_without_a_label_is_kept_as_failed(sea, owner, judge):
    job = work(start(sea, owner))
    assert SupportLabel.objects.get(label=None).reply == "I am not sure."
    assert [(chunk.size, chunk.done, chunk.failed) for chunk in job.chunks.all()] == [(3, 3, 0), (1, 1, 1)]


def test_only_first_citations_are_asked_where_only_they_are_judged(sea, owner, judge):
    assert work(start(sea, owner, rule=JudgedCitations.FIRST)).calls == 3
    assert work(start(sea, owner)).calls == 1
    with pytest.raises(actions.NothingToAsk):
        start(sea, owner)
    assert len(judge.asked) == 4


def test_a_job_pauses_before_it_asks_more_often_than_it_may(sea, owner, judge):
    job = work(start(sea, owner, most_calls=2))
    assert (job.state, job.calls, len(judge.asked)) == (Job.State.PAUSED, 2, 2)
    assert SupportLabel.objects.count() == 2

    change_limits(job, Limits(9), by=owner)
    assert (work(job).state, job.calls, len(judge.asked)) == (Job.State.DONE, 4, 4)
    assert AuditEntry.objects.filter(verb="limits changed", collection=sea).exists()


def test_a_job_pauses_before_it_spends_more_than_it_may(sea, owner, judge, settings):
    settings.PRICES = settings.REPLY_PRICES = {"m": 100}
    job = work(start(sea, owner, most_dollars=0.06))
    assert (job.state, job.calls, len(judge.asked)) == (Job.State.PAUSED, 3, 3)
    assert job.dollars <= 0.06
    assert job.pause_reason == (
        "It has spent about $0.05 of $0.06, and the next call could cost more than is left."
    )
    change_limits(job, Limits(99, 1.0), by=owner)
    assert (work(job).state, job.calls) == (Job.State.DONE, 4)
    assert 0.06 < job.dollars < 0.1


def test_failed_labels_are_asked_for_again_with_the_reply_that_named_none(sea, owner, judge, monkeypatch):
    before = work(start(sea, owner))
    monkeypatch.setattr(judge, "complete", lambda messages: f"{len(messages)} partial_support")
    job = work(actions.retry_failed(before, limits=Limits(9), by=owner))
    assert (job.state, job.total, job.calls, job.is_retry) == (Job.State.DONE, 1, 1, True)
    label = SupportLabel.objects.get(job=job)
    assert (label.label, label.reply) == (Support.PARTIAL, "3 partial_support")
    with pytest.raises(actions.NothingToAsk):
        actions.retry_failed(before, limits=Limits(9), by=owner)


def test_a_retry_that_fails_again_asks_once_and_may_be_repeated(sea, owner, judge, monkeypatch):
    before = work(start(sea, owner))
    monkeypatch.setattr(judge, "complete", lambda messages: "Hm.")
    job = actions.retry_failed(before, limits=Limits(9), by=owner)
    for chunk in (*job.chunks.all(), *job.chunks.all()):
        work_on("support", chunk.pk)
    job.refresh_from_db()
    assert (job.state, job.calls, job.chunks.get().failed) == (Job.State.DONE, 1, 1)
    assert SupportLabel.objects.get(label=None).reply == "Hm."
    assert actions.retry_failed(job, limits=Limits(9), by=owner).total == 1


def test_what_was_paid_for_is_not_asked_again(sea, owner, judge, monkeypatch):
    job = start(sea, owner)
    monkeypatch.setattr(limits.leases, "finish", lambda lease, **fields: 1 / 0)
    chunk = job.chunks.first()
    work_on("support", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, len(judge.asked)) == (SupportChunk.State.QUEUED, 3)

    monkeypatch.undo()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: judge)
    assert (work(job).state, len(judge.asked)) == (Job.State.DONE, 4)


def test_a_passage_that_a_response_brought_along_is_its_text(sea, owner, judge):
    response = sea.runs.get(run_tag="beta").responses.get(topic__query_id="s2")
    response.documents = {"d9": "Yeast is alive."}
    response.save()
    work(start(sea, owner))
    assert any("Passage: Yeast is alive." in text for text in judge.asked)


def test_runs_that_do_not_count_are_not_asked_about(sea, owner, judge):
    sea.runs.filter(run_tag="alpha").update(state="withdrawn")
    assert start(sea, owner).total == 2


def test_the_price_is_of_what_is_left(sea, owner, judge, settings):
    settings.PRICES = {"m": 1_000_000}
    before = price(sea, asking())
    assert (before.cells, before.seconds) == (4, None)
    assert before.dollars == before.tokens
    work(start(sea, owner, rule=JudgedCitations.FIRST))
    left = price(sea, asking())
    assert left.cells == 1
    assert left.seconds is not None
    assert price(sea, asking(llm="other")).cells == 4


def test_labels_of_another_collection_do_not_count(sea, owner, judge):
    work(start(sea, owner))
    other = Collection.objects.create(slug="other", name="Other")
    assert actions.judge_for(other, asking()) is None
