"""Raw replies: in blocks beside their grades, moved there from rows, and dropped by a collection's policy."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from grading.formats.graded import write_graded
from rubricweb.core.models import AuditEntry
from rubricweb.exports.workbench import graded_lines
from rubricweb.graders.kept import stored
from rubricweb.grades import replies, store
from rubricweb.grades.configs import imported_config
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.grades.models import Grade, ReplyBlock, ReplyPolicy
from rubricweb.grades.replies import content_of, keep_replies, raw_replies, texts_of
from rubricweb.grades.store import GradeRow
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Flag, Subject
from tests.factories import gradable

LONG = "4: «Anthocyanins» make maple leaves red \N{MAPLE LEAF}, and the passage says so in its sentence {}."
WEEK = timedelta(days=7)


@pytest.fixture
def bank(collection):
    """One topic of 20 cells."""
    return gradable(collection, topics=1, passages=5, items=4)


@pytest.fixture
def cells(bank) -> list[tuple[int, int, int]]:
    """(topic, revision, passage)."""
    return [
        (item.topic_id, item.revision_id, row.passage_id)
        for item in bank.items.order_by("pk")
        for row in item.topic.pool.order_by("pk")
    ]


@pytest.fixture
def config():
    return imported_config("a-model", "APrompt", "rate", {})


def rows(cells, **values) -> list[GradeRow]:
    replied = [LONG.format(number) for number in range(len(cells))]
    return [
        GradeRow(*cell, **({"rating": 4, "outcome": "numeric", "reply": reply} | values))
        for cell, reply in zip(cells, replied, strict=True)
    ]


def kept_texts() -> list[str]:
    grades = list(Grade.objects.order_by("pk"))
    known = raw_replies(grades)
    return [known[row.pk].text for row in grades]


def in_rows(config, cells) -> None:
    """As earlier versions stored grades."""
    Grade.objects.bulk_create(Grade(config=config, **row._asdict()) for row in rows(cells))


def make_older(by: timedelta) -> None:
    Grade.objects.update(at=F("at") - by)
    ReplyBlock.objects.update(at=F("at") - by)


def drop(collection, *, days: int = 5) -> int:
    return replies.drop_some(keep_replies(collection, days, by=None)).replies


def test_long_replies_of_a_batch_share_a_block(cells, config):
    given = [
        *rows(cells[:17]),
        *rows(cells[17:19], reply="4"),
        rows(cells[19:], outcome="failed", rating=None)[0],
    ]
    given[19] = given[19]._replace(answer="a long reply that is no rating at all")
    store.save_grades(config, given)
    assert Grade.objects.exclude(reply_block=None).count() == 17
    assert set(Grade.objects.exclude(reply_block=None).values_list("reply", flat=True)) == {""}
    block = ReplyBlock.objects.get()
    assert (block.number, block.topic_id, block.collection.slug) == (17, cells[0][0], "autumn")
    assert kept_texts() == [*[row.reply for row in given[:19]], given[19].answer]
    assert Grade.objects.latest("pk").reply == given[19].reply


def test_few_long_replies_wait_in_their_rows(cells, config):
    store.save_grades(config, rows(cells[:3]))
    assert not ReplyBlock.objects.exists()
    assert kept_texts() == [row.reply for row in rows(cells[:3])]


def test_a_block_has_a_limit(cells, config, monkeypatch):
    monkeypatch.setattr("rubricweb.grades.replies.BLOCK_REPLIES", 8)
    store.save_grades(config, rows(cells))
    assert sorted(ReplyBlock.objects.values_list("number", flat=True)) == [4, 8, 8]
    assert kept_texts() == [row.reply for row in rows(cells)]


def test_a_grade_that_is_replaced_has_its_new_reply(cells, config):
    store.save_grades(config, rows(cells))
    failed = Grade.objects.filter(revision=cells[0][1])
    failed.update(outcome="failed", rating=None, reply="no digit", reply_block=None)
    store.replace_failed(config, rows(cells[:1], reply=LONG.format("that is new")))
    store.replace_failed(config, rows(cells[1:2], reply="5"))
    assert kept_texts()[:2] == [LONG.format("that is new"), "5"]
    assert Grade.objects.get(revision=cells[1][1], passage=cells[1][2]).reply_block is None


def test_blocks_without_grades_go(cells, config):
    store.save_grades(config, rows(cells))
    some = Grade.objects.filter(revision=cells[0][1])
    store.remove_grades(config, cells[0][0], some)
    assert ReplyBlock.objects.count() == 1
    first, last = Grade.objects.earliest("pk").pk, Grade.objects.latest("pk").pk
    store.remove_between(first, last, topics=[cells[0][0]])
    assert not ReplyBlock.objects.exists()


def test_files_bring_and_name_the_same_replies_wherever_they_lie(collection, cells, config, tmp_path):
    store.save_new_grades(config, cells[0][0], [(*row[1:3], *row[3:7]) for row in rows(cells)])
    assert ReplyBlock.objects.get().number == 20
    path = tmp_path / "graded.jsonl"
    write_graded(path, graded_lines(collection, has_rankings=False))
    assert LONG.format(19) in path.read_text(encoding="utf-8")
    files = ImportFiles(graded=(path,))
    unchanged = {"new": 0, "changed": 0, "unchanged": 20}
    assert vars_of(import_collection("autumn", files=files, by=None)) == unchanged
    make_older(WEEK)
    assert drop(collection) == 20
    assert vars_of(import_collection("autumn", files=files, by=None)) == unchanged
    write_graded(path, graded_lines(collection, has_rankings=False))
    assert "4: «Anthocyanins»" not in path.read_text(encoding="utf-8")


def vars_of(summary) -> dict[str, int]:
    counts = summary.counts["grades"]
    return {"new": counts.new, "changed": counts.changed, "unchanged": counts.unchanged}


def test_a_file_that_replaces_brings_its_replies(collection, cells, config, tmp_path):
    store.save_grades(config, rows(cells))
    path = tmp_path / "graded.jsonl"
    write_graded(path, graded_lines(collection, has_rankings=False))
    path.write_text(path.read_text(encoding="utf-8").replace("sentence 7", "line 7"), encoding="utf-8")
    import_collection("autumn", files=ImportFiles(graded=(path,), replace=True), by=None)
    assert kept_texts()[7] == LONG.format(7).replace("sentence", "line")
    assert kept_texts()[8] == LONG.format(8)


def test_replies_of_earlier_versions_are_moved_in_steps(collection, cells, config, monkeypatch, capsys):
    monkeypatch.setattr(replies, "AT_ONCE", 8)
    in_rows(config, cells)
    call_command("pack_replies", "autumn")
    assert "autumn: 0 replies moved" in capsys.readouterr().out  # others may still be on their way
    make_older(WEEK)
    call_command("pack_replies", "autumn")
    assert "autumn: 20 replies moved" in capsys.readouterr().out
    assert set(Grade.objects.values_list("reply", flat=True)) == {""}
    assert kept_texts() == [row.reply for row in rows(cells)]
    assert [block.number for block in ReplyBlock.objects.order_by("pk")] == [8, 8, 4]
    assert ReplyBlock.objects.latest("pk").at == Grade.objects.latest("pk").at
    call_command("pack_replies")
    assert "autumn: 0 replies moved" in capsys.readouterr().out


def test_young_replies_stay_in_their_rows_until_they_are_due(collection, cells, config):
    in_rows(config, cells[:10])
    make_older(WEEK)
    in_rows(config, cells[10:])
    assert drop(collection) == 10
    assert Grade.objects.filter(reply="").count() == 10
    assert replies.drop_some(ReplyPolicy.objects.get()).steps == 0


def test_what_is_older_than_the_policy_says_is_dropped(collection, cells, config):
    store.save_grades(config, rows(cells))
    before = list(Grade.objects.order_by("pk").values("rating", "outcome", "answer", "at"))
    assert drop(collection) == 0
    make_older(WEEK)
    replies.drop_due()
    known = raw_replies(Grade.objects.all())
    assert {one.text for one in known.values()} == {""}
    assert {one.dropped_at.date() for one in known.values()} == {timezone.now().date()}
    assert list(Grade.objects.order_by("pk").values("rating", "outcome", "answer")) == [
        {name: row[name] for name in ("rating", "outcome", "answer")} for row in before
    ]
    replies.drop_due()
    assert ReplyBlock.objects.get().dropped == 20


def test_replies_that_people_may_look_at_again_stay(bank, collection, cells, config, owner):
    in_rows(config, cells)
    items = list(bank.items.order_by("pk"))
    passages = [row.passage for row in items[0].topic.pool.order_by("pk")]
    rate_cell(Cell.of(items[0], passages[0]), rating=2, by=owner, seen=0)
    subject = Subject(bank, items[0].topic, items[1], passages[1])
    open_flag(subject, kind=Flag.Kind.COMMENT, by=owner, text="Look at this.")
    Grade.objects.filter(revision=items[2].revision_id, passage=passages[2]).update(outcome="defaulted")
    Grade.objects.filter(revision=items[3].revision_id, passage=passages[3]).update(
        outcome="failed", rating=None
    )
    make_older(WEEK)
    assert drop(collection) == 16
    assert [place for place, text in enumerate(kept_texts()) if text] == [0, 6, 12]
    assert Grade.objects.get(outcome="failed").reply == LONG.format(18)


def test_a_damaged_block_has_no_replies(cells, config, caplog):
    store.save_grades(config, rows(cells))
    ReplyBlock.objects.update(content=b"x" * 40)
    assert set(kept_texts()) == {""}
    assert "damaged" in caplog.text


def test_no_reply_is_a_block_too():
    assert texts_of(content_of({})) == {}


def test_workers_and_a_command_drop(collection, cells, config, capsys):
    assert "rubricweb.grades.replies.drop_due" in settings.WORKER_DUTIES
    store.save_grades(config, rows(cells))
    make_older(WEEK)
    with pytest.raises(CommandError, match="autumn: replies are kept for ever"):
        call_command("drop_replies", "autumn")
    keep_replies(collection, 5, by=None)
    call_command("drop_replies")
    assert "autumn: 20 replies dropped" in capsys.readouterr().out


def test_an_organizer_says_how_long(client_of, owner, assessor, outsider, collection, cells, config):
    store.save_grades(config, rows(cells))
    make_older(timedelta(days=40))
    address = reverse("graders:replies", args=[collection.slug])
    assert client_of(outsider).post(address).status_code == 404
    assert client_of(assessor).post(address).status_code == 403
    client = client_of(owner)
    assert stored(collection).number == 20
    assert stored(collection).older == ((30, 20), (90, 0), (365, 0))
    client.post(address, {"days": "0"})
    assert not ReplyPolicy.objects.exists()
    assert client.post(address, {"days": "30"}).status_code == 302
    assert client.post(address, {"days": "30"}).status_code == 302
    entry = AuditEntry.objects.get(verb="keeping of replies changed")
    assert (entry.by, entry.detail) == (owner, "for 30 days")
    replies.drop_due()
    page = client.get(reverse("graders:graders", args=[collection.slug])).content.decode()
    assert "20 were dropped" in page
    client.post(address, {"days": ""})
    assert ReplyPolicy.objects.get().days is None
    assert client.put(address).status_code == 405
