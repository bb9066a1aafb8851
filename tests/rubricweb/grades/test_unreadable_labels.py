"""Direct labels that no reply states, stored before such a reply was a failed grade."""

from importlib import import_module

import pytest
from django.apps import apps

from grading.types import FAILED
from rubricweb.banks.models import DIRECT_UID, ItemRevision
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.configs import config_for, imported_config
from rubricweb.grades.matrices import topic_grades
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.grades.store import GradeRow, save_grades
from tests.factories import TopicFactory, pooled

pytestmark = pytest.mark.django_db

migration = import_module("rubricweb.grades.migrations.0010_unreadable_labels_failed")


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, text="when did rock n roll begin")


@pytest.fixture
def labelled(topic):
    """Four passages labelled by UmbrelaStyle: stated, defaulted, "unanswerable", and failed before."""
    wording = ItemRevision.objects.create(topic=topic, uid=DIRECT_UID, text=topic.text)
    rows = [
        GradeRow(topic.pk, wording.pk, passage.pk, rating, outcome, answer, reply)
        for passage, (rating, outcome, answer, reply) in zip(
            pooled(topic, 4),
            [
                (2, "numeric", "", "##final score: 2"),
                (1, "defaulted", "", "I cannot assess this."),
                (0, "unanswerable", "", "unknown"),
                (None, "failed", "", "no reply in time"),
            ],
            strict=True,
        )
    ]
    config = config_for("hf_causal", "tiny", "UmbrelaStyle")
    save_grades(config, rows)
    save_grades(imported_config("tiny", "Thomas", "direct"), rows[:2])
    return config


def stored(config):
    fields = ("rating", "outcome", "answer", "reply", "error_class")
    return list(Grade.objects.filter(config=config).order_by("passage").values_list(*fields))


def test_they_fail_and_can_be_retried(labelled, topic):
    pool = collection_pool(topic.collection)
    assert topic_grades(labelled, pool, topic.pk).matrix.ratings.tolist() == [[2], [1], [0], [FAILED]]
    migration.fail(apps, None)
    assert stored(labelled)[1:3] == [
        (
            None,
            "failed",
            "I cannot assess this.",
            "the reply states no label; it counted as 1 (defaulted) before",
            "parse",
        ),
        (
            None,
            "failed",
            "unknown",
            "the reply states no label; it counted as 0 (unanswerable) before",
            "parse",
        ),
    ]
    fresh = collection_pool(topic.collection)
    ratings = topic_grades(labelled, fresh, topic.pk).matrix.ratings
    assert ratings.tolist() == [[2], [FAILED], [FAILED], [FAILED]], "the stamp moved: matrices are read anew"


def test_labels_of_a_file_and_other_stamps_stay(labelled):
    imported = imported_config("tiny", "Thomas", "direct")
    before, stamp = stored(imported), MatrixStamp.objects.get(config=imported).number
    migration.fail(apps, None)
    assert stored(imported) == before
    assert MatrixStamp.objects.get(config=imported).number == stamp


def test_going_back_restores_them(labelled):
    before = stored(labelled)
    migration.fail(apps, None)
    assert stored(labelled) != before
    migration.restore(apps, None)
    assert stored(labelled) == before
