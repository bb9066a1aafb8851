"""Grades go to files and come back; meanwhile boards stay, and whatever would need rows says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponseBase
from django.test import Client

from rubricweb.accounts.cold_storage import SERVED_COLD, InColdStorage, without_refused
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.archives import actions
from rubricweb.archives.actions import cool, thaw
from rubricweb.archives.layout import CannotArchive, write_archive
from rubricweb.archives.removal import delete_collection
from rubricweb.banks.models import Bank
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades import cold, matrices
from rubricweb.grades.actions import start_grading
from rubricweb.grades.cold import CannotMove, DamagedFile, folder_of
from rubricweb.grades.models import Grade, MatrixSnapshot, MatrixStamp
from tests.factories import MembershipFactory, UserFactory, grades, lexical_config
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, cells_of, parameters, world

SENTENCE = "are in cold storage"
ONLY_HERE = re.compile(
    r'name="once" value="[^"]*"|nonce="[^"]*"|name="csrfmiddlewaretoken" value="[^"]*"|X-CSRFToken[^}]*'
    r'|since=[\d.]+|\d\d:\d\d UTC|<p class="banner" role="note" data-cold>.*?</p>'
    r'|<div hidden id="missing-live">.*?</div>|<div id="missing".*?</div>',
    re.DOTALL,
)
COLUMNS = [field.attname for field in Grade._meta.concrete_fields]


@pytest.fixture
def own(collection: Collection, owner: User, assessor: User) -> Bank:
    return world(collection, owner, assessor)


@pytest.fixture
def client(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def rows() -> list[dict[str, Any]]:
    return list(Grade.objects.order_by("pk").values(*COLUMNS))


def board(client: Client, collection: Collection) -> str:
    return client.get(f"/api/v1/collections/{collection.slug}/leaderboard/").content.decode()


def lasting(response: HttpResponseBase, slug: str) -> str:
    """What a page says below its bar, without what is refused or differs each time, and the note."""
    page = without_refused(response.getvalue().decode(), slug).partition("<main")
    return "".join(ONLY_HERE.sub("", page[2] or page[0]).split())


def cooled(collection: Collection) -> Collection:
    cool(collection, by=None)
    collection.refresh_from_db()
    return collection


def test_the_same_rows_come_back(own: Bank, django_capture_on_commit_callbacks):
    Grade.objects.filter(pk=Grade.objects.first().pk).update(rating=None, outcome="failed", reply='\\N "a,\n')
    before, stamps = rows(), list(MatrixStamp.objects.values())
    collection = cooled(own.collection)
    assert not Grade.objects.exists()
    assert len(list(folder_of(collection.pk).glob("*.parquet"))) == 2, "a file a grader"
    with django_capture_on_commit_callbacks(execute=True):
        assert thaw(collection, by=None) == len(before) == 24
    assert rows() == before
    assert list(MatrixStamp.objects.values()) == stamps
    assert not folder_of(collection.pk).exists()
    verbs = AuditEntry.objects.filter(verb__contains="cold storage").values_list("verb", flat=True)
    assert sorted(verbs) == ["grades brought back from cold storage", "grades put into cold storage"]


@pytest.mark.parametrize(
    "damage", [lambda raw: b"", lambda raw: raw[:-9], lambda raw: raw[:40] + bytes(400) + raw[440:]]
)
def test_a_damaged_file_is_named_and_nothing_comes_back(own: Bank, damage):
    collection = cooled(own.collection)
    *_, last = sorted(folder_of(collection.pk).glob("*.parquet"))
    last.write_bytes(damage(last.read_bytes()))
    with pytest.raises(DamagedFile, match=f"{re.escape(str(last))}: expected grades as Parquet"):
        thaw(collection, by=None)
    assert not Grade.objects.exists()
    collection.refresh_from_db()
    assert collection.cold_at


def test_boards_stay_without_rows_and_without_snapshots(own: Bank, client: Client):
    before = board(client, own.collection)
    cooled(own.collection)
    matrices._cache.clear()
    assert board(client, own.collection) == before
    MatrixSnapshot.objects.all().delete()
    matrices._cache.clear()
    assert board(client, own.collection) == before


def test_other_programs_read_the_files(own: Bank):
    expected = sorted(
        Grade.objects.filter(config=lexical_config()).values_list(
            "topic__query_id", "passage__doc_id", "revision__uid", "rating"
        )
    )
    folder = folder_of(cooled(own.collection).pk)
    of_lexical = f"FROM '{folder}/*.parquet' WHERE config_id = {lexical_config().pk}"
    found = duckdb.sql(f"SELECT query_id, doc_id, item, rating {of_lexical}")
    assert sorted(found.fetchall()) == expected


@pytest.mark.portable
def test_every_page_is_a_board_or_says_how_to_get_the_grades_back(
    own: Bank, client: Client, owner: User, monkeypatch
):
    viewer = MembershipFactory(collection=own.collection, user=UserFactory(), role=Role.VIEWER).user
    known = parameters(own, viewer, blind_campaign(own, by=owner, assignees=[viewer]))
    of_collection = [route for route in readable_routes() if {"slug", "bank_id"} & set(route.parameters)]
    before = {route: client.get(route.address(known)) for route in of_collection}
    hot = {route: response for route, response in before.items() if response.status_code == 200}
    monkeypatch.setattr(actions, "why_not", lambda collection: "")  # the world has work under way
    cooled(own.collection)
    served, slug = set(), own.collection.slug
    for route, shown in hot.items():
        response = client.get(route.address(known))
        if route.name in SERVED_COLD:
            assert response.status_code == 200, route.name
            is_same = lasting(response, slug) == lasting(shown, slug)
            assert is_same or route.name == "archives:delete", route.name
            served.add(route.name)
        else:
            assert (response.status_code, SENTENCE in response.content.decode()) == (403, True), route.name
    assert len(served) >= 8
    assert len(hot) - len(served) > 60


def test_what_changed_meanwhile_refuses_the_move(own: Bank, monkeypatch):
    write = cold.write

    def write_and_change(collection: Collection, folder: Path) -> int:
        written = write(collection, folder)
        MatrixStamp.objects.filter(pk=MatrixStamp.objects.first().pk).update(number=7)
        return written

    before = rows()
    monkeypatch.setattr(cold, "write", write_and_change)
    with pytest.raises(CannotMove, match="changed meanwhile"):
        cool(own.collection, by=None)
    assert rows() == before
    assert Collection.objects.get().cold_at is None
    assert not list(folder_of(own.collection.pk).parent.iterdir())


def test_two_moves_at_once_lose_nothing(own: Bank, monkeypatch):
    """The second begins before the first has ended, and ends after it."""
    write, before = cold.write, rows()

    def write_meanwhile(collection: Collection, folder: Path) -> int:
        monkeypatch.setattr(cold, "write", write)
        cool(collection, by=None)
        return write(collection, folder)

    monkeypatch.setattr(cold, "write", write_meanwhile)
    with pytest.raises(CannotMove, match="changed meanwhile"):
        cool(own.collection, by=None)
    thaw(Collection.objects.get(), by=None)
    assert rows() == before


def test_a_collection_without_grades_stays_as_it_is(own: Bank):
    Grade.objects.all().delete()
    with pytest.raises(CannotMove, match="has no grades"):
        cool(own.collection, by=None)


def test_nothing_is_graded_or_archived(own: Bank, tmp_path):
    item, pooled = cells_of(own)[0]
    collection = cooled(own.collection)
    with pytest.raises(InColdStorage):
        grades(lexical_config(), [(item, pooled.passage, 3)])
    with pytest.raises(InColdStorage):
        start_grading(collection, by=None, configs=[lexical_config()])
    with pytest.raises(CannotArchive, match="rubricweb thaw"):
        write_archive(collection, tmp_path / "a.zip")
    with pytest.raises(CommandError, match=f"rubricweb thaw {collection.slug}"):
        call_command("export_graded", collection.slug)
    assert not Grade.objects.exists()


def test_commands_move_grades_and_print_boards(own: Bank, capsys):
    slug = own.collection.slug
    call_command("cool", slug)
    call_command("leaderboard", slug, backend="lexical")
    assert '"rank": 1' in capsys.readouterr().out
    with pytest.raises(CommandError, match="in cold storage already"):
        call_command("cool", slug)
    call_command("thaw", slug)
    with pytest.raises(CommandError, match="not in cold storage"):
        call_command("thaw", slug)
    assert Grade.objects.count() == 24


def test_lost_files_lose_nothing_silently(own: Bank, client: Client):
    collection = cooled(own.collection)
    files = sorted(folder_of(collection.pk).glob("*.parquet"))
    files[0].rename(files[0].with_suffix(".away"))
    with pytest.raises(CannotMove, match=r"The files have 12 grades where there were 24\."):
        thaw(collection, by=None)
    assert not Grade.objects.exists()
    assert Collection.objects.get().cold_at


def test_files_go_with_the_collection(own: Bank, django_capture_on_commit_callbacks):
    collection = cooled(own.collection)
    folder = folder_of(collection.pk)
    assert folder.exists()
    with django_capture_on_commit_callbacks(execute=True):
        delete_collection(collection, by=None)
    assert not folder.exists()


def test_duckdb_is_an_extra(own: Bank, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CannotMove, match=r"pip install .rubricweb\[cold\]"):
        actions.cool(own.collection, by=None)
    assert Grade.objects.count() == 24
