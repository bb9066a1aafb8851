"""Scales of prompts on screens: thresholds, columns of histograms, and the names of ratings."""

import re

import pytest
from django.urls import reverse

from grading.types import USUAL_MIN_GRADE, Purpose, usual_min_grade
from rubricweb.banks.models import DIRECT_UID
from rubricweb.grades.configs import (
    WHOLE_SCALE,
    config_for,
    config_of,
    default_min_grade,
    imported_config,
    name_of,
    scale_of,
    spec_for,
    within_scale,
)
from rubricweb.grades.models import Grade
from rubricweb.grades.store import GradeRow, save_grades
from tests.factories import (
    STRICT,
    BankFactory,
    ItemFactory,
    ItemRevisionFactory,
    PooledFactory,
    TopicFactory,
    grade,
)
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

RATES = "QuestionSelfRatedUnanswerablePromptWithChoices"


def t5(prompt_class):
    return config_for("hf_seq2seq", "google/flan-t5-large", prompt_class)


@pytest.mark.parametrize(
    ("prompt_class", "scale", "threshold"),
    [
        (RATES, (0, 5), 4),
        ("NuggetAssignment", (0, 2), 2),
        ("UmbrelaStyle", (0, 3), 2),
        ("Thomas", (0, 2), 1),
        ("QuestionCompleteConcisePromptWithAnswerKey2", (0, 1), 1),
    ],
)
def test_a_published_scale(prompt_class, scale, threshold):
    config = t5(prompt_class)
    assert (scale_of(config), default_min_grade(config)) == (scale, threshold)


def test_the_scale_of_an_own_prompt_and_of_an_unknown_one():
    own = config_of(spec_for("hf_seq2seq", "tiny", STRICT))
    unknown = imported_config("gpt-9", "OraclePrompt", Purpose.RATE)
    assert (scale_of(own), default_min_grade(own)) == ((0, 3), 3)
    assert (scale_of(unknown), default_min_grade(unknown)) == ((0, 5), 4)
    assert [within_scale(own, value) for value in (None, 1, 3, 5)] == [3, 1, 3, 3]


def test_the_threshold_of_a_prompt_that_is_not_known_here_is_said_to_be_ours(client_of, viewer, nugget):
    """On the grid, the board and in its files; never of a prompt that states its own."""
    collection = nugget.bank.collection
    label = imported_config("gpt-9", "OracleLabel", Purpose.DIRECT)
    rates = imported_config("gpt-9", "NuggetOracle", Purpose.RATE)
    direct = ItemRevisionFactory(topic=nugget.topic, uid=DIRECT_UID, text="")
    for pooled in nugget.topic.pool.all():
        grade(rates, nugget, pooled.passage, 4)
        save_grades(label, [GradeRow(nugget.topic_id, direct.pk, pooled.passage_id, 1, "numeric")])
    client, board = client_of(viewer), f"/collections/{collection.slug}/leaderboards/"
    grid = reverse("review:topic", args=[nugget.bank_id, nugget.topic_id], query={"view": "grid"})
    labels = "The prompt OracleLabel is not known here: its labels count from 1 by default."
    grades = "The prompt NuggetOracle is not known here: its grades count from 4 by default."
    files = reverse("exports:leaderboard", args=[collection.slug])
    for address, config, note in (
        (board, label, labels),
        (board, rates, grades),
        (grid, rates, grades),
        (files, label, f"grade >= 1. {labels}"),
    ):
        page = client.get(address, {"view": "grid", "grader": config.pk})
        assert note in b"".join(page).decode(), (address, config)
        assert b"not known here" not in b"".join(client.get(address)), address


def test_ratings_go_by_their_names():
    nuggets = t5("NuggetAssignment")
    assert [name_of(nuggets, rating) for rating in (0, 1, 2)] == ["not support", "partial support", "support"]
    assert name_of(t5("UmbrelaStyle"), 3) == "perfectly relevant"
    assert name_of(t5("FagB"), 1) == "yes"
    assert (name_of(t5(RATES), 4), name_of(nuggets, None)) == ("", "")


@pytest.fixture
def nugget(collection):
    """One nugget: two passages support it, one in part, one not."""
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-large"
    collection.grader_prompts = ["NuggetAssignment", RATES]
    collection.save()
    topic = TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")
    passages = [pooled.passage for pooled in PooledFactory.create_batch(4, topic=topic)]
    item = ItemFactory(
        bank=BankFactory(collection=collection), topic=topic, kind="nugget", text="red pigment"
    )
    for passage, rating in zip(passages, (2, 2, 1, 0), strict=True):
        grade(t5("NuggetAssignment"), item, passage, rating)
    return item


def test_the_editor_takes_threshold_columns_and_names_from_the_scale(client_of, viewer, nugget):
    address = f"/review/banks/{nugget.bank_id}/topics/{nugget.topic_id}/"
    page = markup(client_of(viewer).get(address))
    assert "2 of 4 rated 2 (support) or more" in page
    assert "rated 1, partial support: 1, rated 2, support: 2, not graded: 0, failed: 0" in page
    assert "rated 3" not in page
    partial = markup(client_of(viewer).get(address + "?min_grade=1"))
    assert "3 of 4 rated 1 (partial support) or more" in partial
    beyond = markup(client_of(viewer).get(address + "?min_grade=4"))
    assert "2 of 4 rated 2 (support) or more" in beyond


def test_a_board_takes_its_threshold_from_the_scale(client_of, viewer, nugget):
    """The field goes to 2, shows 2, and refuses 3."""
    address = f"/collections/{nugget.bank.collection.slug}/leaderboards/"
    page = markup(client_of(viewer).get(address))
    (field,) = re.findall(r"<input[^>]*name=\"min_grade\"[^>]*>", page)
    assert ('max="2"' in field, 'value="2"' in field) == (True, True)
    refused = client_of(viewer).get(address + "?min_grade=3")
    assert "less than or equal to 2" in markup(refused)


def test_a_cell_says_what_its_rating_is_called(client_of, viewer, nugget):
    passage = Grade.objects.get(rating=1).passage_id
    address = reverse("review:cell", args=[nugget.bank_id, nugget.topic_id, passage, nugget.pk])
    page = markup(client_of(viewer).get(address))
    assert "<strong>partial support</strong>" in page


def test_the_grid_takes_its_threshold_from_the_scale(client_of, viewer, nugget):
    collection = nugget.bank.collection
    collection.grader_prompts = ["NuggetAssignment"]
    collection.save()
    address = reverse("review:topic", args=[nugget.bank_id, nugget.topic_id], query={"view": "grid"})
    page = markup(client_of(viewer).get(address))
    (field,) = re.findall(r"<input[^>]*name=\"min_grade\"[^>]*>", page)
    assert ('max="2"' in field, 'value="2"' in field) == (True, True)
    assert "2 or more covers the item" in page
    beyond = markup(client_of(viewer).get(address + "&min_grade=4"))
    assert "2 or more covers the item" in beyond


def test_usual_min_grade_is_what_a_prompt_of_the_whole_scale_has():
    assert usual_min_grade(Purpose.RATE, WHOLE_SCALE) == USUAL_MIN_GRADE
