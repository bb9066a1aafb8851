"""Archive and delete a collection in the browser."""

from __future__ import annotations

import re

import pytest

from rubricweb.archives import removal, tables
from rubricweb.archives.kind import Archives, Deletions
from rubricweb.archives.layout import write_archive
from rubricweb.archives.models import Archive, Deletion
from rubricweb.archives.reading import opened
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import leases
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.worker import work_on
from tests.factories import CollectionFactory, TopicFactory, UserFactory
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

PAGE, DELETE = "/collections/autumn/archives/", "/collections/autumn/archives/delete/"


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


def archived(client) -> Archive:
    """An archive that an organizer asked for and a worker wrote."""
    assert client.post(PAGE)["Location"] == PAGE
    archive = Archive.objects.get()
    work_on(Archives.name, archive.pk)
    archive.refresh_from_db()
    assert (archive.state, archive.error) == ("done", "")
    return archive


def test_an_organizer_archives_and_downloads(bank, owner, client_of):
    client = client_of(owner)
    assert "No archive yet" in words(client.get(PAGE))
    made = archived(client)
    page = words(client.get(PAGE))
    assert "up to date" in page
    assert made.sha256 in page
    answer = client.get(f"{PAGE}{made.pk}/download/")
    assert answer["Content-Disposition"] == 'attachment; filename="autumn.zip"'
    assert b"".join(answer.streaming_content) == made.path.read_bytes()
    with opened(made.path) as read:
        assert read.manifest.tables["corpus.Topic"].rows == 2


def test_while_it_is_made_the_page_says_so(bank, owner, client_of, redis_server):
    client = client_of(owner)
    client.post(PAGE)
    client.post(PAGE)  # twice makes one
    Archive.objects.get()
    assert "No worker is running that can do this" in words(client.get(PAGE))
    assert "1 archive" in words(client.get(DELETE))


def rated(bank, owner):
    item = bank.items.first()
    rate_cell(Cell.of(item, item.topic.pool.first().passage), rating=1, by=owner, seen=1)


def more_topics(bank, owner):
    TopicFactory(collection=bank.collection)


@pytest.mark.parametrize("change", [rated, more_topics])
def test_a_change_makes_an_archive_an_old_one(bank, owner, client_of, change):
    client = client_of(owner)
    first = archived(client)
    change(bank, owner)
    assert "has changed since" in words(client.get(PAGE))
    assert "has changed since" in words(client.get(DELETE))
    answer = client.post(DELETE, {"slug": "autumn"})
    assert "Archive the collection first, or tick this." in words(answer)
    assert answer.status_code == 422
    assert archived(client).pk != first.pk


def test_a_deleted_collection_is_gone_and_its_archive_stays(bank, owner, client_of):
    other = TopicFactory(collection=CollectionFactory(slug="other"))
    client = client_of(owner)
    made = archived(client)
    page = words(client.get(DELETE))
    assert "2 topics" in page
    assert "ratings by people" in page
    assert client.post(DELETE, {"slug": "autumn"})["Location"] == "/"
    assert list(Collection.objects.all()) == [other.collection]
    assert made.path.is_file()
    entry = AuditEntry.objects.get(verb="collection deleted")
    assert (entry.by, entry.collection) == (owner, None)
    assert entry.detail.startswith("autumn: ")


def test_deleting_needs_the_slug_and_a_word_about_the_archive(bank, owner, client_of):
    client = client_of(owner)
    assert "It has no archive" in words(client.get(DELETE))
    for sent, told in (
        ({"slug": "winter"}, "This is not autumn."),
        ({"slug": "autumn"}, "Archive the collection first"),
    ):
        answer = client.post(DELETE, sent)
        assert answer.status_code == 422
        assert told in words(answer)
    assert client.post(DELETE, {"slug": "autumn", "without_archive": "on"}).status_code == 302
    assert not Collection.objects.exists()


@pytest.fixture
def large(bank, monkeypatch):
    """The collection is deleted by a worker."""
    monkeypatch.setattr(removal, "AT_ONCE", 1)
    return bank.collection


def test_a_worker_deletes_a_large_collection(large, owner, viewer, developer, client_of, redis_server):
    client = client_of(owner)
    page = client.post(DELETE, {"slug": "autumn", "without_archive": "on"})["Location"]
    assert "No worker is running that can do this" in words(client.get(page))
    assert client.get(DELETE)["Location"] == page
    assert "being deleted" in words(client_of(viewer).get("/"))
    assert [client_of(who).get(page).status_code for who in (developer, UserFactory())] == [403, 404]
    work_on(Deletions.name, Deletion.objects.first().pk)
    assert not Collection.objects.exists()
    assert "All of its data is gone." in words(client.get(page))
    assert client_of(developer).get(page).status_code == 404


def rows_of(collection) -> dict[str, int]:
    return {table.label: count for table in tables.owned() if (count := table.rows(collection).count())}


def test_a_hidden_collection_is_gone_at_once_and_its_rows_in_portions(
    bank, owner, admin_user, client_of, monkeypatch
):
    page = bank.get_absolute_url()
    removal.hide_collection(bank.collection, by=owner)
    for person in (owner, admin_user):
        assert [client_of(person).get(url).status_code for url in (PAGE, page)] == [404, 404]
        assert "Autumn" not in words(client_of(person).get("/"))
    assert rows_of(bank.collection)["corpus.Topic"] == 2
    CollectionFactory(slug="autumn")
    monkeypatch.setattr(removal, "PORTION", 2)
    removal.remove_hidden(Collection.including_gone.get(pk=bank.collection_id))
    assert rows_of(bank.collection) == {}
    assert Collection.including_gone.count() == 1


def test_a_deletion_goes_on_where_it_ended(bank, owner, outsider, client_of):
    collection = bank.collection
    removal.hide_collection(collection, by=owner)
    collection.topics.all()[1:].get().pool.all().delete()
    named = {"collection_key": collection.pk, "slug": collection.slug, "name": collection.name}
    deletion = Deletion.objects.create(by=owner, state="failed", error="The disk is full.", **named)
    page, client = deletion.get_absolute_url(), client_of(owner)
    assert "some of its data is not yet deleted.</strong> The disk is full." in words(client.get(page))
    assert client_of(outsider).post(page).status_code == 404
    assert client.post(page)["Location"] == page
    work_on(Deletions.name, deletion.pk)
    assert "All of its data is gone." in words(client.get(page))
    assert rows_of(collection) == {}


def test_a_deletion_that_fails_leaves_everything(large, owner, client_of, monkeypatch):
    """Whether work began meanwhile, the archive is old by then, or the worker lost its lease at the end."""
    client = client_of(owner)
    archived(client)
    page = client.post(DELETE, {"slug": "autumn"})["Location"]
    TopicFactory(collection=large)
    work_on(Deletions.name, Deletion.objects.first().pk)
    assert "has changed since it was archived" in words(client.get(page))
    assert "being deleted" not in words(client.get("/"))

    client.post(DELETE, {"slug": "autumn", "without_archive": "on"})
    before = archived_bytes(large)
    monkeypatch.setattr(leases, "finish", lost)
    monkeypatch.setattr(Lease, "renew", lambda lease: False)
    work_on(Deletions.name, Deletion.objects.first().pk)
    assert archived_bytes(large) == before


def lost(lease):
    raise LeaseLost


def archived_bytes(collection) -> bytes:
    path = Archive.objects.first().path.with_name("again.zip")
    write_archive(collection, path)
    return path.read_bytes()


def test_nothing_is_deleted_while_a_job_runs(bank, owner, client_of):
    GradingJob.objects.update(state="running")
    client = client_of(owner)
    assert "Work is under way: 1 grading job" in words(client.get(DELETE))
    answer = client.post(DELETE, {"slug": "autumn", "without_archive": "on"})
    assert answer.status_code == 422
    assert Collection.objects.exists()


def test_only_organizers_archive_and_delete(bank, developer, outsider, client_of):
    for page in (PAGE, DELETE, f"{PAGE}1/download/"):
        assert [client_of(who).get(page).status_code for who in (developer, outsider)] == [403, 404]
    assert [client_of(who).post(DELETE).status_code for who in (developer, outsider)] == [403, 404]
