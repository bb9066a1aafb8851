"""Everything that may be killed is killed while everything is under way: nothing is lost, nothing doubled.

bench/faults.py has the same storm for longer.
"""

from __future__ import annotations

from itertools import islice

import pytest

from grading.graders import registry
from tests.faults.services import Services, running
from tests.faults.storm import Storm, faults
from tests.rubricweb.grades.counting import BACKEND

NAMES = ["worker-0", "worker-1", "redis", "web", "proxy"]


@pytest.fixture
def services(transactional_db, database_url, redis_server, tmp_path, settings, monkeypatch):
    monkeypatch.setitem(registry.BACKENDS, BACKEND.name, BACKEND)
    settings.DATA_DIR, settings.CHUNK_CELLS = tmp_path, 48
    with running(Services(database_url, redis_server, tmp_path)) as services:
        yield services


def test_a_storm(services):
    report = Storm(services, seed=1, kills=4).blow()
    assert report.wrong == []
    assert report.kills == 4


def test_the_same_seed_has_the_same_faults():
    first, again, other = ([*islice(faults(seed, NAMES), 50)] for seed in (1, 1, 2))
    assert first == again != other
    assert {fault.victim for fault in first} == set(NAMES)
    assert {fault.is_frozen for fault in first} == {True, False}
