"""Old workers beside a new web process, and new ones beside an old: what is too new is left alone."""

from __future__ import annotations

import json
import logging
import time

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from rubricweb.jobs import queue, schema
from rubricweb.jobs.run import work_on
from tests.rubricweb.jobs.workers import wait_until, workers


@pytest.fixture
def applied(db) -> frozenset[tuple[str, str]]:
    return frozenset(MigrationRecorder(connection).applied_migrations())


def test_work_of_an_unknown_kind_is_left_to_a_newer_worker(db, caplog):
    with caplog.at_level(logging.INFO):
        work_on("of-next-year", 7)
    assert "left of-next-year 7 to a newer worker" in caplog.text


def test_a_newer_worker_may_say_more_of_itself(redis_server):
    told = {"name": "attic-7", "at": time.time(), "doing": "idle", "device": "CPU", "mood": "good"}
    with queue.connection() as client:
        client.set(f"{queue.BEAT_PREFIX}attic-7", json.dumps(told))
    assert [(beat.name, beat.doing) for beat in queue.living_workers()] == [("attic-7", "idle")]


def test_what_newer_migrations_add_is_no_objection(applied):
    assert schema.objection_to(applied) == ""
    assert schema.objection_to(applied | {("jobs", "9999_adds"), ("elsewhere", "9999_contract")}) == ""


def test_what_newer_migrations_took_away_is_one(applied):
    newer = applied | {("grades", "9999_contract_old_counts")}
    assert "older than the database (grades.9999_contract_old_counts)" in schema.objection_to(newer)


@pytest.mark.django_db(transaction=True)
def test_a_worker_waits_for_the_migrations_that_it_needs(database_url, redis_server, tmp_path):
    lacking = MigrationRecorder.Migration.objects.filter(app="grades").order_by("-pk")[0]
    MigrationRecorder.Migration.objects.filter(pk=lacking.pk).delete()
    try:
        with workers(database_url, redis_server.url, tmp_path) as start:
            worker = start()
            said = f"until the database is migrated: it lacks grades.{lacking.name}"
            wait_until(lambda: said in worker.said, what="the worker to say so")
            MigrationRecorder.Migration.objects.bulk_create([lacking])
            wait_until(lambda: "it takes work" in worker.said, what="the worker to go on")
    finally:
        MigrationRecorder.Migration.objects.bulk_create([lacking], ignore_conflicts=True)
