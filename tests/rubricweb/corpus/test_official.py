"""Official leaderboards: several, each under its name."""

import pytest

from grading.errors import BadFormat
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Run
from rubricweb.corpus.official import (
    Official,
    official_boards,
    put_official_board,
    remove_official_board,
    scores_of_run,
    with_topics,
)
from tests.factories import CollectionFactory, RunFactory, TopicFactory


@pytest.fixture
def put(collection, tmp_path, owner):
    def put(text, name="NDCG@10", file="board.tsv"):
        path = tmp_path / file
        path.write_text(text, encoding="utf-8")
        return put_official_board(collection, path, name=name, by=owner)

    return put


def test_boards_stand_beside_each_other(put, collection):
    put("run_tag\tscore\nbm25\t0.5\nql\t0.25\n")
    put('{"bm25": 1, "ql": 2.5, "rm3": 2.5}', name="  2020   ranks ", file="ranks.json")
    put("run_tag\tscore\nbm25\t0.5\n", name="of another")
    remove_official_board(collection, name="of another", by=None)

    ranks, scores = official_boards(collection)
    values = {"bm25": 1, "ql": 2.5, "rm3": 2.5}
    assert ranks == Official("2020 ranks", is_rank=True, values=values, source="ranks.json")
    assert ranks.scores == {"bm25": -1, "ql": -2.5, "rm3": -2.5}
    assert scores == Official("NDCG@10", False, {"bm25": 0.5, "ql": 0.25}, source="board.tsv")
    assert scores.scores == scores.values
    assert official_boards(CollectionFactory()) == []


def test_a_board_is_replaced_whole(put, collection):
    put("run_tag\tscore\nbm25\t0.5\nql\t0.25\n")
    put("run_tag\trank\nrm3\t1\n")
    assert official_boards(collection) == [Official("NDCG@10", True, {"rm3": 1}, source="board.tsv")]
    assert AuditEntry.objects.filter(verb="official board imported").count() == 2


def test_a_bad_file_changes_nothing_and_names_the_line(put, collection):
    put("run_tag\tscore\nbm25\t0.5\n")
    with pytest.raises(BadFormat, match=r"board\.tsv:3: "):
        put("run_tag\tscore\nbm25\t0.5\nql\thigh\n")
    with pytest.raises(BadFormat, match="needs a name"):
        put("run_tag\tscore\nbm25\t0.5\n", name=" ")
    assert official_boards(collection)[0].values == {"bm25": 0.5}


def test_removing_says_whether_there_was_one(put, collection, owner):
    put("run_tag\tscore\nbm25\t0.5\n")
    assert remove_official_board(collection, name="NDCG@10", by=owner)
    assert not remove_official_board(collection, name="NDCG@10", by=owner)


def test_scores_of_topics_are_stored_beside_the_board(put, collection):
    topic = TopicFactory(collection=collection, query_id="t1")
    put("a t1 M 0.5\na t9 M 0.25\na all M 0.375\nb t1 M 1\nb all M 1\n")
    (board,) = official_boards(collection)
    assert (board.values, board.measure, board.by_topic) == ({"a": 0.375, "b": 1}, "M", {})
    assert with_topics(collection, board).by_topic == {"t1": {"a": 0.5, "b": 1}}
    rows = collection.official_scores.exclude(topic=None).order_by("run_tag")
    assert list(rows.values_list("run_tag", "topic", "value")) == [("a", topic.pk, 0.5), ("b", topic.pk, 1)]
    assert remove_official_board(collection, name="NDCG@10", by=None)
    assert not collection.official_scores.exists()


def test_a_run_that_is_not_accepted_has_no_scores_of_topics(put, collection):
    topic = TopicFactory(collection=collection, query_id="t1")
    run = RunFactory(collection=collection, run_tag="a", state=Run.State.WITHDRAWN)
    put("a t1 M 0.5\na all M 0.5\nb t1 M 1\nb all M 1\n", file="m.txt")
    (board,) = official_boards(collection)
    assert with_topics(collection, board).by_topic == {"t1": {"b": 1}}
    (scores,) = scores_of_run(run)
    assert (scores.label, scores.source, scores.by_topic) == ("NDCG@10: M", "m.txt", {topic.pk: 0.5})


def test_means_over_some_topics():
    board = Official("M", False, {}, by_topic={"t1": {"a": 1, "b": 0}, "t2": {"a": 0.5}, "t3": {"a": 0}})
    assert board.scores_on({"t1", "t2"}) == {"a": 0.75, "b": 0}
    assert board.scores_on({"t9"}) == {}
