"""Archive, delete, restore, archive: the same bytes, and a collection that works as before."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from rubricweb.accounts.models import User
from rubricweb.archives import tables
from rubricweb.archives.layout import own_key, write_archive
from rubricweb.archives.removal import delete_collection
from rubricweb.archives.restoring import Terms, parents_first, restore_archive
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine.parts import gap_of
from rubricweb.grades.human_models import Draw
from rubricweb.grades.models import (
    Grade,
    GraderConfig,
    GradingJob,
    JobChunk,
    JobPart,
    ReplyBlock,
    ReplyPolicy,
)
from rubricweb.grades.replies import RawReply, content_of, keep_replies, raw_replies
from rubricweb.imports import undo
from rubricweb.imports.models import Import
from rubricweb.leaderboards.models import PublicBoard
from tests.factories import CollectionFactory, TopicFactory
from tests.rubricweb.worlds import RAW_REPLY

COPY = Terms("autumn-copy", joins=True)
OF_THE_SERVER = {
    "api.KeptAnswer",
    "accounts.User_groups",
    "accounts.User_user_permissions",
    "archives.Deletion",
    "archives.Restoration",
}
"""Rights on the admin pages, answers kept for a day, and what tells of collections that are gone."""


@pytest.fixture
def archive(collection, bank, tmp_path) -> Path:
    path = tmp_path / "autumn.zip"
    write_archive(collection, path)
    return path


def scores(client_of, username: str, slug: str) -> list[list[str]]:
    """The board as a file, without the lines that name the collection."""
    client = client_of(User.objects.get(username=username))
    answer = client.get(f"/collections/{slug}/exports/leaderboard/", {"format": "tsv"})
    lines = b"".join(answer.streaming_content).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def test_every_model_is_archived_or_says_why_not():
    known = {table.label for table in tables.owned()} | {model._meta.label for model in tables.SHARED}
    assert {model._meta.label for model in tables.own_models()} - known == OF_THE_SERVER
    archived = {table.model for table in tables.archived()} | set(tables.SHARED)
    targets = {tables.target_of(column) for table in tables.archived() for column in table.columns}
    assert targets - {None} <= archived
    assert tables.LEFT_OUT.keys() <= known


def test_the_collection_of_these_tests_has_a_row_of_every_table(collection, bank):
    """So that a new table is archived, restored and edited here too."""
    empty = [table.label for table in tables.archived() if not table.archived_rows(collection).exists()]
    assert empty == []


def test_a_restored_collection_has_the_same_archive(collection, archive, tmp_path):
    delete_collection(collection, by=None)
    TopicFactory(collection=CollectionFactory(slug="other"))  # so that keys become others
    restored = restore_archive(archive, Terms(joins=True))
    again = tmp_path / "again.zip"
    write_archive(Collection.objects.get(slug="autumn"), again)
    assert again.read_bytes() == archive.read_bytes()
    assert restored.strangers == []
    assert [path.read_text() for _, path in tables.files_of(Collection.objects.get(slug="autumn"))] == [
        "t1\twhy do leaves turn red"
    ]


def test_a_copy_beside_the_original_works_by_itself(collection, bank, archive, client_of):
    before = scores(client_of, "owner", "autumn")
    assert len(before) > 3
    restore_archive(archive, COPY)
    copy = Collection.objects.get(slug="autumn-copy")
    assert scores(client_of, "owner", "autumn-copy") == before
    first, second = (PublicBoard.objects.get(collection=one) for one in (collection, copy))
    assert first.token != second.token
    assert second.query == f"grader={first.query.split('=')[1][:-5]}&bank={copy.banks.get().pk}&topic=7"
    delete_collection(copy, by=None)
    assert scores(client_of, "owner", "autumn") == before


def test_keys_inside_of_values_are_those_of_the_new_rows(collection, archive):
    restore_archive(archive, COPY)
    copy = Collection.objects.get(slug="autumn-copy")
    wording = copy.banks.get().items.order_by("pk").first().revision
    assert Draw.objects.filter(collection=copy).last().revisions == [wording.pk]
    passage = copy.passages.order_by("pk").first()
    assert JobChunk.objects.get(job__collection=copy).cells == [[wording.pk, passage.pk]]
    gap = gap_of(JobPart.objects.get(job__collection=copy))
    assert list(gap.pairs_by_passage()) == [[(wording.pk, passage.pk)]]
    flagged = AuditEntry.objects.get(collection=copy, kind="flag")
    assert flagged.object_id == copy.banks.get().flags.get().pk


def added_to(collection: Collection) -> dict[str, list[int]]:
    """What an import would have added that made all rows of the collection."""
    ranges = {}
    for kind, (model, path) in undo.kinds().items():
        keys = list(
            model._base_manager.filter(**{path: collection}).order_by("pk").values_list("pk", flat=True)
        )
        assert keys, kind
        ranges[kind] = [keys[0], keys[-1], len(keys)]
    return ranges


def test_an_import_keeps_what_it_added_of_every_kind(collection, bank, tmp_path):
    Import.objects.update(added=added_to(collection))
    write_archive(collection, tmp_path / "a.zip")
    restore_archive(tmp_path / "a.zip", COPY)
    copy = Collection.objects.get(slug="autumn-copy")
    assert copy.imports.get().added == added_to(copy)


def test_replies_come_along_and_so_does_when_they_were_dropped(collection, bank, tmp_path):
    gone, left = ReplyBlock.objects.order_by("pk")[:2]
    ReplyBlock.objects.filter(pk=gone.pk).update(content=content_of({}), number=0, dropped_at=gone.at)
    keep_replies(collection, 90, by=None)
    write_archive(collection, tmp_path / "a.zip")
    restore_archive(tmp_path / "a.zip", COPY)
    copies = Grade.objects.filter(topic__collection__slug="autumn-copy")
    of_dropped, of_left = (
        {"topic__query_id": block.topic.query_id, "config": block.config} for block in (gone, left)
    )
    assert set(raw_replies(copies.filter(**of_dropped)).values()) == {RawReply("", gone.at)}
    replies = raw_replies(copies.filter(**of_left)).values()
    assert {reply.text.partition(":")[0] for reply in replies} == {RAW_REPLY}
    policy = ReplyPolicy.objects.get(collection__slug="autumn-copy")
    assert (policy.days, policy.packed_to) == (90, 0)


def test_a_part_of_which_no_passage_is_written_stays_so(collection, bank, tmp_path):
    JobPart.objects.update(passages="", mask="", rows=2)
    write_archive(collection, tmp_path / "whole.zip")
    restore_archive(tmp_path / "whole.zip", COPY)
    part = JobPart.objects.get(job__collection__slug="autumn-copy")
    assert (part.is_whole, part.rows, gap_of(part).cells) == (True, 2, 2)


def test_people_without_an_account_get_one_that_cannot_sign_in(collection, archive):
    delete_collection(collection, by=None)
    AuditEntry.objects.update(by=None)
    User.objects.filter(username="assessor").delete()
    restored = restore_archive(archive, Terms(joins=True))
    assert restored.strangers == ["assessor"]
    assert "owner" in restored.members
    person = User.objects.get(username="assessor")
    assert not person.is_active
    assert not person.has_usable_password()
    assert person.human_grades.count() == 12


def test_work_under_way_is_archived_as_cancelled(collection, bank, tmp_path):
    GradingJob.objects.update(state="running")
    JobChunk.objects.update(state="leased", worker="w1")
    write_archive(collection, tmp_path / "a.zip")
    restore_archive(tmp_path / "a.zip", COPY)
    job = GradingJob.objects.get(collection__slug="autumn-copy")
    assert (job.state, job.chunks.get().state, job.chunks.get().worker) == ("cancelled", "cancelled", "")


def test_graders_are_found_again_or_made(collection, archive):
    before = GraderConfig.objects.count()
    restore_archive(archive, COPY)
    assert GraderConfig.objects.count() == before


def test_commands_archive_and_restore(collection, bank, tmp_path):
    told, path = StringIO(), tmp_path / "autumn.zip"
    call_command("archive", "autumn", out=path, stderr=told)
    call_command("restore", path, slug="copy", stderr=told)
    assert "2 topics" in told.getvalue()
    assert "Invited, by user name: assessor, owner, viewer" in told.getvalue()
    with pytest.raises(CommandError, match="no collection winter"):
        call_command("archive", "winter", out=path)
    with pytest.raises(CommandError, match="there is a collection autumn already"):
        call_command("restore", path)
    with pytest.raises(CommandError, match="cannot write"):
        call_command("archive", "autumn", out=tmp_path / "nowhere" / "a.zip")


def test_commands_restore_what_nobody_signed_only_if_it_is_trusted(db, owner):
    unsigned, words = Path(__file__).with_name("version-1.zip"), StringIO()
    with pytest.raises(CommandError, match=r"not signed by this server.*with --trust"):
        call_command("restore", unsigned)
    call_command("restore", unsigned, trust=True, stderr=words)
    assert "Nobody is a member yet" in words.getvalue()
    assert [row.by for row in owner.invitations.usable()] == [None]
    call_command("restore", unsigned, slug="again", trust=True, members=True, stderr=words)
    assert owner.memberships.filter(collection__slug="again").exists()


def test_a_key_of_one_server_is_no_secret_of_another_use(settings, capsys):
    call_command("archive", show_key=True)
    key = capsys.readouterr().out.strip()
    assert key == own_key()
    settings.SECRET_KEY = f"{settings.SECRET_KEY}."
    assert own_key() != key
    with pytest.raises(CommandError, match="Name a collection"):
        call_command("archive", "autumn")


def test_rows_go_in_after_those_that_they_refer_to():
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    order = parents_first(models)

    assert sorted(order, key=str) == sorted(models, key=str)
    for place, model in enumerate(order):
        targets = {field.related_model for field in model._meta.concrete_fields} - {None, model}
        assert targets <= set(order[:place])
