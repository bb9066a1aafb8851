"""The cast: owner (organizer), developer, assessor, viewer and participant of one collection; an outsider."""

from __future__ import annotations

import gc
from uuid import uuid4

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from hypothesis import settings

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core import events
from rubricweb.core.reader import see_everything
from rubricweb.corpus import pools, run_slices
from rubricweb.corpus.models import Collection
from rubricweb.grades import human_matrices, in_context, matrices
from rubricweb.grades.engine import kind, price
from rubricweb.jobs import worker_state
from rubricweb.support import labels
from tests import factories
from tests.factories import CollectionFactory, MembershipFactory, UserFactory
from tests.frames import roomy
from tests.portable import is_portable
from tests.schema import copy_test_database
from tests.servers import give_each_table_its_own_keys
from tests.sessions import signed_in
from tests.states import empty_quickly_after_tests

# What the collection of the tests makes stays, and what they make is soon free without the garbage collector.
gc.set_threshold(50_000, 20, 20)

# What sets up, calls and tears down each test.
pytest.CallInfo.from_call = roomy(pytest.CallInfo.from_call)  # type: ignore[method-assign]

# A busy machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Passwords hash as in real life, only less often: two thirds of the time of many tests went into it.
PBKDF2PasswordHasher.iterations = 1_000

MAX_UNSTABLE = 3
"""More tests that fail first and pass when they are run again are a fault that chance must not hide."""


def unstable_tests(config: pytest.Config) -> list[str]:
    """Ids of the tests that were run a second time and passed then."""
    stats = config.pluginmanager.getplugin("terminalreporter").stats
    failed = {report.nodeid for kind in ("failed", "error") for report in stats.get(kind, [])}
    return sorted({report.nodeid for report in stats.get("rerun", [])} - failed)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as portable, before `-m` selects, what needs no second database."""
    for item in items:
        if is_portable(item):
            item.add_marker(pytest.mark.portable)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that is loaded by now."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and session.exitstatus == 0 and len(unstable_tests(session.config)) > MAX_UNSTABLE:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if names := unstable_tests(config):
        terminalreporter.section(
            f"unstable: {len(names)} failed first (more than {MAX_UNSTABLE} fail the run)"
        )
        terminalreporter.write_line("\n".join(names))


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings, django_db_blocker) -> bool:
    """The test database is there when Django looks for it, and goes with the servers of the tests."""
    with django_db_blocker.unblock():
        copy_test_database()
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """The database, with keys that tell rows of different tables apart."""
    with django_db_blocker.unblock():
        give_each_table_its_own_keys()
        empty_quickly_after_tests()


@pytest.fixture(scope="session", autouse=True)
def whole_view():
    """A test's own look at rows hides nothing. Requests have readers of their own, and new threads none."""
    see_everything()


@pytest.fixture(autouse=True)
def empty_caches():
    """Caches are keyed by ids and stamps, which a database that is rolled back gives out again.

    What this process could not run in one test, it can in the next; no job of an earlier one was announced.
    """
    worker_state.now.refused.clear()
    worker_state._unserved_since.clear()
    kind._announced.clear()
    pools.pool_at.cache_clear()
    run_slices._pool_of.cache_clear()
    events.NAMED = f"test:{uuid4().hex}:"  # no event of an earlier test, whose collection had the same key
    matrices._cache.clear()
    human_matrices._cache.clear()
    price._passage_chars.cache_clear()
    in_context._derived.cache_clear()
    labels._cache.clear()


@pytest.fixture(autouse=True)
def same_names():
    """Each test has the same people, topics and passages, whatever ran before it."""
    factories.start_names_again()


@pytest.fixture
def collection(db: None) -> Collection:
    return CollectionFactory(slug="autumn")


@pytest.fixture
def developers_only(collection: Collection) -> None:
    """Assessors neither edit the bank nor start grading."""
    Collection.objects.filter(pk=collection.pk).update(assessors_edit=False, assessors_grade=False)


def _member(collection: Collection, username: str, role: Role) -> User:
    return MembershipFactory(user=UserFactory(username=username), collection=collection, role=role).user


@pytest.fixture
def owner(collection: Collection) -> User:
    return _member(collection, "owner", Role.ORGANIZER)


@pytest.fixture
def developer(collection: Collection) -> User:
    return _member(collection, "developer", Role.DEVELOPER)


@pytest.fixture
def assessor(collection: Collection) -> User:
    return _member(collection, "assessor", Role.ASSESSOR)


@pytest.fixture
def viewer(collection: Collection) -> User:
    return _member(collection, "viewer", Role.VIEWER)


@pytest.fixture
def participant(collection: Collection) -> User:
    person, held = UserFactory(username="participant"), {"role": Role.PARTICIPANT, "team": "maple"}
    return MembershipFactory(user=person, collection=collection, **held).user


@pytest.fixture
def outsider(db: None) -> User:
    return UserFactory(username="outsider")


@pytest.fixture
def client_of():
    """`client_of(user)`: a browser in which `user` is signed in."""

    return signed_in
