"""Flags as events: in turn, saved once, and decided only by those who saw them as they are."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from rubricweb.banks.actions import revise_item
from rubricweb.core import events
from rubricweb.core.models import AuditEntry
from rubricweb.review.flags import actions, open_by_topic, open_counts, threads
from rubricweb.review.flags.actions import EmptyComment, MovedMeanwhile, UnfitAssignee, UnfitKind
from rubricweb.review.models import Flag, FlagEvent, Kind


@pytest.fixture
def flag(place, assessor):
    return actions.open_flag(place.cell, kind=Kind.SPURIOUS, text="Only the topic's words.", by=assessor)


def said(flag):
    return list(flag.events.values_list("number", "verb", "text", "by__username"))


def test_a_thread_keeps_everything_in_order(flag, assessor, developer):
    actions.reply(flag, text=" Which words? ", by=developer)
    actions.assign(flag, to=developer, seen=2, by=developer)
    actions.resolve(flag, seen=3, text="Reworded.", by=developer)
    actions.reopen(flag, seen=4, by=assessor)
    assert said(flag) == [
        (1, "opened", "Only the topic's words.", "assessor"),
        (2, "replied", "Which words?", "developer"),
        (3, "assigned", "", "developer"),
        (4, "resolved", "Reworded.", "developer"),
        (5, "reopened", "", "assessor"),
    ]
    flag.refresh_from_db()
    assert (flag.version, flag.is_open, flag.assignee) == (5, True, developer)
    assert flag.events.get(number=3).assignee == developer
    verbs = AuditEntry.objects.filter(kind="flag", object_id=flag.pk).order_by("pk")
    assert [entry.verb for entry in verbs] == [f"flag {verb}" for _, verb, *_ in said(flag)]


@pytest.mark.parametrize(
    ("subject", "refused"),
    [
        ("item", {Kind.UNCOVERED}),
        ("passage", {Kind.SPURIOUS, Kind.WRONG_ANSWER}),
        ("cell", set()),
    ],
)
def test_what_can_be_wrong_with_what(place, assessor, subject, refused):
    about = getattr(place, subject)
    assert set(Kind) - set(about.kinds) == refused
    for kind in Kind:
        if kind in refused:
            with pytest.raises(UnfitKind):
                actions.open_flag(about, kind=kind, text="Look.", by=assessor)
        else:
            assert actions.open_flag(about, kind=kind, text="Look.", by=assessor).kind == kind


def test_a_comment_needs_words_and_a_flag_does_not(place, flag, assessor):
    with pytest.raises(EmptyComment):
        actions.open_flag(place.item, kind=Kind.COMMENT, text=" \n", by=assessor)
    with pytest.raises(EmptyComment):
        actions.reply(flag, text="", by=assessor)
    assert actions.open_flag(place.item, kind=Kind.UNCLEAR, by=assessor).events.get().text == ""


def test_sending_twice_saves_once(place, assessor):
    uid, other = uuid4(), uuid4()
    first = actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor, uid=uid)
    assert actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor, uid=uid) == first
    for _ in range(2):
        actions.resolve(first, seen=1, by=assessor, uid=other)
    assert [verb for _, verb, *_ in said(first)] == ["opened", "resolved"]
    assert Flag.objects.count() == 1


def test_who_flags_again_in_the_same_way_finds_the_open_flag(flag, place, assessor, developer):
    again = {"kind": Kind.SPURIOUS, "by": assessor}
    assert actions.open_flag(place.cell, **again) == flag
    assert actions.open_flag(place.cell, text="In all of them.", **again) == flag
    assert said(flag) == [
        (1, "opened", "Only the topic's words.", "assessor"),
        (2, "replied", "In all of them.", "assessor"),
    ]


@pytest.mark.parametrize(
    ("subject", "kind", "by"),
    [
        ("cell", Kind.SPURIOUS, "developer"),
        ("cell", Kind.UNCLEAR, "assessor"),
        ("item", Kind.SPURIOUS, "assessor"),
    ],
)
def test_another_person_kind_or_subject_is_another_flag(flag, place, assessor, developer, subject, kind, by):
    person = {"assessor": assessor, "developer": developer}[by]
    assert actions.open_flag(getattr(place, subject), kind=kind, by=person) != flag


def test_each_comment_is_a_flag_of_its_own(place, assessor):
    first, second = (
        actions.open_flag(place.cell, kind=Kind.COMMENT, text="Hm.", by=assessor) for _ in range(2)
    )
    assert first != second


def test_what_was_resolved_or_reworded_is_flagged_anew(flag, place, assessor, developer):
    actions.resolve(flag, seen=1, by=developer)
    second = actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor)
    assert second != flag
    revise_item(place.items[0], text="Which pigment?", seen=1, by=developer)
    place.items[0].refresh_from_db()
    assert actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor) != second


def test_who_decides_must_have_seen_everything(flag, assessor, developer):
    actions.reply(flag, text="Wait.", by=assessor)
    for decide in (actions.resolve, actions.reopen):
        with pytest.raises(MovedMeanwhile) as refused:
            decide(flag, seen=1, by=developer)
        assert [event.text for event in refused.value.since] == ["Wait."]
    with pytest.raises(MovedMeanwhile):
        actions.assign(flag, to=developer, seen=1, by=developer)
    flag.refresh_from_db()
    assert (flag.version, flag.is_open, flag.assignee) == (2, True, None)
    actions.reply(flag, text="A reply needs no version.", by=developer)
    assert actions.resolve(flag, seen=3, by=developer).is_open is False


def test_only_members_who_may_answer_are_assigned(flag, developer, viewer, outsider):
    for nobody in (viewer, outsider):
        with pytest.raises(UnfitAssignee):
            actions.assign(flag, to=nobody, seen=1, by=developer)
    assert actions.assign(flag, to=developer, seen=1, by=developer).assignee == developer
    assert actions.assign(flag, to=None, seen=2, by=developer).assignee is None


def test_a_flag_remembers_the_words_that_it_was_about(flag, place, developer):
    words = flag.revision
    revise_item(place.items[0], text="Which pigment?", seen=1, by=developer)
    flag = Flag.objects.get(pk=flag.pk)
    assert flag.revision == words
    assert flag.is_reworded


def test_every_change_sends_the_event_after_commit(
    place, assessor, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(events, "publish", lambda channel, name: sent.append((channel, name)))
    with django_capture_on_commit_callbacks(execute=True):
        flag = actions.open_flag(place.item, kind=Kind.SPURIOUS, by=assessor)
        actions.reply(flag, text="So?", by=assessor)
        assert sent == []
    assert sent == [(place.bank.collection.channel, "flags")] * 2


def test_counts_are_of_open_flags_where_they_are(place, assessor, developer):
    actions.open_flag(place.cell, kind=Kind.UNCLEAR, by=developer)
    for about in (place.item, place.cell, place.passage):
        last = actions.open_flag(about, kind=Kind.UNCLEAR, by=assessor)
    item, passage = place.items[0].pk, place.passages[0].pk
    counts = open_counts(place.bank, place.topic.pk)
    assert (counts.items, counts.passages, counts.cells) == ({item: 1}, {passage: 1}, {(item, passage): 2})
    assert open_by_topic(place.bank) == {place.topic.pk: 4}
    actions.resolve(last, seen=1, by=assessor)
    assert open_counts(place.bank, place.topic.pk).passages == {}
    assert open_by_topic(place.bank) == {place.topic.pk: 3}


def test_threads_are_of_exactly_this_and_open_ones_come_first(place, assessor, developer):
    old, new = (actions.open_flag(place.cell, kind=Kind.UNCLEAR, by=by) for by in (assessor, developer))
    actions.open_flag(place.item, kind=Kind.UNCLEAR, by=assessor)
    actions.resolve(old, seen=1, by=assessor)
    assert [thread.flag for thread in threads(place.cell, assessor)] == [new, old]


@pytest.mark.parametrize(
    "fields", [{"item": None, "passage": None, "revision": None}, {"revision": None}, {"item": None}]
)
def test_the_database_refuses_flags_about_nothing_or_without_words(flag, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        Flag.objects.filter(pk=flag.pk).update(**fields)


def test_the_database_refuses_two_events_of_one_number(flag):
    with pytest.raises(IntegrityError), transaction.atomic():
        FlagEvent.objects.create(flag=flag, number=1, verb="replied", text="Me too.")


def test_names_for_people(flag):
    assert str(flag) == f"misleading ({flag.pk})"
    assert str(flag.events.get()) == "opened as event 1"
    assert flag.at <= timezone.now()
