"""An extraction that is retried brings its verification along; no verdict of an earlier answer stays."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from grading.types import Grade as Graded, Outcome
from rubricweb.grades import actions, one_answer
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import price_of_cell, rates_of_again
from rubricweb.grades.models import Grade, GradingJob
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.answering import (
    EXTRACTING,
    again,
    answering,
    asking,
    graded,
    press,
    silent,
    work,
)
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
JobState = GradingJob.State


@pytest.fixture
def collection(collection, monkeypatch, redis_server, settings):
    with answering(collection, monkeypatch, settings):
        yield collection


@pytest.fixture
def failed(collection):
    """No answer could be extracted."""
    scripted.SCRIPT.append(silent)
    extraction, verification = press(collection)
    work(extraction)
    assert again(verification).state == JobState.CANCELLED
    scripted.SCRIPT.append(graded)
    return extraction


@pytest.fixture
def answered(collection):
    """Everything is extracted and verified."""
    extraction, verification = press(collection)
    work(extraction)
    work(again(verification))
    return extraction


def verdicts(collection):
    return Grade.objects.by(active_configs(collection)[1])


def test_the_price_of_a_retry_has_what_verifies_its_answers(collection, failed):
    """Five of the ten extractions that failed are of questions with an answer key."""
    retry = monitor.retry_of(failed)
    assert (retry.cells, retry.price.cells) == (10, 15)
    scope = monitor.Scope(None, None)
    assert monitor.gap(collection, scope).failed.price.cells == 15
    assert sum(part.cells for part in monitor.to_retry(collection, scope)) == 15, "what a limit is kept for"


def test_the_price_of_one_answer_has_its_verification(collection, answered):
    extracting, verifying = active_configs(collection)
    rates = rates_of_again(collection, extracting)
    assert list(rates) == [extracting, verifying]
    grade = of_question_with_key(collection, answered)
    alone = price_of_cell(grade, {extracting: None}), price_of_cell(grade, {verifying: None})
    together = price_of_cell(grade, rates)
    assert (together.tokens or 0) == sum(each.tokens or 0 for each in alone)
    assert list(rates_of_again(collection, verifying)) == [verifying]


def of_question_with_key(collection, job):
    passage = collection.topics.get().pool.first().passage
    item = collection.banks.get().items.first()
    return job.grades.select_related("config", "revision", "passage", "topic__collection").get(
        revision=item.revision, passage=passage
    )


@pytest.mark.parametrize(
    "retry",
    [
        lambda collection, job: actions.retry_failed(collection, by=None),
        lambda collection, job: actions.retry_failed(collection, by=None, configs=[job.config]),
        lambda collection, job: actions.retry_failed_of(job, by=None),
    ],
    ids=["of the collection", "of the extracting grader", "of the job"],
)
def test_what_a_retry_extracts_is_verified(collection, failed, retry):
    extraction, verification = retry(collection, failed)
    assert (extraction.is_retry, extraction.total, extraction.state) == (True, 10, JobState.QUEUED)
    assert (verification.is_retry, verification.total, verification.state) == (False, 5, JobState.WAITING)
    assert verification.after == extraction
    assert press(collection) == [], "Re-grade has nothing to add"
    work(extraction)
    assert work(again(verification)).state == JobState.DONE
    assert list(verdicts(collection).values_list("rating", flat=True)) == [1] * 5


def test_what_a_retry_extracts_of_an_answer_in_no_pool_is_verified(collection):
    bank = collection.banks.get()
    topic = bank.items.first().topic
    answer = one_answer.store_answer(bank, topic, ["Anthocyanin does.", "Frost."], citations=[])
    scripted.SCRIPT.append(silent)
    for job in actions.start_plan(answer.plan(), by=None):
        work(again(job))
    scripted.SCRIPT.append(graded)
    assert [len(item.grades) for item in answer.items()] == [2, 0], "the failed extractions are shown"
    extraction, verification = actions.grade_cells(collection, missing=[], failed=answer.failed(), by=None)
    assert (extraction.total, verification.total, verification.after) == (2, 2, extraction)
    work(extraction)
    work(again(verification))
    assert answer.state() == "graded"
    assert list(verdicts(collection).values_list("rating", flat=True)) == [1, 1]


def test_what_fails_again_is_not_verified(collection, failed):
    def first_passage_only(number, pair):
        yield from graded(number, pair) if number < 2 else silent(number, pair)

    scripted.SCRIPT.append(first_passage_only)
    extraction, verification = actions.retry_failed(collection, by=None)
    work(extraction)
    assert Grade.objects.by(extraction.config).filter(outcome=Outcome.EXTRACTED).count() == 6
    assert again(verification).total == 3


def test_only_the_retried_scope_is_verified(collection, failed):
    first = collection.banks.get().items.first()
    items = collection.banks.get().items
    assert [
        job.total for job in actions.retry_failed(collection, by=None, items=items.exclude(pk=first.pk))
    ] == [5]
    assert [job.total for job in actions.retry_failed(collection, by=None)] == [5, 5]


def test_nothing_is_verified_where_settings_ask_no_verification(collection, failed):
    asking(collection, "scripted", EXTRACTING)
    (extraction,) = actions.retry_failed(collection, by=None)
    assert extraction.total == 10


def test_again_on_a_failed_cell(collection, failed):
    extraction, verification = actions.ask_again(of_question_with_key(collection, failed), by=None)
    assert (extraction.total, extraction.is_again, verification.total) == (1, False, 1)
    work(extraction)
    assert work(again(verification)).state == JobState.DONE
    assert verdicts(collection).get().rating == 1


class TestAgainOnAnAnswer:
    def test_another_answer_gets_another_verdict(self, collection, answered):
        def otherwise(number, pair):
            cell = (pair.item.item_id, pair.passage.passage_id)
            if pair.answer is None:
                yield Graded(*cell, None, Outcome.EXTRACTED, "frost")
            else:
                yield Graded(*cell, 0, Outcome.NUMERIC, pair.answer)

        scripted.SCRIPT.append(otherwise)
        extraction, verification = actions.ask_again(of_question_with_key(collection, answered), by=None)
        assert (extraction.is_again, verification.is_again) == (True, False)
        work(extraction)
        assert verdicts(collection).count() == 4, "the verdict of the earlier answer is gone"
        work(again(verification))
        said = verdicts(collection).order_by("rating", "pk").values_list("rating", "answer")
        assert list(said) == [(0, "frost"), *[(1, "anthocyanin")] * 4]

    def test_the_same_answer_keeps_its_verdict(self, collection, answered):
        told = []

        def counted(number, pair):
            told.append(pair.answer)
            yield from graded(number, pair)

        before = set(verdicts(collection).values_list("pk", flat=True))
        scripted.SCRIPT.append(counted)
        extraction, verification = actions.ask_again(of_question_with_key(collection, answered), by=None)
        work(extraction)
        assert work(again(verification)).state == JobState.DONE
        assert set(verdicts(collection).values_list("pk", flat=True)) == before
        assert told == [None], "nobody was asked to verify it again"

    def test_a_failure_keeps_both(self, collection, answered):
        scripted.SCRIPT.append(silent)
        extraction, verification = actions.ask_again(of_question_with_key(collection, answered), by=None)
        work(extraction)
        assert work(again(verification)).state == JobState.DONE
        assert verdicts(collection).filter(rating=1).count() == 5

    def test_a_verdict_of_what_changed_meanwhile_fails(self, collection, answered):
        """The model was told an answer that became another one before it replied."""
        cell = of_question_with_key(collection, answered)

        def overtaken(number, pair):
            Grade.objects.filter(pk=cell.pk).update(answer="frost")
            yield from graded(number, pair)

        verdict = (
            verdicts(collection)
            .select_related("revision", "passage", "topic__collection")
            .get(passage=cell.passage)
        )
        verdicts(collection).filter(pk=verdict.pk).update(outcome=Outcome.FAILED, rating=None)
        scripted.SCRIPT.append(overtaken)
        (retry,) = actions.retry_failed(collection, by=None)
        work(retry)
        found = verdicts(collection).get(pk=verdict.pk)
        assert (found.outcome, found.reply) == (
            Outcome.FAILED,
            "The extracted answer changed while the model was asked.",
        )


def test_people_are_told_of_both(collection, failed, client_of, owner):
    said = markup(
        client_of(owner).post(f"/collections/{collection.slug}/grades/jobs/retry-failed/", follow=True)
    )
    assert "Grade 5 pairs with paper" in said
    assert "failed grades of" in said
    assert "2 parts" in said


def test_the_command_starts_both(collection, failed):
    told, said = StringIO(), StringIO()
    call_command(
        "grade",
        collection.slug,
        "--prompt-class",
        EXTRACTING,
        "--llm",
        "paper",
        "--backend",
        "scripted",
        "--retry-failed",
        "--json",
        stdout=told,
        stderr=said,
    )
    assert [job["total"] for job in json.loads(told.getvalue())["jobs"]] == [10, 5]
    assert "it waits for the answers of job" in said.getvalue()
