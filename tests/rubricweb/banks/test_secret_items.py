"""What becomes secret with an item, and who does not see it: on no route, in no file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from grading.types import ItemKind, text_md5
from rubricweb.accounts.roles import Role
from rubricweb.banks import actions
from rubricweb.banks.changes import EditConflict, StaysSecret, hide_item, show_item
from rubricweb.banks.models import AnswerKey, Item, ItemChange
from rubricweb.banks.selectors import banks_with_texts, key_counts, keys_of
from rubricweb.banks.versions import bank_stamp, name_version, restore_version
from rubricweb.campaigns.models import CampaignCell
from rubricweb.campaigns.population import CellChoice, chosen
from rubricweb.core.reader import Reader, reading_as
from rubricweb.graders.models import DryRun
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.grades.raters import KINDS, raters
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Flag, Kind, Subject
from tests.factories import (
    BankFactory,
    ItemFactory,
    MembershipFactory,
    UserFactory,
    gradable,
    lexical_config,
    take,
)
from tests.rubricweb.looked_up import looking_up
from tests.rubricweb.routes import Route, routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = pytest.mark.django_db

NOW, BEFORE, KEY = "Does zanthoxyl glow at dusk?", "Does quillwort glow at dawn?", "vermilionish"
PLANTED = ("zanthoxyl", "quillwort", KEY, "skirrets", "marcescent", text_md5(NOW), text_md5(BEFORE))
"""Of the item: words of both wordings, the answer, a reply, a flag, and the digests in its ids."""


def reworded(item: Item, text: str) -> Item:
    return actions.revise_item(item, text=text, seen=item.version, by=None)


def hide(item: Item) -> Item:
    return hide_item(item, seen=item.version, by=None)


def is_secret(*items: Item) -> list[bool]:
    return [Item.objects.get(pk=item.pk).is_secret for item in items]


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, items=3)


def test_its_history_duplicates_and_equal_items_of_other_banks_become_secret_too(bank, developer):
    item, kept, duplicate, *_ = bank.items.all()
    reworded(item, BEFORE)
    reworded(item, NOW)
    actions.merge_items(item, duplicate, seen=1, by=developer)
    twin = ItemFactory(bank=BankFactory(collection=bank.collection, name="other"), topic=item.topic, text=NOW)
    hide_item(item, seen=item.version, by=developer)
    assert is_secret(item, duplicate, twin, kept) == [True, True, True, False]
    assert all(change.revision.is_secret for change in item.changes.all())
    change = twin.changes.first()
    assert (change.verb, change.by) == (ItemChange.Verb.HIDDEN, developer)
    assert NOW not in duplicate.changes.first().detail

    show_item(item, seen=item.version, by=developer)
    assert is_secret(item, duplicate, twin) == [False] * 3
    assert item.changes.first().verb == ItemChange.Verb.SHOWN


def test_new_words_of_a_secret_item_are_secret(bank):
    item, other, *_ = bank.items.all()
    hide(item)
    reworded(item, NOW)
    assert is_secret(item) == [True]
    reworded(other, BEFORE)
    assert is_secret(other) == [False]


def test_what_is_merged_into_a_secret_item_is_secret(bank, developer):
    keep, duplicate, *_ = bank.items.all()
    hide(keep)
    actions.merge_items(keep, duplicate, seen=duplicate.version, by=developer)
    assert is_secret(duplicate) == [True]
    assert str(keep) not in duplicate.changes.first().detail


def test_an_item_stays_secret_while_a_secret_one_had_its_words(bank):
    topic, other = bank.collection.topics.first(), BankFactory(collection=bank.collection, name="other")
    item = actions.add_item(bank, topic, kind=ItemKind.QUESTION, text=BEFORE, by=None)
    reworded(item, NOW)
    hide(item)
    twin = actions.add_item(other, topic, kind=ItemKind.QUESTION, text=BEFORE, by=None)
    assert is_secret(twin) == [True]
    with pytest.raises(StaysSecret):
        show_item(twin, seen=twin.version, by=None)


def test_somebody_elses_change_is_a_conflict(bank):
    item = bank.items.first()
    with pytest.raises(EditConflict):
        hide_item(item, seen=7, by=None)
    assert is_secret(item) == [False]


def test_selected_items_are_made_secret_and_public_together(bank, developer, assessor, client_of):
    topic = bank.collection.topics.first()
    first, second, *rest = bank.items.filter(topic=topic)
    address = reverse("editor:items-change", args=[bank.pk, topic.pk])
    selected = [f"{item.pk}:{item.version}" for item in (first, second)]
    hiding = {"item": selected, "act": "hide"}
    bank.collection.assessors_edit = True
    bank.collection.save()
    assert client_of(assessor).post(address, hiding).status_code == 403, (
        "who edits may still not read secrets"
    )
    assert is_secret(first, second) == [False, False]
    done = client_of(developer).post(address, hiding, follow=True).content.decode()
    assert "2 items made secret." in done
    assert 'data-shows="secret"' in done
    assert is_secret(first, second, *rest) == [True, True, *[False] * len(rest)]
    showing = {"item": [f"{second.pk}:0"], "act": "show"}
    assert "1 item made public." in client_of(developer).post(address, showing, follow=True).content.decode()
    assert is_secret(first, second) == [True, False]


def test_a_restored_version_brings_secret_items_back_as_they_are(bank, developer):
    item = bank.items.first()
    version = name_version(bank, name="First", by=developer)
    reworded(item, NOW)
    hide(item)
    restore_version(version, seen=bank_stamp(bank), by=developer)
    assert is_secret(item) == [True]


def test_campaigns_take_no_secret_cells_and_hand_none_out(bank, owner, assessor):
    campaign = blind_campaign(bank, by=owner, assignees=[assessor])
    item = campaign.cells.order_by("order").first().item
    hide(item)
    turns = take(campaign, assessor, count=30)
    assert turns
    assert item.pk not in {turn.cell.item_id for turn in turns}
    choice = CellChoice(
        bank, tuple(bank.collection.topics.all()), frozenset(KINDS), raters(bank)[0], size=100
    )
    assert item.pk not in {cell.item for cell in chosen(choice, seed=1).cells}


class World:
    """A graded collection with a campaign, one item of which is secret and planted all over."""

    def __init__(self, collection, owner) -> None:
        second = MembershipFactory(
            user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
        )
        self.bank = world(collection, owner, second.user)
        self.campaign = blind_campaign(self.bank, by=owner, assignees=[owner])
        self.known = parameters(self.bank, owner, self.campaign)
        self.item = Item.objects.get(pk=self.known["item_id"])
        self._plant(owner)

    def _plant(self, owner) -> None:
        """The item was reworded twice, and all that is known of its cells belongs to the last wording."""
        item, first = self.item, self.item.revision
        reworded(item, BEFORE)
        reworded(item, NOW)
        actions.set_answer_keys(item, texts=[KEY], seen=item.version, by=owner)
        now = item.revision
        Grade.objects.filter(revision=first).update(revision=now, reply="skirrets", answer="skirrets")
        HumanGrade.objects.filter(revision=first).update(revision=now)
        CampaignCell.objects.filter(item=item).update(revision=now)
        DryRun.objects.update(revision=now)
        Flag.objects.filter(item=item).update(revision=now)
        for stamp in (MatrixStamp, HumanStamp):
            stamp.objects.update(number=F("number") + 1)
        subject = Subject(self.bank, item.topic, item)
        flag = open_flag(subject, kind=Kind.COMMENT, text="marcescent", by=owner)
        self.known |= {"revision_id": now.pk, "flag_id": flag.pk}


QUERIES = (
    "version=1",
    "format=json&source=humans",
    "format=jsonl&view=pairs&all=1",
    "format=trec_eval&view=runs&by_subtopic=1",
    "file=tsv&names=1&secret=1&dialect=v3",
    "before=1&after=now",
    "run=alpha&was_source=humans&was_min_grade=2&measure=cover",
    "at={passage_id}-{item_id}&item={item_id}&changed={item_id}&open={item_id}&topic={topic_id}&wording=1",
)


PARTS = ("leaderboards", "review", "others")
"""All routes, cut so that processes share them."""


def routes_of(part: str) -> list[Route]:
    rooms = {route: route.name.split(":")[0] for route in routes()}
    return [
        route for route, room in rooms.items() if room == part or (part == "others" and room not in PARTS)
    ]


def told(
    client: Client, known: dict[str, object], asked: list[Route], queries: Iterable[str] = QUERIES
) -> dict[str, set[str]]:
    """By what was asked: the planted words that came back. What reads no wording is asked only once."""
    found: dict[str, set[str]] = {}
    for route in asked:
        address = route.address(known)
        with CaptureQueriesContext(connection) as captured, looking_up() as may_change:
            found[f"GET {address}"] = planted_in(client.get(address)) if route.has_page else set()
        reads = any("banks_itemrevision" in query["sql"] for query in captured)
        for query in filter(may_change, queries) if reads else ():
            varied = f"{address}?{query.format(**known)}"
            found[f"GET {varied}"] = planted_in(client.get(varied))
        with transaction.atomic():
            sent = {"kind": "question", "text": "Which?", "look": "1", "item": known["item_id"]}
            found[f"POST {address}"] = planted_in(client.post(address, sent))
            transaction.set_rollback(True)
    return {asked: words for asked, words in found.items() if words}


def planted_in(response) -> set[str]:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    return {word for word in PLANTED if word in body.decode(errors="replace")}


@pytest.fixture
def made(collection, owner):
    return World(collection, owner)


@pytest.fixture
def readers(collection, assessor, viewer, client_of) -> dict[str, Client]:
    """Everybody below topic developer."""
    participant = MembershipFactory(collection=collection, role=Role.PARTICIPANT, team="maple").user
    clients = {"assessor": assessor, "viewer": viewer, "participant": participant}
    return {name: client_of(person) for name, person in clients.items()} | {"nobody": Client()}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.portable
def test_nobody_below_topic_developer_is_told_of_it(part, made, readers):
    asked = routes_of(part)
    shown = set().union(*told(readers["assessor"], made.known, asked, queries=()).values())
    assert len(shown) >= {"leaderboards": 1, "review": 3, "others": 4}[part], "while it is public"
    hide(made.item)
    for name, client in readers.items():
        queries = QUERIES if name == "assessor" else ()
        assert told(client, made.known, asked, queries) == {}, name
    other = made.item.topic.items.exclude(pk=made.item.pk).first()
    of_items = [route for route in asked if "item_id" in route.parameters]
    assert told(readers["viewer"], made.known | {"item_id": other.pk}, of_items) == {}


@pytest.mark.portable
def test_topic_developers_read_it_but_no_file_has_it(made, developer, owner, client_of):
    hide(made.item)
    page = client_of(developer).get(f"/review/banks/{made.bank.pk}/topics/{made.item.topic_id}/")
    assert NOW in page.content.decode()
    files = [route for route in routes() if route.name.startswith("exports:")]
    assert told(client_of(developer), made.known, files) == {}
    assert [asked for asked in told(client_of(owner), made.known, files) if "secret=1" not in asked] == []


def test_scores_are_the_same_for_every_role(made, owner, assessor, viewer, client_of):
    made.campaign.delete()
    hide(made.item)
    query = f"format=json&grader={lexical_config().pk}&bank={made.bank.pk}"
    address = f"/collections/autumn/exports/leaderboard/?{query}"

    def rows(person) -> object:
        answer = json.loads(b"".join(client_of(person).get(address).streaming_content))
        return [(row["rank"], row["score"]) for row in answer["rows"]]

    assert rows(viewer) == rows(assessor) == rows(owner)
    page = client_of(viewer).get(
        reverse("leaderboards:board", args=["autumn"]), {"grader": lexical_config().pk, "bank": made.bank.pk}
    )
    assert "1, which only topic developers and organizers may read" in page.content.decode()


def test_commands_write_it_only_when_asked(made, capsys):
    hide(made.item)
    call_command("export_bank", "autumn", "main")
    assert not [word for word in PLANTED if word in capsys.readouterr().out]
    call_command("export_bank", "autumn", "main", "--with-secret")
    assert NOW in capsys.readouterr().out


def test_a_bank_whose_texts_are_all_secret_has_texts_for_those_who_may_see_them(bank, developer, viewer):
    for item in bank.items.all():
        hide(item)
    for person, found in ((developer, {bank}), (viewer, set())):
        with reading_as(Reader(request=SimpleNamespace(user=person))):
            assert banks_with_texts([bank]) == found


def test_accepted_answers_of_secret_items_are_for_those_who_may_see_them(bank, developer, viewer):
    item = hide(bank.items.first())
    AnswerKey.objects.create(revision=item.revision, text="Chlorophyll")
    for person, keys, counts in (
        (developer, {item.revision_id: ("Chlorophyll",)}, {item.revision_id: 1}),
        (viewer, {}, {}),
    ):
        with reading_as(Reader(request=SimpleNamespace(user=person))):
            assert keys_of([item.revision_id]) == keys
            assert key_counts(item.topic) == counts
