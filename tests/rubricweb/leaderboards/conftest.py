import pytest

from grading.types import Importance, item_id
from rubricweb.banks.models import Item, ItemRevision
from rubricweb.grades.human_ratings import Cell, rate_cell
from tests import factories
from tests.worked import Worked, worked


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)


@pytest.fixture
def rich(made, assessor) -> Worked:
    """The worked collection with subtopics and weights, and an assessor who contradicts the grader.

    Topic t1 has three items of subtopic a, of which one is to be avoided, and one of b; t2 has two, one of
    which nobody answers.
    """
    first, second = made.items["t1"]
    third = _item(made, "t1", "When is peak colour?", facet="b", d1=5, d3=4)
    avoid = _item(made, "t1", "Which trees shed bark?", facet="a", d2=5, d3=5)
    unanswered = _item(made, "t2", "Who baked first?", facet="c", e1=1)
    for item, facet, importance, weight in (
        (first, "a", Importance.VITAL, 1.0),
        (second, "a", Importance.OKAY, 0.5),
        (avoid, "a", Importance.AVOID, -0.5),
    ):
        item.facet_id, item.importance, item.weight = facet, importance, weight
        item.save()
    made.items["t1"] += [third, avoid]
    made.items["t2"] += [unanswered]
    for query_id, number, doc_id, rating in (("t1", 0, "d1", 0), ("t2", 0, "e1", 5), ("t1", 3, "d3", 5)):
        cell = Cell.of(made.items[query_id][number], made.passages[doc_id])
        rate_cell(cell, rating=rating, by=assessor, seen=0)
    return made


def _item(made: Worked, query_id: str, text: str, *, facet: str, **ratings: int) -> Item:
    topic = made.topics[query_id]
    wording = ItemRevision.objects.create(topic=topic, uid=item_id(query_id, text), text=text)
    item = factories.ItemFactory(bank=made.bank, topic=topic, facet_id=facet, revision=wording)
    for doc_id, rating in ratings.items():
        factories.grade(made.config, item, made.passages[doc_id], rating)
    return item
