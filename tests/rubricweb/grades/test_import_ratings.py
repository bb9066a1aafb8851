"""Ratings of people from other tools come in: matched to cells, or listed as left out."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.corpus.models import Judgment
from rubricweb.grades.human_matrices import RatingSource, ratings_by
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.import_collection import ImportFiles, import_collection
from tests.factories import BankFactory, ItemFactory, PassageFactory, PooledFactory, TopicFactory, UserFactory

pytestmark = pytest.mark.django_db

FORMATS = Path(__file__).resolve().parents[3] / "fixtures/formats"
QUESTION = "Which pigment makes leaves red?"
TEXTS = {
    "d1": "Anthocyanins make maple leaves red in autumn.",
    "d2": "Birches turn yellow because carotenoids remain.",
}


@pytest.fixture
def bank(collection):
    topic = TopicFactory(collection=collection, query_id="t1")
    bank = BankFactory(collection=collection)
    ItemFactory(bank=bank, topic=topic, text=QUESTION)
    for doc_id, text in TEXTS.items():
        passage = PassageFactory(collection=collection, doc_id=doc_id, text=text)
        PooledFactory(topic=topic, passage=passage)
    return bank


def imported(*names: str):
    files = ImportFiles(ratings=tuple(FORMATS / name for name in names))
    return import_collection("autumn", files=files, by=None)


def rated() -> set[tuple[str, str, int]]:
    rows = HumanGrade.objects.values_list("by__username", "passage__doc_id", "rating")
    return {(username[-3:], doc_id, rating) for username, doc_id, rating in rows}


def test_ratings_of_three_tools_are_matched_by_id_and_by_text(bank):
    summary = imported("argilla.json", "label_studio.json", "doccano.jsonl")
    assert rated() == {
        ("001", "d1", 5), ("002", "d1", 4), ("001", "d2", 0), ("org", "d1", 5), ("org", "d2", 1),
        ("ben", "d1", 4), ("ben", "d2", 0),
    }  # fmt: skip
    assert summary.counts["human_ratings"].new == 7
    assert set(HumanGrade.objects.values_list("how", flat=True)) == {HumanGrade.How.IMPORTED}
    again = imported("argilla.json", "label_studio.json", "doccano.jsonl")
    assert (again.counts["human_ratings"].unchanged, again.has_changed) == (7, False)


def test_another_rating_of_the_same_person_follows_the_first(bank, tmp_path):
    imported("doccano.jsonl")
    changed = (FORMATS / "doccano.jsonl").read_text().replace('["4"]', '["2"]')
    (tmp_path / "later.jsonl").write_text(changed)
    files = ImportFiles(ratings=(tmp_path / "later.jsonl",))
    assert import_collection("autumn", files=files, by=None).counts["human_ratings"].changed == 1
    assert list(HumanGrade.objects.filter(passage__doc_id="d1").values_list("number", "rating")) == [
        (1, 4),
        (2, 2),
    ]


def test_words_of_autojudge_annotate_are_judgments(bank):
    summary = imported("annotations.jsonl", "annotations_state.json")
    assert set(Judgment.objects.values_list("doc_id", "relevance")) == {("d1", 3), ("d2", 0)}
    assert not HumanGrade.objects.exists()
    assert "annotations.jsonl: left out ratings of whole reports and of citations: 1 (t1)" in summary.notes


def test_what_the_collection_lacks_is_listed_before_anything_is_imported(bank, tmp_path):
    lines = [
        {"text": TEXTS["d1"], "label": ["3"], "query_id": "t9", "question": QUESTION},
        {"text": TEXTS["d1"], "label": ["3"], "query_id": "t1", "question": "Who asks this?"},
        {"text": "Nobody pooled this.", "label": ["3"], "query_id": "t1", "question": QUESTION},
        {"text": TEXTS["d2"], "label": ["3"], "query_id": "t1", "question": QUESTION},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with transaction.atomic():
        summary = import_collection("autumn", files=ImportFiles(ratings=(tmp_path / "all.jsonl",)), by=None)
        transaction.set_rollback(True)
    said = " / ".join(summary.notes)
    for words in (
        "left out ratings of topics that the collection lacks: 1 (t9)",
        "ratings of questions or nuggets that the collection lacks: 1 (Who asks this?)",
        "ratings of passages that the topic's pool lacks, or has twice: 1",
    ):
        assert words in said
    assert summary.counts["human_ratings"].new == 1
    assert not HumanGrade.objects.exists()
    assert not User.objects.filter(username__startswith="autumn.").exists()


def test_a_file_says_nothing_in_the_name_of_somebody_who_signs_in(bank):
    somebody = UserFactory(username="autumn.ben")
    imported("doccano.jsonl")
    (rater,) = User.objects.filter(human_grades__isnull=False).distinct()
    assert (rater == somebody, rater.is_active, rater.has_usable_password()) == (False, False, False)


def test_the_command_and_boards_by_people(bank, collection):
    from rubricweb.corpus.pools import collection_pool
    from tests.factories import lexical_config

    out = StringIO()
    call_command("import_collection", "autumn", ratings=[FORMATS / "doccano.jsonl"], stdout=out)
    assert "2" in out.getvalue()
    pool = collection_pool(collection)
    matrix = next(iter(ratings_by(RatingSource.HUMANS, lexical_config(), pool).values())).matrix
    assert sorted(matrix.ratings.ravel().tolist()) == [0, 4]
