"""Rows with real words, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import uuid4

import factory
from django.utils import timezone
from factory.base import FactoryMetaClass

from grading.prompts import from_template
from grading.segmentation import PassagesOf, response_passages
from grading.submissions import rules_as_json, rules_of
from grading.types import ItemKind, item_id
from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.campaigns.leases import LEAST_HELD, top_up
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Ranking, Response, Run, Topic
from rubricweb.grades.configs import config_for
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import move_stamp
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.store import save_grades
from rubricweb.submissions.models import Call

STRICT = from_template(
    "StrictPrompt",
    "How well does the text answer the question, from 0 to 3?\n{question}\n{context}\nRating:",
    {ItemKind.QUESTION},
    (0, 3),
)
"""A prompt in a collection's own words."""
PASSWORD = "leaves-turn-red"  # for test accounts only

NEEDS = (
    "why do leaves turn red",
    "how does bread rise",
    "what made 1816 cold",
    "how do headphones cancel noise",
)
QUESTIONS = (
    "Which pigment makes leaves red?",
    "When does chlorophyll break down?",
    "Which trees turn yellow instead?",
    "Does frost make the colours brighter?",
)
SENTENCES = (
    "Anthocyanins make maple leaves red in autumn.",
    "Chlorophyll breaks down when the days grow short.",
    "Birches turn yellow because carotenoids remain.",
    "A recipe for apple pie with cinnamon.",
    "Frost kills leaves and dulls their colour.",
)


class UserFactory(factory.django.DjangoModelFactory[User]):
    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n}")
    first_name = factory.Sequence(lambda n: ("Ana", "Ben", "Chloe", "Dev", "Eva")[n % 5])
    password = factory.django.Password(PASSWORD)


class CollectionFactory(factory.django.DjangoModelFactory[Collection]):
    class Meta:
        model = Collection

    slug = factory.Sequence(lambda n: f"autumn-{n}")
    name = "Autumn track"
    min_relevant = 2


class MembershipFactory(factory.django.DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    user = factory.SubFactory(UserFactory)
    collection = factory.SubFactory(CollectionFactory)
    role = Role.VIEWER


class TopicFactory(factory.django.DjangoModelFactory[Topic]):
    class Meta:
        model = Topic

    collection = factory.SubFactory(CollectionFactory)
    position = factory.Sequence(lambda n: n)
    query_id = factory.Sequence(lambda n: f"topic{n}")
    text = factory.Sequence(lambda n: NEEDS[n % len(NEEDS)])


class PassageFactory(factory.django.DjangoModelFactory[Passage]):
    class Meta:
        model = Passage

    collection = factory.SubFactory(CollectionFactory)
    doc_id = factory.Sequence(lambda n: f"doc{n}")
    text = factory.Sequence(lambda n: SENTENCES[n % len(SENTENCES)])


class PooledFactory(factory.django.DjangoModelFactory[Pooled]):
    """A passage in the pool of `topic`."""

    class Meta:
        model = Pooled

    topic = factory.SubFactory(TopicFactory)
    passage = factory.SubFactory(PassageFactory, collection=factory.SelfAttribute("..topic.collection"))
    position = factory.Sequence(lambda n: n)


class JudgmentFactory(factory.django.DjangoModelFactory[Judgment]):
    class Meta:
        model = Judgment

    topic = factory.SubFactory(TopicFactory)
    doc_id = "d1"
    relevance = 2


class RunFactory(factory.django.DjangoModelFactory[Run]):
    class Meta:
        model = Run

    collection = factory.SubFactory(CollectionFactory)
    run_tag = factory.Sequence(lambda n: f"run{n}")


class CallFactory(factory.django.DjangoModelFactory[Call]):
    """Open for a day, by the rules of AutoJudge's kiddie track."""

    class Meta:
        model = Call

    collection = factory.SubFactory(CollectionFactory)
    task = "generation"
    rules = factory.LazyFunction(lambda: rules_as_json(rules_of("kiddie")))
    opens_at = factory.LazyFunction(lambda: timezone.now() - timedelta(days=1))
    deadline = factory.LazyFunction(lambda: timezone.now() + timedelta(days=1))


class RankingFactory(factory.django.DjangoModelFactory[Ranking]):
    """Scores fall by one a rank unless given."""

    class Meta:
        model = Ranking

    run = factory.SubFactory(RunFactory)
    topic = factory.SubFactory(TopicFactory)
    doc_ids = factory.List([])
    scores = factory.LazyAttribute(
        lambda row: [float(len(row.doc_ids) - rank) for rank in range(len(row.doc_ids))]
    )


class BankFactory(factory.django.DjangoModelFactory[Bank]):
    class Meta:
        model = Bank

    collection = factory.SubFactory(CollectionFactory)
    name = "main"


class ItemRevisionFactory(factory.django.DjangoModelFactory[ItemRevision]):
    class Meta:
        model = ItemRevision
        django_get_or_create = ("topic", "uid")

    topic = factory.SubFactory(TopicFactory)
    text = factory.Sequence(lambda n: QUESTIONS[n % len(QUESTIONS)])
    uid = factory.LazyAttribute(lambda row: item_id(row.topic.query_id, row.text))


class ItemFactory(factory.django.DjangoModelFactory[Item]):
    """A question of `bank` for `topic`; `text` gives its words."""

    class Meta:
        model = Item

    class Params:
        text = factory.Sequence(lambda n: QUESTIONS[n % len(QUESTIONS)])

    bank = factory.SubFactory(BankFactory)
    topic = factory.SubFactory(TopicFactory, collection=factory.SelfAttribute("..bank.collection"))
    kind = "question"
    position = factory.Sequence(lambda n: n)
    revision = factory.SubFactory(
        ItemRevisionFactory, topic=factory.SelfAttribute("..topic"), text=factory.SelfAttribute("..text")
    )


def lexical_config() -> GraderConfig:
    return config_for("lexical", "lexical", "LexicalBaseline")


def grade(
    config: GraderConfig, item: Item, passage: Passage, rating: int | None, outcome: str = "numeric"
) -> None:
    """Store one grade the way the product does; rating None with outcome "failed" is a failed one."""
    row = Grade(config=config, topic=item.topic, revision=item.revision, passage=passage, rating=rating)
    row.outcome = outcome
    save_grades(config, [row])


def grades(config: GraderConfig, cells: Iterable[tuple[Item, Passage, int | None]]) -> None:
    """Store the ratings of many cells together, in a tenth of the time of `grade`; None is a failed one."""
    rows = [
        Grade(config=config, topic_id=item.topic_id, revision_id=item.revision_id, passage=passage,
              rating=rating, outcome="failed" if rating is None else "numeric")
        for item, passage, rating in cells
    ]  # fmt: skip
    save_grades(config, rows)


def rate(cells: Iterable[tuple[Item, Passage, int]], *, by: User, draw: int | None = None) -> None:
    """Save a person's first ratings of many cells together, as `rate_cell` saves each."""
    rows = [
        HumanGrade(topic_id=item.topic_id, revision_id=item.revision_id, passage=passage, by=by, number=1,
                   rating=rating, how=HumanGrade.How.GRID, draw_id=draw, uid=uuid4())
        for item, passage, rating in cells
    ]  # fmt: skip
    HumanGrade.objects.bulk_create(rows)
    for topic_id in {row.topic_id for row in rows}:
        move_stamp(topic_id)


def pooled(topic: Topic, passages: int) -> list[Passage]:
    """The topic's pool: d0, d1 and so on."""
    found = [PassageFactory(collection=topic.collection, doc_id=f"d{n}") for n in range(passages)]
    for passage in found:
        PooledFactory(topic=topic, passage=passage)
    return found


def ranked(topic: Topic, tops: Mapping[str, Sequence[str]]) -> list[Run]:
    """New runs by their tags, with what they rank first for the topic."""
    return [
        RankingFactory(
            run=RunFactory(collection=topic.collection, run_tag=tag), topic=topic, doc_ids=list(doc_ids)
        ).run
        for tag, doc_ids in tops.items()
    ]


def responded(topic: Topic, run_tag: str, *sentences: str, passages_of: str = "sentence") -> Response:
    """A new run's response that cites d1 in each sentence; its passages are pooled and ranked."""
    passages = [
        PassageFactory(collection=topic.collection, doc_id=one.doc_id, text=one.text)
        for one in response_passages(sentences, PassagesOf(passages_of))
    ]
    for passage in passages:
        PooledFactory(topic=topic, passage=passage)
    (run,) = ranked(topic, {run_tag: [passage.doc_id for passage in passages]})
    told = [{"text": text, "citations": [["d1", None]]} for text in sentences]
    return Response.objects.create(run=run, topic=topic, sentences=told, passages_of=passages_of)


def graded(
    bank: Bank, topic: Topic, passages: Sequence[Passage], ratings: Mapping[str, Sequence[int]]
) -> list[Item]:
    """Questions with the lexical baseline's rating of each passage."""
    items = []
    for text, row in ratings.items():
        items.append(ItemFactory(bank=bank, topic=topic, text=text))
        for passage, rating in zip(passages, row, strict=True):
            grade(lexical_config(), items[-1], passage, rating)
    return items


def gradable(collection: Collection, *, topics: int = 2, passages: int = 5, items: int = 3) -> Bank:
    """A bank named main whose items can all be graded: every topic has its own pool and questions."""
    bank = BankFactory(collection=collection)
    made = Topic.objects.bulk_create(TopicFactory.build_batch(topics, collection=collection))
    pools = [row for topic in made for row in PooledFactory.build_batch(passages, topic=topic)]
    Passage.objects.bulk_create([row.passage for row in pools])
    Pooled.objects.bulk_create(pools)
    texts = [f"{QUESTIONS[number % len(QUESTIONS)]} ({number})" for number in range(items)]
    asked = [ItemFactory.build(bank=bank, topic=topic, text=text) for topic in made for text in texts]
    ItemRevision.objects.bulk_create([item.revision for item in asked])
    Item.objects.bulk_create(asked)
    return bank


def take(campaign: Campaign, person: User, *, count: int = LEAST_HELD) -> list[Turn]:
    """What the person holds once they have asked for so many cells, the one to rate first."""
    top_up(campaign, person, count=count)
    held = campaign.turns.filter(person=person, state=Turn.State.LEASED)
    return list(held.order_by("taken_at", "order", "pk"))


def start_names_again() -> None:
    """Make people, topics and passages with the same names as at first."""
    for made in globals().values():
        if isinstance(made, FactoryMetaClass) and not made._meta.abstract:
            made.reset_sequence(0, force=True)
