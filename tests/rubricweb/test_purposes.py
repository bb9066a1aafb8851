"""Every page works whatever a collection's graders are for: each set of prompts that Settings accepts."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest
from django.db import connection
from django.test import Client

from grading.types import ItemKind, Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import DIRECT_UID, AnswerKey, Bank, ItemRevision
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import active_configs, imported_config, kinds_of
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.raters import active_raters, raters
from rubricweb.grades.store import save_grades
from tests.factories import ItemFactory, MembershipFactory, UserFactory
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

RATES, RATES_NUGGETS = "QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt"
EXTRACTS, EXTRACTS_NUGGETS = "QuestionCompleteConciseUnanswerablePromptWithChoices", "NuggetExtractionPrompt"
BY_RULE = "QuestionCompleteConcisePromptWithAnswerKey2"
BY_MODEL = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"

PROMPTS: dict[str, tuple[str, ...]] = {
    "defaults": (),
    "ratings of questions": (RATES,),
    "ratings of nuggets": (RATES_NUGGETS,),
    "labels": ("FagB",),
    "labels by several prompts": ("FagB", "Sun", "HELM", "Thomas"),
    "answers": (EXTRACTS, EXTRACTS_NUGGETS),
    "verdicts by rule": (BY_RULE,),
    "verdicts by a model": (EXTRACTS, BY_MODEL),
    "verdicts on another grader's answers": (BY_MODEL,),
    "verdicts and ratings of nuggets": (BY_RULE, RATES_NUGGETS),
    "answers and labels": (EXTRACTS, "FagB"),
    "ratings, answers and labels": (RATES, RATES_NUGGETS, EXTRACTS, "FagB"),
    "everything": (RATES, RATES_NUGGETS, EXTRACTS, BY_RULE, BY_MODEL, "FagB", "Thomas"),
}
VARIANTS = {
    "review:topic": (
        "?view=grid",
        "?view=grid&source=humans",
        "?view=both&source=corrected",
        "?view=grid&card=spurious",
    ),
    "review:verify": ("?order=worst", "?order=random", "?view=list", "?rating=near"),
    "review:problems": ("?source=people", "?kind=copies"),
}
"""Addresses that ask for what another purpose gives."""
ANSWERS = ("Anthocyanins", "anthocyanin pigment", "unanswerable", "Chlorophyll, when days grow short")


@pytest.fixture
def place(collection, owner, assessor) -> tuple[Bank, dict[str, object]]:
    """A collection with a row of every kind, answer keys and a nugget a topic, and what its routes take."""
    second = MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user
    bank = world(collection, owner, second)
    known = parameters(bank, assessor, blind_campaign(bank, by=owner))
    for topic in collection.topics.all():
        ItemFactory(bank=bank, topic=topic, kind="nugget", text=f"Chlorophyll breaks down ({topic.query_id})")
    for item in bank.items.filter(kind="question"):
        AnswerKey.objects.create(revision=item.revision, text="anthocyanins")
    return bank, known


def ask_only(collection: Collection, prompts: tuple[str, ...]) -> None:
    """Set the prompts, and forget all grades that there are."""
    Grade.objects.all().delete()
    MatrixStamp.objects.all().delete()
    collection.grader_backend, collection.grader_llm = "openai_compatible", "a-model"
    collection.grader_prompts, collection.default_grader = list(prompts), ""
    if prompts == (BY_MODEL,):
        source = imported_config("flan-t5", EXTRACTS, Purpose.EXTRACT)
        collection.answers_by = source.fingerprint
    collection.save()


def grade_all(bank: Bank) -> None:
    """Store a grade of every cell by what Re-grade runs, and the answers that it verifies."""
    for config in active_configs(bank.collection):
        for topic in bank.collection.topics.all():
            items = [
                item for item in bank.items.filter(topic=topic) if ItemKind(item.kind) in kinds_of(config)
            ]
            revisions = [item.revision for item in items]
            if config.purpose == Purpose.DIRECT:
                revisions = [ItemRevision.objects.get_or_create(topic=topic, uid=DIRECT_UID)[0]]
            cells = [(revision, pooled.passage) for revision in revisions for pooled in topic.pool.all()]
            save_grades(config, [_grade(config, topic, *cell, n) for n, cell in enumerate(cells)])


def _grade(config: GraderConfig, topic, revision, passage, number: int) -> Grade:
    row = Grade(config=config, topic=topic, revision=revision, passage=passage, outcome=Outcome.NUMERIC)
    if config.purpose in (Purpose.EXTRACT, Purpose.VERIFY):
        row.answer = ANSWERS[number % len(ANSWERS)]
    if config.purpose == Purpose.EXTRACT:
        row.outcome = Outcome.EXTRACTED
    else:
        row.rating = number % (6 if config.purpose == Purpose.RATE else 2)
    return row


class Walk:
    """Who asks all routes; those that read nothing of graders are the same for every set, and asked once."""

    READS = re.compile("grades_|banks_answerkey|graders_|support_")
    same_for_all: ClassVar[set[tuple[Role, str]]] = set()
    """Roles and routes that were asked and read none of these tables."""

    def __init__(self, role: Role, user: User) -> None:
        self.role, self.reads = role, False
        self.client = Client(raise_request_exception=False)
        self.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    def failing(self, known: dict[str, object]) -> dict[str, int]:
        """Return the routes that answer with an error of the server."""
        failed = {}
        for route in readable_routes():
            if (self.role, route.name) in self.same_for_all:
                continue
            self.reads = False
            for query in ("", *VARIANTS.get(route.name, ())):
                status = self._ask(route.address(known) + query)
                if status >= 500:
                    failed[route.name + query] = status
            if not self.reads:
                self.same_for_all.add((self.role, route.name))
        return failed

    def _ask(self, address: str) -> int:
        with connection.execute_wrapper(self._notice):
            response = self.client.get(address)
            b"".join(response.streaming_content if response.streaming else ())
        return response.status_code

    def _notice(self, execute, sql: str, *arguments):
        self.reads = self.reads or self.READS.search(sql) is not None
        return execute(sql, *arguments)


UNGRADED = ("defaults", "labels", "answers", "verdicts by rule", "verdicts by a model")
"""Of the sets, those that are walked without a grade, too."""
BY_EVERYBODY = ("labels", "answers", "verdicts by a model")
"""Those that all roles walk."""
WITHIN_OTHERS = ("ratings of questions", "labels by several prompts", "answers and labels")
"""Those of which a set that is walked has every kind of work; the pages of all say what is graded."""
CASES = [(name, True) for name in PROMPTS if name not in WITHIN_OTHERS] + [(name, False) for name in UNGRADED]


@pytest.mark.parametrize(
    ("named", "is_graded"),
    CASES,
    ids=[f"{name}{'' if is_graded else ', ungraded'}" for name, is_graded in CASES],
)
def test_pages_work_for_every_set_of_prompts(place, collection, owner, assessor, viewer, named, is_graded):
    bank, known = place
    ask_only(collection, PROMPTS[named])
    bank.collection = collection
    if is_graded:
        grade_all(bank)
    people = {Role.ORGANIZER: owner, Role.ASSESSOR: assessor, Role.VIEWER: viewer}
    roles = people if named in BY_EVERYBODY and is_graded else [Role.ORGANIZER]
    assert {role: Walk(role, people[role]).failing(known) for role in roles} == {role: {} for role in roles}


@pytest.mark.parametrize("prompts", PROMPTS.values(), ids=PROMPTS)
def test_pages_say_what_is_graded(place, collection, owner, client_of, prompts):
    """Where every cell has what the grader gives, no page says that anything is missing."""
    bank, _ = place
    ask_only(collection, prompts)
    bank.collection = collection
    grade_all(bank)
    client, topic = client_of(owner), collection.topics.first()
    pages = [
        client.get(f"/review/banks/{bank.pk}/topics/{topic.pk}/?view=grid"),
        client.get(collection.get_absolute_url()),
        client.get("/"),
    ]
    (row,) = pages[2].context["rows"]
    card = row.card
    assert (pages[0].context["grid"].counts.share, pages[1].context["totals"].share, card.share) == (1, 1, 1)
    assert {name: raters(bank)[0].name in markup(page) for name, page in zip("gch", pages, strict=True)} == {
        "g": True,
        "c": True,
        "h": True,
    }
    assert raters(bank)[0].grades_items == any(rater.grades_items for rater in active_raters(collection))


@pytest.mark.parametrize(
    ("named", "note"),
    [("labels", "This grader labels whole passages"), ("answers", "This grader extracts answers")],
)
def test_pages_say_where_no_item_is_graded(place, collection, owner, client_of, named, note):
    """Rather than that nothing is spurious, everything is checked, or passages are missing a grade."""
    bank, _ = place
    ask_only(collection, PROMPTS[named])
    bank.collection = collection
    grade_all(bank)
    client, topic = client_of(owner), collection.topics.first()
    home = client.get(collection.get_absolute_url())
    assert all(row.facts.spurious == row.facts.nobody == 0 for row in home.context["page"])
    pages = {
        "topics": home,
        "grid": client.get(f"/review/banks/{bank.pk}/topics/{topic.pk}/?view=grid"),
        "verify": client.get(f"/collections/{collection.slug}/review/verify/{bank.pk}/"),
        "problems": client.get(f"/collections/{collection.slug}/review/problems/"),
        "rubric and votes": client.get(f"/collections/{collection.slug}/arena/"),
    }
    assert {name for name, page in pages.items() if note not in markup(page)} == set()
    empty = ("verify", "problems")
    assert {name for name in empty if "No items are graded" not in markup(pages[name])} == set()


def test_grid_has_the_labels_of_a_grader_of_passages(place, collection, owner, client_of):
    bank, _ = place
    ask_only(collection, PROMPTS["labels"])
    bank.collection = collection
    grade_all(bank)
    topic = collection.topics.first()
    page = client_of(owner).get(f"/review/banks/{bank.pk}/topics/{topic.pk}/?view=grid&show=uncovered")
    grid = page.context["grid"]
    assert [(row.doc_id, row.label, row.is_uncovered) for row in grid.rows] == [
        (row.doc_id, 0, True) for row in grid.rows
    ]
    assert (grid.counts.passages, grid.counts.items, grid.counts.cells) == (3, 0, 3)


@pytest.mark.parametrize(("named", "text"), [("labels", "\N{EN DASH}"), ("answers", "A")])
def test_people_rate_items_that_no_grader_rates(place, collection, owner, client_of, named, text):
    """By a digit in the grid, which answers with the cell: the grader's sign, the own rating beside it."""
    bank, _ = place
    ask_only(collection, PROMPTS[named])
    bank.collection = collection
    grade_all(bank)
    item = bank.items.filter(kind="nugget" if named == "labels" else "question").first()
    passage = item.topic.pool.last().passage
    at = f"/review/banks/{bank.pk}/topics/{item.topic_id}/cells/{passage.pk}/{item.pk}/rate/"
    last = HumanGrade.objects.filter(by=owner, revision=item.revision, passage=passage).count()
    sent = {"seen": last, "revision": item.revision_id, "part": "cell", "rating": 3}
    response = client_of(owner).post(at, sent, headers={"HX-Request": "true"})
    assert (response.status_code, response.context["cell"].cell.text, response.context["cell"].cell.own) == (
        200,
        text,
        "3",
    )
