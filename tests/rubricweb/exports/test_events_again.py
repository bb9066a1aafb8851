"""What people did, exported and imported again: into its collection, into another one, and undone."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.urls import reverse

from rubricweb.accounts.models import User
from rubricweb.arena.actions import Ballot, VoteReason, choose_battle, give_reason, take_back, vote
from rubricweb.arena.answers import counted_votes
from rubricweb.arena.models import Battle, Reason, Vote
from rubricweb.core.models import AuditEntry
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, ShownRating, rate_cell, record_verdict, undo
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.visibility import visible_human_grades
from rubricweb.imports.models import Import
from rubricweb.review.flags.actions import assign, open_flag, reply, resolve
from rubricweb.review.models import Flag, FlagEvent, Kind, Subject
from rubricweb.support.actions import label_citation
from rubricweb.support.labels import CitationKey
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel
from tests.factories import MembershipFactory
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, passage, rated, response, uid
from tests.rubricweb.imports.conftest import PAGE, upload, worked
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.django_db
__all__ = ["upload"]

FILES = {
    "ratings": ("exports:human-grades", {}, {"file": "jsonl"}),
    "flags": ("exports:flags", {}, {"format": "jsonl"}),
    "votes": ("arena:votes-file", {"form": "jsonl"}, {}),
    "support": ("exports:support", {"file": "jsonl"}, {}),
}
"""By content: the route, its parameters and what is sent."""
OPTIONS = {"support": "--support-labels"}
"""Options of the command that are not called by their content."""


@pytest.fixture
def client(client_of, owner):
    return client_of(owner)


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def both(collection, owner, assessor, developer, folder) -> dict[str, Collection]:
    """Autumn, where people worked, and spring, which has the same topics, passages, bank and runs."""
    grades = rated({uid(RED): 5, uid(FALL): 1})
    files = (
        *("--queries", folder.queries(), "--bank", folder.lines("bank.jsonl", bank_line(RED, FALL))),
        *("--graded", folder.graded(passage("d1", grades), passage("d2", grades))),
        *(
            "--responses",
            folder.lines("m.jsonl", response("maple", "t1", "Leaves turn red.", "Frost helps.")),
        ),
        *("--responses", folder.lines("o.jsonl", response("oak", "t1", "Nobody knows."))),
    )
    for slug in ("autumn", "spring"):
        folder.load(*files, slug=slug)
    spring = Collection.objects.get(slug="spring")
    MembershipFactory(user=owner, collection=spring, role="organizer")
    _work(collection, owner, assessor, developer)
    return {"autumn": collection, "spring": spring}


def _work(collection: Collection, owner: User, assessor: User, developer: User) -> None:
    """Ratings, a change, an undo and a verdict; threads; votes; labels."""
    bank, topic = collection.banks.get(), collection.topics.get()
    red, fall = bank.items.order_by("pk")
    first, second = (collection.passages.get(doc_id=doc_id) for doc_id in ("d1", "d2"))
    rate_cell(Cell.of(red, first), rating=1, by=assessor, seen=0, how=HumanGrade.How.BLIND)
    rate_cell(Cell.of(red, first), rating=4, by=assessor, seen=1)
    rate_cell(Cell.of(fall, second), rating=2, by=assessor, seen=0)
    undo(Cell.of(fall, second), by=assessor, seen=1)
    rating = ShownRating(GraderConfig.objects.get(), 5)
    record_verdict(Cell.of(red, second), verdict="wrong", by=owner, seen=0, displayed=rating, rating=3)
    rate_cell(Cell.of(red, first), rating=0, by=owner, seen=0)
    flag = open_flag(Subject(bank, topic, red), kind=Kind.UNCLEAR, by=assessor, text="Which pigment?")
    assign(flag, to=developer, seen=1, by=owner)
    reply(flag, text="All of them.\u2028Really.", by=developer)
    resolve(flag, seen=3, by=developer)
    open_flag(Subject(bank, topic, None, first), kind=Kind.UNCOVERED, by=None)
    open_flag(Subject(bank, topic, fall, second), kind=Kind.COMMENT, by=owner, text="Look.")
    maple, oak = collection.runs.order_by("run_tag")
    battle = choose_battle(topic, maple, oak, by=assessor)
    vote(battle, Ballot(Vote.Verdict.LEFT, Vote.Verdict.TIE, uuid4()), by=assessor, seen=0)
    give_reason(battle, VoteReason(frozenset({Reason.Tag.CORRECT}), "It says why.", uuid4()), by=assessor)
    take_back(battle, by=assessor, seen=1, uid=uuid4())
    vote(battle, Ballot(Vote.Verdict.BOTH_BAD, None, uuid4()), by=assessor, seen=2)
    citation = CitationKey(topic.pk, "0f4e1d6d5cf0f1ad2b1cbf3ad1b9a111", "d1")
    judge = SupportJudge.objects.create(collection=collection, backend="openai", llm="j-1", prompt_id="S@1")
    label = SupportLabel.objects.create(judge=judge, **citation._asdict(), label=2, reply="full")
    SupportLabel.objects.create(judge=judge, **citation._replace(doc_id="d2")._asdict(), reply="?\n?")
    label_citation(citation, label=1, by=assessor, seen=label)
    label_citation(citation, label=0, by=owner)


class Files:
    """Downloads of a collection, and imports of them."""

    def __init__(self, client, folder: Folder) -> None:
        self._client, self._folder = client, folder

    def download(self, slug: str, option: str, **query: str) -> Path:
        route, parameters, usual = FILES[option]
        answer = self._client.get(reverse(route, kwargs={"slug": slug, **parameters}), usual | query)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return self._folder.write(f"{slug}-{option}.jsonl", content)

    def load(self, slug: str, option: str, path: Path) -> dict[str, Any]:
        return self._folder.load(OPTIONS.get(option, f"--{option}"), path, slug=slug)


@pytest.fixture
def files(client, folder) -> Files:
    return Files(client, folder)


def plain(path: Path) -> list[dict[str, Any]]:
    """The lines without ids and without who did it, which differ from one collection to the other."""
    return [_plain(json.loads(line)) for line in path.read_text().split("\n") if line]


def _plain(value: Any) -> Any:
    left_out = {"event", "event_id", "flag_id", "assessor", "voter", "by", "person", "assignee", "campaign"}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key not in left_out or part == "model"}
    return [_plain(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("names", [{}, {"names": "1"}], ids=["pseudonyms", "names"])
@pytest.mark.parametrize("option", FILES)
def test_an_export_adds_nothing_to_its_collection(option, names, both, files):
    path = files.download("autumn", option, **names)
    assert len(plain(path)) > 1
    document = files.load("autumn", option, path)
    assert (document["changed"], document["notes"]) == (False, [])
    assert {count["new"] + count["changed"] for count in document["counts"].values()} == {0}
    assert any(count["unchanged"] for kind, count in document["counts"].items() if kind != "collections")


@pytest.mark.parametrize("option", FILES)
def test_an_export_is_the_same_in_another_collection(option, both, files):
    """And once more from there, and back: nothing is doubled."""
    first = files.download("autumn", option)
    document = files.load("spring", option, first)
    assert document["changed"]
    assert any("accounts that cannot sign in stand for" in note for note in document["notes"])
    second = files.download("spring", option)
    assert plain(second) == plain(first)
    assert files.load("spring", option, first)["changed"] is False
    assert files.load("spring", option, second)["changed"] is False
    accounts = User.objects.count()
    assert files.load("autumn", option, second)["changed"] is False
    assert User.objects.count() == accounts


@pytest.mark.parametrize("option", ["ratings", "flags", "votes"])
def test_members_are_known_by_their_names(option, both, files, assessor, owner, developer):
    for person, role in ((assessor, "assessor"), (developer, "developer")):
        MembershipFactory(user=person, collection=both["spring"], role=role)
    document = files.load("spring", option, files.download("autumn", option, names="1"))
    assert document["notes"] == []
    authors = {
        "ratings": HumanGrade.objects.filter(topic__collection=both["spring"]).values_list("by", flat=True),
        "flags": FlagEvent.objects.filter(flag__bank__collection=both["spring"]).values_list("by", flat=True),
        "votes": Battle.objects.filter(collection=both["spring"]).values_list("person", flat=True),
    }[option]
    assert set(authors) - {None} <= {assessor.pk, owner.pk, developer.pk}
    entry = AuditEntry.objects.get(verb="work of people imported")
    assert f"{assessor.username} (" in entry.detail
    assert entry.collection_id == both["spring"].pk


def test_ratings_count_as_they_did(both, files):
    files.load("spring", "ratings", files.download("autumn", "ratings"))
    events = HumanGrade.objects.filter(topic__collection=both["spring"]).order_by("pk")
    assert [(event.number, event.rating, event.verdict, event.how) for event in events] == [
        (1, 1, "", "blind"),
        (2, 4, "", "grid"),
        (1, 2, "", "grid"),
        (2, None, "", "grid"),
        (1, 3, "wrong", "verified"),
        (1, 0, "", "grid"),
    ]
    verified = events.get(how="verified")
    assert (verified.config, verified.seen_rating) == (GraderConfig.objects.get(), 5)
    before = HumanGrade.objects.filter(topic__collection=both["autumn"]).order_by("pk")
    assert [event.at for event in events] == [event.at for event in before]
    assert not {event.uid for event in events} & {event.uid for event in before}


def test_a_rating_that_somebody_gave_since_is_not_replaced_by_an_older_one(both, files, assessor):
    spring = both["spring"]
    MembershipFactory(user=assessor, collection=spring, role="assessor")
    path = files.download("autumn", "ratings", names="1")
    item, text = spring.banks.get().items.order_by("pk").first(), spring.passages.get(doc_id="d1")
    rate_cell(Cell.of(item, text), rating=5, by=assessor, seen=0)
    document = files.load("spring", "ratings", path)
    assert any("the same person has rated here since: 2 (assessor)" in note for note in document["notes"])
    own = HumanGrade.objects.filter(by=assessor, revision=item.revision, passage=text)
    assert [event.rating for event in own] == [5]


def test_flags_stand_as_they_did(both, files):
    files.load("spring", "flags", files.download("autumn", "flags"))
    flags = Flag.objects.filter(bank__collection=both["spring"]).order_by("pk")
    assert [(flag.kind, flag.is_open, flag.version) for flag in flags] == [
        ("unclear", False, 4),
        ("uncovered", True, 1),
        ("comment", True, 1),
    ]
    first = flags.first()
    before = FlagEvent.objects.filter(flag__bank__collection=both["autumn"], flag__kind="unclear")
    assert list(first.events.values_list("at", flat=True)) == [event.at for event in before]
    assert {first.moved_at, first.resolved_at} == {before.last().at}
    assert first.item.revision == first.revision
    assert first.events.get(number=3).text == "All of them.\u2028Really."


def test_a_thread_that_went_on_is_continued(both, files, developer, owner):
    early = files.download("autumn", "flags").read_bytes()
    flag = Flag.objects.get(bank__collection=both["autumn"], kind="comment")
    reply(flag, text="Done.", by=owner)
    late = files.download("autumn", "flags")
    files.load("spring", "flags", files._folder.write("early.jsonl", early))
    document = files.load("spring", "flags", late)
    assert document["counts"]["flag_events"]["new"] == 1
    assert document["counts"]["flags"] == {"new": 0, "changed": 1, "unchanged": 3}
    assert Flag.objects.get(bank__collection=both["spring"], kind="comment").version == 2


def test_votes_count_as_they_did(both, files):
    files.load("spring", "votes", files.download("autumn", "votes"))
    counted = {slug: counted_votes(both[slug], with_named=True) for slug in both}
    assert [each.verdict for each in counted["spring"].votes] == ["both_bad"]
    assert [each.verdict for each in counted["autumn"].votes] == ["both_bad"]
    reason = Reason.objects.get(vote__battle__collection=both["spring"])
    assert (reason.tags, reason.text, reason.vote.number) == (["correct"], "It says why.", 1)


def test_a_vote_on_another_answer_does_not_count(both, files, folder):
    path = files.download("autumn", "votes")
    text = path.read_text().replace(json.loads(path.read_text().split("\n")[0])["left_digest"], "0" * 64)
    document = files.load("spring", "votes", folder.write("other.jsonl", text))
    assert any("1 battles are of answers that the collection has otherwise" in n for n in document["notes"])


def test_labels_are_of_the_same_judge(both, files):
    files.load("spring", "support", files.download("autumn", "support"))
    judge = SupportJudge.objects.get(collection=both["spring"])
    assert (judge.backend, judge.llm, judge.prompt_id) == ("openai", "j-1", "S@1")
    labels = SupportLabel.objects.filter(judge=judge).order_by("pk")
    assert [(label.label, label.reply) for label in labels] == [(2, "full"), (None, "?\n?")]
    events = SupportEvent.objects.filter(topic__collection=both["spring"]).order_by("pk")
    assert [(event.label, event.seen_label, event.seen_judge) for event in events] == [
        (1, 2, judge),
        (0, None, None),
    ]


def test_a_label_that_contradicts_is_refused_and_nothing_is_imported(both, files, folder):
    path = files.download("autumn", "support")
    files.load("spring", "support", path)
    changed = folder.write("changed.jsonl", path.read_text().replace('"label":2', '"label":0', 1))
    before = list(SupportLabel.objects.values())
    with pytest.raises(CommandError, match=r"changed.jsonl:1: the label of j-1, S@1 .* is 0 here and 2 in"):
        files.load("spring", "support", changed)
    assert list(SupportLabel.objects.values()) == before


def test_import_leaves_out_and_names_what_the_collection_lacks(both, files, folder):
    for option, note in (
        ("ratings", "ratings of questions or nuggets that the collection lacks: "),
        ("flags", "flags of rubrics, items or passages that the collection lacks: 3"),
        ("votes", "votes on topics or runs that the collection lacks: 3 (maple and oak on t1)"),
    ):
        path = files.download("autumn", option)
        folder.load("--queries", folder.queries(), "--graded", folder.graded(passage("d1")), slug="empty")
        document = folder.load(OPTIONS.get(option, f"--{option}"), path, slug="empty")
        assert any(note in given for given in document["notes"]), (option, document["notes"])
        assert not document["changed"]


@pytest.mark.parametrize("option", FILES)
def test_an_import_in_the_browser_is_checked_made_and_undone(option, both, files, client, tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    models = (HumanGrade, Flag, FlagEvent, Battle, Vote, Reason, SupportLabel, SupportEvent, SupportJudge)

    def rows() -> list[list[dict[str, Any]]]:
        return [list(model._base_manager.order_by("pk").values()) for model in models]

    path, before = files.download("autumn", option), rows()
    page = PAGE.replace("autumn", "spring")
    with path.open("rb") as content:
        client.post(page, {"uploads": [content], "pasted": ""})
    batch = worked(Import.objects.latest("pk"))
    assert batch.files.get().format == f"rubricweb-{'labels' if option == 'support' else option}"
    assert rows() == before
    client.post(f"{page}{batch.pk}/start/", {"bank_name": "main"})
    made = worked(batch)
    assert made.is_imported
    assert made.counts == batch.counts
    assert rows() != before
    client.post(f"{page}{batch.pk}/undo/")
    assert Import.objects.get().undone_at is not None
    assert rows() == before


def test_imported_ratings_stay_hidden_from_whom_rates_blind(both, files, viewer, client_of):
    """Imported ratings of cells that somebody still has to rate blind."""
    spring = both["spring"]
    MembershipFactory(user=viewer, collection=spring, role="assessor")
    blind_campaign(spring.banks.get(), by=spring.memberships.get(role="organizer").user, assignees=[viewer])
    files.load("spring", "ratings", files.download("autumn", "ratings"))
    rows = HumanGrade.objects.filter(topic__collection=spring)
    with reading_as(Reader(SimpleNamespace(user=viewer))):
        assert visible_human_grades(rows, spring.pk).count() < rows.count()
