"""A passage by all graders and attempts, as in Tables 10 and 11 of TREMA-UNH at TREC RAG."""

import pytest
from django.urls import reverse

from grading.types import FAILED, MISSING, Purpose
from rubricweb.banks.models import DIRECT_UID, ItemRevision
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.grades.store import save_grades
from tests.factories import PassageFactory, PooledFactory, grade
from tests.rubricweb.review.test_cell import page, text_of

pytestmark = pytest.mark.portable

PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture
def llama(autumn):
    """A model that read d1 and a copy of it under another id, and rated them otherwise."""
    config = imported_config("llama", PROMPT, Purpose.RATE)
    copy = PassageFactory(collection=autumn.collection, doc_id="copy", text=autumn.passages["d1"].text)
    PooledFactory(topic=autumn.topic, passage=copy, position=9)
    for passage, ratings in ((autumn.passages["d1"], (4, 0)), (copy, (5, 4))):
        for item, rating in zip(autumn.items, ratings, strict=False):
            grade(config, item, passage, rating)
    return config


def address(autumn, doc_id):
    return reverse("review:passage", args=[autumn.bank.pk, autumn.topic.pk, autumn.passages[doc_id].pk])


def test_a_row_an_item_and_a_column_an_attempt_with_their_agreement(autumn, llama, viewer, client_of):
    [attempts] = client_of(viewer).get(address(autumn, "d1")).context["grade_tables"]
    rows = [(name, [rating for rating, _ in ratings]) for name, _, ratings in attempts.rows]
    assert rows == [
        ("Question 1", [5, 4, 5]),
        ("Question 2", [0, 0, 4]),
        ("Nugget 1", [0, MISSING, MISSING]),
    ]
    lexical, other = attempts.graders
    assert (lexical.llm, len(lexical.attempts), lexical.pairs) == ("lexical", 1, 0)
    assert (other.llm, [attempt.passage.doc_id for attempt in other.attempts]) == ("llama", ["d1", "copy"])
    assert (other.pairs, other.same, other.near) == (2, 0, 1)


def test_the_page_is_reached_from_a_pair_and_says_what_failed(autumn, llama, viewer, client_of):
    client = client_of(viewer)
    assert address(autumn, "d1") in page(client, autumn.cell("d1", 0))
    assert "0 of 2 equal, 1 within 1" in text_of(page(client, address(autumn, "d1")))
    [ratings] = client.get(address(autumn, "d2")).context["grade_tables"]
    assert [cell for _, _, row in ratings.rows for cell in row] == [(1, ""), (0, ""), (FAILED, "")]
    [defaulted] = client.get(address(autumn, "d4")).context["grade_tables"]
    assert defaulted.rows[1][2] == [(0, "the reply held no rating")]


def test_labels_of_the_passage_stand_apart_from_grades_of_items(autumn, viewer, client_of):
    judge = imported_config("judge", "Qrels-0-3", Purpose.DIRECT)
    revision = ItemRevision.objects.create(topic=autumn.topic, uid=DIRECT_UID)
    row = Grade(config=judge, topic=autumn.topic, revision=revision, passage=autumn.passages["d1"])
    row.rating, row.outcome = 3, "numeric"
    save_grades(judge, [row])
    items, labels = client_of(viewer).get(address(autumn, "d1")).context["grade_tables"]
    assert [grader.llm for grader in items.graders] == ["lexical"]
    assert [grader.llm for grader in labels.graders] == ["judge"]
    assert labels.rows == [("Passage", "as a whole", [(3, "")])]


def test_nobody_else_reads_it(autumn, outsider, client_of):
    assert client_of(outsider).get(address(autumn, "d1")).status_code == 404
