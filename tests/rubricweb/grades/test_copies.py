"""Who is to rate a cell blind reads no grade of a copy of its item, by whatever door the copy came."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.urls import reverse

from grading.types import MISSING, ItemKind, item_id
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks import actions as banks
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.versions import bank_stamp, name_version, restore_version
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import CampaignCell
from rubricweb.campaigns.population import CellChoice
from rubricweb.core.models import new_stamp
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.graders.models import DryRun
from rubricweb.grades import actions
from rubricweb.grades.human_ratings import rate_cell
from rubricweb.grades.matrices import topic_grades
from rubricweb.grades.models import Grade, JobChunk
from rubricweb.grades.raters import KINDS, raters
from rubricweb.grades.visibility import visible_grades
from rubricweb.jobs.worker import work_on
from tests.factories import (
    STRICT,
    BankFactory,
    MembershipFactory,
    PooledFactory,
    TopicFactory,
    UserFactory,
    gradable,
    lexical_config,
)

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
PASSAGES = 4


class Blind(NamedTuple):
    """One blind cell of `assessor`, and those who may make a copy of its item."""

    bank: Bank
    cell: CampaignCell
    spare: Item
    """An item that nobody rates."""
    assessor: User
    second: User

    @property
    def topic(self) -> Topic:
        return self.cell.topic

    @property
    def words(self) -> str:
        """The item's, with one blank more."""
        return self.cell.revision.text.replace("?", " ?")


@pytest.fixture
def blind(collection, owner, assessor) -> Blind:
    """Its items were added by `owner` before the campaign, and graded."""
    bank = gradable(collection, topics=1, passages=PASSAGES, items=0)
    topic = collection.topics.get()
    asked, spare = (
        banks.add_item(bank, topic, kind=ItemKind.QUESTION, text=text, by=owner)
        for text in ("Which pigment makes leaves red?", "When do days grow short?")
    )
    regrade(collection, by=owner)
    second = MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user
    choice = CellChoice(bank, (topic,), frozenset(KINDS), raters(bank)[0], size=1)
    campaign = open_campaign(choice, CampaignPlan("Blind", assignees=(assessor,)), by=owner, seed=5)
    cell = campaign.cells.get()
    return Blind(bank, cell, spare if cell.item == asked else asked, assessor, second)


def regrade(collection, *, by: User) -> None:
    """Press Re-grade, and be the worker."""
    actions.start_grading(collection, by=by)
    for chunk in JobChunk.objects.filter(state="queued"):
        work_on("chunk", chunk.pk)


def add(blind: Blind, client_of, tmp_path) -> None:
    form = {"kind": "question", "text": blind.words, "importance": "vital"}
    address = reverse("editor:item-add", args=[blind.bank.pk, blind.topic.pk])
    assert client_of(blind.assessor).post(address, form).status_code == 302


def add_as_colleague(blind: Blind, client_of, tmp_path) -> None:
    add(blind._replace(assessor=blind.second), client_of, tmp_path)


def add_from_a_span(blind: Blind, client_of, tmp_path) -> None:
    passage = blind.cell.passage
    form = {"kind": "question", "text": blind.words, "spans": passage.text.split()[0]}
    form |= {"problem": f"passage-{blind.topic.pk}-{passage.pk}", "deed": "add"}
    address = reverse("review:problems", args=[blind.bank.collection.slug]) + f"?bank={blind.bank.pk}"
    assert client_of(blind.assessor).post(address, form).status_code == 302


def add_by_the_api(blind: Blind, client_of, tmp_path) -> None:
    address = reverse("api:items", args=[blind.bank.collection.slug, blind.bank.pk])
    form = {"topic": blind.topic.query_id, "kind": "question", "text": blind.words}
    answer = client_of(blind.assessor).post(address, form, content_type="application/json")
    assert answer.status_code == 201


def reword(blind: Blind, client_of, tmp_path) -> None:
    form = {"text": blind.words, "seen": blind.spare.version}
    address = reverse("editor:item-edit", args=[blind.bank.pk, blind.spare.pk])
    assert client_of(blind.assessor).post(address, form).status_code == 302


def accept_a_draft(blind: Blind, client_of, tmp_path) -> None:
    """Only topic developers may; who is named for a campaign has blind cells like an assessor."""
    blind.bank.collection.memberships.filter(user=blind.assessor).update(role=Role.DEVELOPER)
    request = DraftRequest.objects.create(
        bank=blind.bank, topic=blind.topic, kind="question", backend="lexical", prompt_id="P@1", state="done"
    )
    draft = Draft.objects.create(request=request, text="Leaves?")
    address = reverse("editor:draft-accept", args=[blind.bank.pk, draft.pk])
    assert client_of(blind.assessor).post(address, {"text": blind.words}).status_code == 302


def merge(blind: Blind, client_of, tmp_path) -> None:
    """The item that is kept is a copy."""
    add(blind, client_of, tmp_path)
    kept = blind.bank.items.get(revision__text=blind.words)
    banks.merge_items(kept, blind.spare, seen=blind.spare.version, by=blind.assessor)


def restore_a_version(blind: Blind, client_of, tmp_path) -> None:
    add(blind, client_of, tmp_path)
    version = name_version(blind.bank, name="With the copy", by=blind.assessor)
    copy = blind.bank.items.get(revision__text=blind.words)
    banks.retire_item(copy, seen=copy.version, by=blind.assessor)
    restore_version(version, seen=bank_stamp(blind.bank), by=blind.second)


def import_a_bank(blind: Blind, client_of, tmp_path) -> None:
    question = {"question_id": item_id(blind.topic.query_id, blind.words), "question_text": blind.words}
    line = {"query_id": blind.topic.query_id, "query_text": blind.topic.text, "items": [question]}
    path = tmp_path / "bank.jsonl"
    path.write_text(json.dumps(line))
    call_command("import_collection", blind.bank.collection.slug, bank=[path], bank_name="other")


def add_to_another_bank(blind: Blind, client_of, tmp_path) -> None:
    add(blind._replace(bank=BankFactory(collection=blind.bank.collection, name="other")), client_of, tmp_path)


def add_to_another_topic(blind: Blind, client_of, tmp_path) -> None:
    """Whose pool has the passage too."""
    other = TopicFactory(collection=blind.bank.collection)
    PooledFactory(topic=other, passage=blind.cell.passage)
    PooledFactory.create_batch(PASSAGES, topic=other)
    Collection.objects.update(stamp=new_stamp())  # as imports do
    banks.add_item(blind.bank, other, kind=ItemKind.QUESTION, text=blind.words, by=blind.assessor)


Door = Callable[[Blind, Callable[..., object], object], None]
DOORS: tuple[Door, ...] = (
    add,
    add_as_colleague,
    add_from_a_span,
    add_by_the_api,
    reword,
    accept_a_draft,
    merge,
    restore_a_version,
    import_a_bank,
    add_to_another_bank,
    add_to_another_topic,
)


def visible(user: User, topic: Topic, words: str) -> set[int]:
    """The passages whose grade of this wording `user` may read, by the rows and by the matrix alike."""
    with reading_as(Reader(SimpleNamespace(user=user))):
        rows = visible_grades(Grade.objects.filter(topic=topic, revision__text=words), topic.collection_id)
        passages = set(rows.values_list("passage_id", flat=True))
        pool = collection_pool(topic.collection)
        grades = topic_grades(lexical_config(), pool, topic.pk)
    uids = list(topic.revisions.filter(text=words).values_list("uid", flat=True))
    ratings = grades.matrix.columns(uids).ratings
    assert passages == {
        pk for pk, row in zip(grades.pool.passage_pks, ratings, strict=True) if (row != MISSING).any()
    }
    return passages


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_grade_of_a_copy_is_hidden_on_a_blind_passage(door, blind, owner, client_of, tmp_path):
    door(blind, client_of, tmp_path)
    regrade(blind.bank.collection, by=blind.assessor)
    topics = [topic for topic in blind.bank.collection.topics.all() if visible(owner, topic, blind.words)]
    assert topics
    for topic in topics:
        everywhere = visible(owner, topic, blind.words)
        assert blind.cell.passage_id in everywhere
        assert visible(blind.assessor, topic, blind.words) == everywhere - {blind.cell.passage_id}
    rate_cell(blind.cell.human_cell, rating=3, by=blind.assessor, seen=0)
    assert all(blind.cell.passage_id in visible(blind.assessor, topic, blind.words) for topic in topics)


def test_grades_from_before_the_campaign_stay_visible(blind, owner):
    """Of what somebody else worded: these items were chosen from, and not made to be read."""
    spare = blind.spare.revision.text
    assert blind.cell.passage_id in visible(blind.assessor, blind.topic, spare)
    assert blind.cell.passage_id not in visible(blind.assessor, blind.topic, blind.cell.revision.text)


def test_an_own_item_from_before_the_campaign_is_hidden_too(collection, owner, assessor):
    """Who wrote a copy before cells were drawn reads it no more than who writes it later."""
    bank = gradable(collection, topics=1, passages=PASSAGES, items=0)
    topic = collection.topics.get()
    for text, by in (("Which pigment is red?", owner), ("Which pigment is red ?", assessor)):
        banks.add_item(bank, topic, kind=ItemKind.QUESTION, text=text, by=by)
    regrade(collection, by=owner)
    items = bank.items.filter(revision__text="Which pigment is red?")
    choice = CellChoice(bank, (topic,), frozenset(KINDS), raters(bank)[0])
    campaign = open_campaign(choice, CampaignPlan("Blind", assignees=(assessor,)), by=owner, seed=5)
    campaign.cells.exclude(item__in=items).delete()
    assert visible(assessor, topic, "Which pigment is red ?") == set()
    for cell in campaign.cells.all():
        rate_cell(cell.human_cell, rating=3, by=assessor, seen=0)
    assert len(visible(assessor, topic, "Which pigment is red ?")) == PASSAGES


def test_a_rated_cell_of_the_campaign_shows_its_grade_at_once(collection, owner, assessor):
    """Also of an item that the assessor wrote: rate first, then see the grade."""
    bank = gradable(collection, topics=1, passages=1, items=0)
    topic = collection.topics.get()
    for text in ("Which pigment is red?", "Which is yellow?"):
        banks.add_item(bank, topic, kind=ItemKind.QUESTION, text=text, by=assessor)
    regrade(collection, by=owner)
    choice = CellChoice(bank, (topic,), frozenset(KINDS), raters(bank)[0])
    campaign = open_campaign(choice, CampaignPlan("Blind", assignees=(assessor,)), by=owner, seed=5)
    first, second = campaign.cells.all()
    assert visible(assessor, topic, first.revision.text) == set()
    rate_cell(first.human_cell, rating=3, by=assessor, seen=0)
    assert visible(assessor, topic, first.revision.text) == {first.passage_id}
    assert visible(assessor, topic, second.revision.text) == set()


@pytest.fixture
def organizer(blind) -> User:
    """The assessor of the blind cell, who may also ask models and write prompts."""
    blind.bank.collection.memberships.filter(user=blind.assessor).update(role=Role.ORGANIZER)
    return blind.assessor


def test_no_model_is_asked_about_a_blind_passage(blind, organizer, owner, client_of):
    asked = {"topic": blind.topic.pk, "item": blind.spare.revision_id, "passage_1": blind.cell.passage.doc_id}
    model = {"grader": "lexical", "prompt": "LexicalBaseline", "backend": "openai_compatible", "llm": "x"}
    prompt = {"name": "Mine", "asks": "questions", "template": STRICT.template, "read_as": "rating"}
    prompt |= {"lowest": 0, "highest": 3, "unreadable": "default"}
    form = asked | model | prompt
    address = reverse("graders:try", args=[blind.bank.collection.slug])
    refused = client_of(organizer).post(address, form)
    assert "rate passage" in refused.content.decode()
    assert "blind. Rate it first, then ask a model about it." in refused.content.decode()
    assert not DryRun.objects.exists()
    client_of(owner).post(address, form)
    assert DryRun.objects.count() == 1


def test_no_grader_is_tried_on_a_blind_passage(blind, organizer, owner, client_of):
    address = reverse("graders:attempt", args=[blind.bank.collection.slug])
    for client in (client_of(organizer), client_of(owner)):
        client.post(address, {"card": "word-overlap", "grader_backend": "lexical"})
    doc_id = blind.cell.passage.doc_id
    assert not any(doc_id in run.doc_ids for run in DryRun.objects.filter(by=organizer))
    assert DryRun.objects.filter(by=owner).exists()


def test_a_dry_run_of_a_colleague_is_hidden_on_a_blind_passage(blind, organizer, owner, client_of):
    """Whatever it asked: a prompt may have the words of any item."""
    doc_id = blind.cell.passage.doc_id
    reply = {"doc_id": doc_id, "prompt": "", "reply": "surely a 4", "rating": 4, "outcome": "numeric"}
    reply |= {"answer": "", "reason": "", "context_chars": None, "confidence": None}
    dry_run = DryRun.objects.create(
        collection=blind.bank.collection, prompt_class="LexicalBaseline", definition={}, backend="lexical",
        llm="lexical", topic=blind.topic, revision=blind.spare.revision, doc_ids=[doc_id], state="done",
        seconds=1, results=[reply],
    )  # fmt: skip
    address = f"{reverse('graders:graders', args=[blind.bank.collection.slug])}?tries={dry_run.pk}"
    assert "surely a 4" in client_of(owner).get(address).content.decode()
    assert "surely a 4" not in client_of(organizer).get(address).content.decode()


def test_no_prompt_is_saved_while_cells_are_to_be_rated_blind(blind, organizer, owner, client_of):
    """Its text could ask what a blind item asks, and its grades would be those of other items."""
    form = {"name": "Mine", "asks": "questions", "template": STRICT.template, "read_as": "rating"}
    form |= {"lowest": 0, "highest": 3, "unreadable": "default"}
    address = reverse("graders:save", args=[blind.bank.collection.slug])
    refused = client_of(organizer).post(address, form)
    assert refused.status_code == 422
    assert "You still have pairs to rate blind" in refused.content.decode()
    rate_cell(blind.cell.human_cell, rating=3, by=organizer, seen=0)
    assert client_of(organizer).post(address, form).status_code == 302
