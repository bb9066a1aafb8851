"""Topics with narrative, background and limits, from every track's file."""

from pathlib import Path

import pytest
from django.core.management import CommandError
from django.urls import reverse

from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Topic
from tests.rubricweb.import_files import RED, Folder, bank_line

pytestmark = pytest.mark.django_db
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
REQUEST = (
    '{"request_id": "t1", "title": "honey", "problem_statement": "How is it made?", "word_limit": 250}\n'
)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_autojudge_requests(folder):
    counts = folder.load("--queries", FORMATS / "requests.jsonl")["counts"]["topics"]
    assert counts == {"new": 2, "changed": 0, "unchanged": 0}
    topic = Topic.objects.get(query_id="t1")
    assert topic.text == "how do bees make honey"
    assert topic.narrative.startswith("My class visits a beekeeper.")
    assert (topic.background, topic.limit_characters, topic.limit_words) == (
        "A teacher of ten-year-olds.",
        2000,
        250,
    )
    assert topic.foreign["collection_ids"] == ["demo"]
    again = folder.load("--queries", FORMATS / "requests.jsonl")
    assert again["counts"]["topics"] == {"new": 0, "changed": 0, "unchanged": 2}
    assert not again["changed"]


@pytest.mark.parametrize(
    "name", ["biogen_topics.json", "ragtime_topics.jsonl", "rag25_topics.jsonl", "queries.tsv"]
)
def test_topics_of_every_format_are_imported(folder, name):
    assert folder.load("--queries", FORMATS / name)["counts"]["topics"]["new"] == 2
    assert all(Topic.objects.values_list("text", flat=True))


def test_a_narrative_is_added_to_topics_that_have_a_text(folder):
    folder.load("--queries", folder.queries(t1="honey"))
    counts = folder.load("--queries", folder.write("requests.jsonl", REQUEST))["counts"]["topics"]
    assert counts == {"new": 0, "changed": 1, "unchanged": 0}
    folder.load("--queries", folder.queries(t1="honey"))
    assert Topic.objects.get().narrative == "How is it made?", "a file without narratives takes none away"


def test_another_narrative_needs_replace(folder):
    folder.load("--queries", folder.write("requests.jsonl", REQUEST))
    other = folder.write("other.jsonl", REQUEST.replace("How is it made?", "Who makes it?"))
    with pytest.raises(
        CommandError, match=r"^other.jsonl:1: query t1 has another narrative here than in the"
    ):
        folder.load("--queries", other)
    folder.load("--queries", other, "--replace")
    assert Topic.objects.get().narrative == "Who makes it?"


def test_the_narrative_stands_on_the_topic_pages(folder, client, django_user_model):
    bank = folder.lines("bank.jsonl", bank_line(RED, query_text="honey"))
    folder.load("--queries", folder.write("requests.jsonl", REQUEST), "--bank", bank)
    topic, bank = Topic.objects.get(), Bank.objects.get()
    client.force_login(django_user_model.objects.create_superuser("root"))
    for view in ("bank", "grid"):
        page = client.get(reverse("review:topic", args=[bank.pk, topic.pk]), {"view": view}).content.decode()
        assert "How is it made?" in page
        assert "at most 250 words" in page


def test_an_official_leaderboard_with_its_topics(folder):
    board = FORMATS / "board.ir_measures.txt"
    options = ("--queries", FORMATS / "queries.tsv", "--official", board, "--official-measure", "COUNT")
    document = folder.load(*options)
    assert document["counts"]["official_scores"] == {"new": 6, "changed": 0, "unchanged": 0}
    assert document["notes"] == ["board.ir_measures.txt: its COUNT is the official leaderboard"]
    assert folder.load(*options)["counts"]["official_scores"] == {"new": 0, "changed": 0, "unchanged": 6}


def test_scores_of_topics_that_the_collection_lacks_are_left_out(folder):
    board = folder.write("board.txt", "a t1 M 1\na t9 M 0\na all M 0.5\n")
    document = folder.load("--queries", folder.queries(), "--official", board)
    assert document["counts"]["official_scores"]["new"] == 2
    assert (
        "board.txt: left out the official scores of 1 topics that the collection lacks" in document["notes"]
    )


def test_a_leaderboard_whose_columns_nothing_tells_apart_needs_its_format(folder):
    board = folder.write("board.txt", "a t1 M 1\nb t1 M 0\n")
    with pytest.raises(CommandError, match=r"^board.txt:1: the content may be Leaderboard of ir_measures"):
        folder.load("--queries", folder.queries(), "--official", board)
    chosen = ("--official-format", "leaderboard-ir_measures")
    assert folder.load("--queries", folder.queries(), "--official", board, *chosen)["changed"]
