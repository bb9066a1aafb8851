"""One click extracts answers and then verifies them: a job waits for another, and never for ever."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.db.models import RestrictedError

from grading.types import GradeFailure, Outcome
from rubricweb.banks.actions import set_answer_keys
from rubricweb.corpus.pooling import PoolRule
from rubricweb.grades.configs import active_configs, config_asking
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.missing import prompt_of, source_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.grades.pool import preview_pool
from rubricweb.jobs import leases
from rubricweb.jobs.steering import steer
from tests.factories import PassageFactory, PooledFactory, ranked
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.answering import (
    EXTRACTING,
    VERIFYING,
    again,
    answering,
    asking,
    graded,
    press,
    work,
)
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.markup import markup

JobState = GradingJob.State
EVERYTHING = monitor.Scope(None, None)


@pytest.fixture
def collection(collection, monkeypatch, redis_server, settings):
    with answering(collection, monkeypatch, settings):
        yield collection


@pytest.mark.django_db
class TestOnePress:
    def test_verification_follows_when_all_answers_are_there(self, collection):
        extraction, verification = press(collection)
        assert (extraction.state, extraction.total) == (JobState.QUEUED, 10)
        assert (verification.state, verification.total) == (JobState.WAITING, 5)
        assert verification.after == extraction
        work(verification)
        assert verification.state == JobState.WAITING, "workers take no chunk of a job that waits"
        work(extraction, chunks=1)
        assert again(verification).state == JobState.WAITING
        assert (work(extraction).state, again(verification).state) == (JobState.DONE, JobState.QUEUED)
        assert work(verification).state == JobState.DONE
        assert set(Grade.objects.by(verification.config).values_list("rating", "answer")) == {
            (1, "anthocyanin")
        }
        assert press(collection) == []

    def test_a_second_press_finds_nothing_left(self, collection):
        press(collection)
        assert press(collection) == []
        gap = monitor.gap(collection, EVERYTHING)
        assert (gap.cells, gap.later, gap.stuck, len(gap.live[0].parts)) == (0, 0, 0, 2)

    def test_verification_alone_extracts_only_what_it_needs(self, collection):
        verifier = config_asking("scripted", "paper", prompt_of(active_configs(collection)[1]))
        extraction, verification = press(collection, configs=[verifier])
        assert (extraction.config, extraction.total) == (source_of(verifier), 5)
        assert (verification.total, verification.after) == (5, extraction)
        assert press(collection, configs=[extraction.config])[0].total == 5

    def test_the_price_of_a_pool_has_extraction_and_verification(self, collection):
        PassageFactory(collection=collection, doc_id="new", text="Leaves turn red in autumn.")
        ranked(collection.topics.get(), {"alpha": ["new"]})
        assert preview_pool(collection, PoolRule(1), []).price.cells == 2 + 1

    def test_an_extraction_that_is_under_way_is_waited_for(self, collection):
        source, verifier = active_configs(collection)
        (extraction,) = press(collection, configs=[source])
        work(extraction, chunks=1)
        now, later = press(collection, configs=[verifier])
        assert (now.state, now.total, later.state, later.total) == (JobState.QUEUED, 2, JobState.WAITING, 3)
        assert later.after == extraction

    def test_answers_of_two_jobs_are_waited_for_by_two(self, collection):
        source, _ = active_configs(collection)
        item = collection.banks.get().items.first()
        (first,) = press(collection, configs=[source], items=collection.banks.get().items.filter(pk=item.pk))
        other = collection.banks.get().items.last()
        set_answer_keys(other, texts=["frost"], seen=other.version, by=None)
        second, *waiting = press(collection)
        assert [(job.after, job.total) for job in waiting] == [(first, 5), (second, 5)]

    def test_only_extracted_answers_are_verified(self, collection):
        def extracted(number, pair):
            if number % 2:
                yield from graded(number, pair)
            else:
                yield GradeFailure(pair.item.item_id, pair.passage.passage_id, "No reply.")

        source, verifier = active_configs(collection)
        extraction, verification = press(collection, configs=[verifier])
        scripted.SCRIPT.append(extracted)
        work(extraction)
        verification = again(verification)
        answers = Grade.objects.by(source).filter(outcome=Outcome.EXTRACTED).count()
        assert (verification.state, verification.total) == (JobState.QUEUED, answers)
        assert 0 < answers < 5
        scripted.SCRIPT.append(graded)
        assert work(verification).state == JobState.DONE
        asking(collection, "scripted", VERIFYING)
        gap = monitor.gap(collection, EVERYTHING)
        assert (gap.cells, gap.later, gap.stuck) == (0, 0, 5 - answers)


@pytest.mark.django_db
class TestTheFirstDoesNotEndWell:
    @pytest.mark.parametrize("cancel", ["cancel", "cancel-now"])
    def test_cancelled(self, collection, cancel):
        extraction, verification = press(collection)
        work(extraction, chunks=1)
        steer(extraction, cancel, by=None)
        verification = again(verification)
        assert verification.state == JobState.CANCELLED
        assert verification.error == f"Job {extraction.pk}, for whose answers this one waited, was cancelled."
        assert not verification.chunks.filter(state__in=JobChunk.LIVE).exists()
        assert [job.total for job in press(collection)] == [6, 2, 3], "what is left starts anew"

    def test_paused_and_resumed(self, collection):
        extraction, verification = press(collection)
        steer(extraction, "pause", by=None)
        assert again(verification).state == JobState.WAITING
        steer(extraction, "resume", by=None)
        work(extraction)
        assert again(verification).state == JobState.QUEUED

    def test_no_worker_can_run_it(self, collection):
        extraction, verification = press(collection)
        leases.fail_unrunnable(extraction.chunks.first(), error="No such model.")
        verification = again(verification)
        assert verification.state == JobState.CANCELLED
        assert verification.error == f"Job {extraction.pk} has ended and left no answer to verify."

    def test_what_it_left_is_verified(self, collection):
        extraction, verification = press(collection)
        work(extraction, chunks=1)
        waiting = extraction.chunks.filter(state=JobChunk.State.QUEUED)
        leases.fail_unrunnable(waiting.first(), error="The model is gone.")
        assert again(extraction).state == JobState.FAILED
        assert (again(verification).state, again(verification).total) == (JobState.QUEUED, 2)


@pytest.mark.django_db
class TestTheWaitingJob:
    def test_it_is_cancelled_alone(self, collection):
        extraction, verification = press(collection)
        steer(verification, "cancel", by=None)
        assert again(verification).state == JobState.CANCELLED
        assert work(extraction).state == JobState.DONE
        assert again(verification).error == ""

    def test_it_cannot_be_paused_and_keeps_its_priority(self, collection):
        extraction, verification = press(collection)
        assert steer(verification, "pause", by=None).state == JobState.WAITING
        steer(verification, "first", by=None)
        work(extraction)
        assert (again(verification).state, again(verification).priority) == ("queued", "high")

    def test_the_database_refuses_one_that_waits_for_nothing(self, collection):
        _, verification = press(collection)
        with pytest.raises(IntegrityError), transaction.atomic():
            GradingJob.objects.filter(pk=verification.pk).update(after=None)

    def test_what_it_waits_for_goes_only_with_it(self, collection):
        extraction, _ = press(collection)
        with pytest.raises(RestrictedError):
            extraction.delete()
        collection.jobs.all().delete()
        assert not GradingJob.objects.exists()

    def test_pages_say_what_it_waits_for(self, collection, client_of, owner):
        client, address = client_of(owner), f"/collections/{collection.slug}/grades/jobs/"
        priced = markup(client.get(f"{address}missing/", headers={"HX-Request": "true"}))
        assert "<strong>5</strong> grades missing" in priced
        assert "5 of them verify answers that are extracted first" in priced
        client.post(f"{address}start/", follow=True)
        verification, _ = GradingJob.objects.all()
        assert "after the answers" in markup(client.get(verification.get_absolute_url()))


class TestRealWorkers:
    @pytest.fixture
    def start(self, transactional_db, collection, database_url, redis_server, tmp_path, monkeypatch):
        monkeypatch.setenv("COUNTED_CALLS", str(tmp_path / "calls"))
        asking(collection, "counting", EXTRACTING, VERIFYING)
        with workers(database_url, redis_server.url, tmp_path) as start:
            yield lambda: start(calls=tmp_path / "calls")

    def all_verified(self, extraction, verification):
        wait_until(lambda: again(verification).has_ended, what="the verification's end")
        assert (again(extraction).state, again(verification).state) == (JobState.DONE, JobState.DONE)
        assert Grade.objects.by(extraction.config).filter(outcome=Outcome.EXTRACTED).count() == 10
        assert (
            list(Grade.objects.by(verification.config).values_list("rating", "answer"))
            == [(1, "anthocyanin")] * 5
        )

    def test_one_press_does_both(self, start, collection):
        start().wait_until_heard()
        self.all_verified(*press(collection))

    def test_a_worker_killed_with_the_last_answers(self, start, collection, redis_server):
        """Redis is emptied too: what waits is in the database alone."""
        extraction, verification = press(collection)
        worker = start()
        wait_until(Grade.objects.exists, what="the first answers")
        worker.kill()
        redis_server.stop()
        redis_server.start()
        start()
        self.all_verified(extraction, verification)

    def test_a_worker_killed_before_it_verified(self, start, collection, redis_server):
        extraction, verification = press(collection)
        work(extraction)
        assert again(verification).state == JobState.QUEUED
        redis_server.stop()
        redis_server.start()
        start()
        self.all_verified(extraction, verification)

    def test_the_first_is_cancelled_while_a_worker_is_at_it(self, start, collection):
        PooledFactory.create_batch(200, topic=collection.topics.get())
        extraction, verification = press(collection)
        assert (extraction.total, verification.total) == (410, 205)
        start()
        wait_until(Grade.objects.exists, what="the first answers")
        steer(extraction, "cancel-now", by=None)
        assert (again(extraction).state, again(verification).state) == (JobState.CANCELLED,) * 2
        wait_until(lambda: not monitor.workers().waiting, what="an empty queue")
        assert not Grade.objects.by(verification.config).exists()
