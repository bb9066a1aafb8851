"""Restore a collection from an archive that is uploaded in the browser."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import rmtree

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.archives import actions, restoring
from rubricweb.archives.kind import Restorations
from rubricweb.archives.models import Restoration
from rubricweb.corpus.models import Collection
from rubricweb.jobs.worker import work_on
from tests.rubricweb.archives.conftest import signed
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]

PAGE = "/archives/restore/"
LEAVES = Path(__file__).with_name("version-1.zip").read_bytes()
"""An archive of the collection "autumn", which no server signed."""


@pytest.fixture(autouse=True)
def _is_signed(monkeypatch):
    """By this server. No thread notes the progress: it would see no row of an open transaction."""
    monkeypatch.setitem(globals(), "LEAVES", signed(LEAVES))
    monkeypatch.setattr(actions, "NOTED_EVERY", 3600)


@pytest.fixture
def staff(outsider) -> User:
    outsider.is_staff = True
    outsider.save()
    return outsider


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


def restored(client, content: bytes = b"", **fields: str) -> Restoration:
    """An archive that was uploaded, as a worker leaves it."""
    answer = client.post(PAGE, {"archive": SimpleUploadedFile("../leaves.zip", content or LEAVES)} | fields)
    row = Restoration.objects.latest("pk")
    assert answer["Location"] == f"/archives/restorations/{row.pk}/"
    assert "No worker is running that can do this" in words(client.get(row.get_absolute_url()))
    work_on(Restorations.name, row.pk)
    row.refresh_from_db()
    return row


def uploads() -> list[Path]:
    return [path for path in (Path(settings.DATA_DIR) / "restorations").rglob("*") if path.is_file()]


def test_staff_uploads_an_archive_and_organizes_its_collection(
    staff, client_of, django_capture_on_commit_callbacks
):
    client = client_of(staff)
    page = words(client.get("/imports/new-collection/"))
    assert (f'href="{PAGE}"' in page, "Restore an archive" in page) == (True, True)
    part = client.get(PAGE, headers={"HX-Request": "true"}).text
    assert ("Upload and restore" in part, "<html" in part) == (True, False)
    with django_capture_on_commit_callbacks(execute=True):
        row = restored(client)
    collection = Collection.objects.get(pk=row.collection_key)
    assert (row.state, row.error, row.slug, row.done) == ("done", "", collection.slug, row.total)
    assert collection.topics.exists()
    assert collection.memberships.get().user == staff
    assert collection.memberships.get().role == Role.ORGANIZER
    page = words(client.get(row.get_absolute_url()))
    assert f'as <span class="mono">{collection.slug}</span>. You organize it.' in page
    assert collection.get_absolute_url() in page
    assert client.get(collection.get_absolute_url()).status_code == 200
    assert "leaves.zip" in words(client.get(PAGE))
    assert uploads() == []


def test_people_of_the_archive_are_invited(staff, client_of, assessor):
    row = restored(client_of(staff))
    assert row.members == ["assessor"]
    (invitation,) = assessor.invitations.usable()
    assert (invitation.by, invitation.collection_id) == (staff, row.collection_key)
    assert "invites you to" in words(client_of(assessor).get("/"))
    assert not assessor.memberships.filter(collection=row.collection_key).exists()


OTHERS_KEY = "5e" * 32


def test_only_known_servers_archives_are_restored_in_the_browser(staff, client_of, settings):
    client, unsigned = client_of(staff), Path(__file__).with_name("version-1.zip").read_bytes()
    for content in (unsigned, signed(unsigned, OTHERS_KEY), LEAVES.replace(b"signature", b"signatura")):
        row = restored(client, content)
        assert (row.state, "leaves.zip: is not signed by this server" in row.error) == ("failed", True)
    assert not Collection.objects.exists()
    settings.ARCHIVE_KEYS = [OTHERS_KEY]
    assert restored(client, signed(unsigned, OTHERS_KEY)).state == "done"


@pytest.mark.parametrize("fields", [{"is_staff": False}, {"is_active": False}])
def test_who_may_no_longer_restore_gets_nothing(staff, client_of, fields):
    client_of(staff).post(PAGE, {"archive": SimpleUploadedFile("leaves.zip", LEAVES)})
    User.objects.filter(pk=staff.pk).update(**fields)
    row = Restoration.objects.get()
    work_on(Restorations.name, row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == (
        "failed",
        "The person who uploaded it may no longer restore collections.",
    )
    assert not Collection.objects.exists()


def test_it_may_get_another_name_beside_the_first(staff, client_of):
    client = client_of(staff)
    first = restored(client)
    second = restored(client, slug="again")
    assert {row.slug for row in Collection.objects.all()} == {first.slug, "again"}
    assert second.collection_key != first.collection_key
    answer = client.post(PAGE, {"archive": SimpleUploadedFile("a.zip", LEAVES), "slug": "again"})
    assert answer.status_code == 422
    assert "again is taken: choose another." in words(answer)


def test_a_taken_name_damage_and_a_bomb_restore_nothing(staff, client_of, settings, monkeypatch):
    client = client_of(staff)
    first = restored(client)
    taken = restored(client)
    assert f"there is a collection {first.slug} already" in taken.error
    damaged = restored(client, LEAVES[:-100], slug="damaged")
    assert "leaves.zip: the zip is damaged" in damaged.error
    settings.UPLOAD_BYTES = len(LEAVES)
    monkeypatch.setattr(actions, "UNPACKED", 1)
    bomb = restored(client, slug="bomb")
    assert re.search(r"leaves.zip: the zip unpacks to [\d,]+ bytes, expected at most", bomb.error)
    for row in (taken, damaged, bomb):
        assert (row.state, row.collection_key) == ("failed", None)
        assert "Nothing was restored." in words(client.get(row.get_absolute_url()))
    assert Collection.objects.get().pk == first.collection_key


def test_a_file_over_the_limit_is_not_kept(staff, client_of, settings):
    settings.UPLOAD_BYTES = len(LEAVES) - 1
    answer = client_of(staff).post(PAGE, {"archive": SimpleUploadedFile("leaves.zip", LEAVES)})
    assert answer.status_code == 422
    assert f"It is too large, expected at most {len(LEAVES) - 1:,} bytes." in words(answer)
    assert "This field is required." not in words(answer)
    assert not Restoration.objects.exists()


def test_without_the_file_a_worker_says_what_to_do(staff, client_of, redis_server):
    redis_server.flush()  # no worker of another test is alive
    client = client_of(staff)
    client.post(PAGE, {"archive": SimpleUploadedFile("leaves.zip", LEAVES)})
    row = Restoration.objects.get()
    rmtree(row.path.parent)
    work_on(Restorations.name, row.pk)
    row.refresh_from_db()
    assert "The uploaded archive is not on the worker's machine" in row.error
    assert not Collection.objects.exists()


def test_only_staff_restores_and_sees_only_its_own(staff, owner, client_of):
    row = Restoration.objects.create(by=staff, file_name="leaves.zip", state="failed")
    assert client_of(owner).get(PAGE).status_code == 403
    assert client_of(owner).get(row.get_absolute_url()).status_code == 404
    answer = client_of(staff).post(PAGE, {})
    assert answer.status_code == 422
    assert "This field is required." in words(answer)
    assert client_of(owner).post(row.get_absolute_url()).status_code == 404
    assert client_of(staff).put(row.get_absolute_url()).status_code == 405


def uploaded(client) -> Restoration:
    client.post(PAGE, {"archive": SimpleUploadedFile("leaves.zip", LEAVES)})
    return Restoration.objects.latest("pk")


def test_one_that_waits_is_cancelled(staff, client_of, django_capture_on_commit_callbacks):
    client = client_of(staff)
    row = uploaded(client)
    assert "Cancel the restoration" in words(client.get(row.get_absolute_url()))
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(row.get_absolute_url())["Location"] == row.get_absolute_url()
    work_on(Restorations.name, row.pk)
    page = words(client.get(row.get_absolute_url()))
    assert "Cancelled. Nothing was restored." in page
    assert "Cancel the restoration" not in page
    assert (Collection.objects.count(), uploads()) == (0, [])


def test_one_that_a_worker_is_at_is_cancelled(staff, client_of, monkeypatch):
    row = uploaded(client_of(staff))

    def cancelled_meanwhile(
        path: Path, terms: restoring.Terms, *, progress: restoring.RestoredRows, **options: object
    ) -> None:
        """As the note of a second later finds it."""
        actions.cancel_restoration(row)
        progress.is_unwanted = True
        usual(path, terms, progress=progress, **options)

    usual = actions.restore_archive
    monkeypatch.setattr(actions, "restore_archive", cancelled_meanwhile)
    work_on(Restorations.name, row.pk)
    row.refresh_from_db()
    assert (row.state, row.error, Collection.objects.count()) == ("cancelled", "", 0)
