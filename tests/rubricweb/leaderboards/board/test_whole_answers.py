"""Nugget scores of whole answers, as AutoNuggetizer has them: one assignment a nugget and answer."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from grading.segmentation import MAX_TOKENS
from grading.types import text_md5
from rubricweb.corpus.models import Response
from rubricweb.grades.configs import config_for
from tests import factories

SENTENCES = ("The moon pulls the sea.", "The sun helps. " * MAX_TOKENS)
WHOLE = f"{SENTENCES[0]} {SENTENCES[1].strip()}"
NUGGETS = {"The moon pulls": ("vital", 2), "The sun helps": ("vital", 1), "Coasts matter": ("okay", 2)}
"""Importance, and what a model assigns to the whole answer."""


@pytest.fixture
def answer(collection):
    topic = factories.TopicFactory(collection=collection, query_id="s1")
    run = factories.RunFactory(collection=collection, run_tag="writer")
    told = [{"text": text, "citations": [["d1", None]]} for text in SENTENCES]
    return Response.objects.create(run=run, topic=topic, sentences=told, passages_of="sentence")


def test_whole_answers_stand_beside_their_sentences_uncut(answer, collection):
    out = io.StringIO()
    for _ in range(2):  # the second time changes nothing
        call_command("whole_answers", "autumn", "writer", stdout=out)
    assert "added writer-whole: its passages are the whole answers of writer" in out.getvalue()
    ranking = collection.runs.get(run_tag="writer-whole").rankings.get()
    assert ranking.doc_ids == [text_md5(WHOLE)]
    assert collection.passages.get(doc_id=text_md5(WHOLE)).text == WHOLE
    assert answer.run.responses.get().passages_of == "sentence"


def test_scores_of_whole_answers_are_those_of_the_track(answer, collection):
    """Credits 1 and 0.5 of the vital nuggets, 1 of the okay one, whose weight is 0.5."""
    call_command("whole_answers", "autumn", "writer", stdout=io.StringIO())
    bank, config = factories.BankFactory(collection=collection), config_for("x", "m", "NuggetAssignment")
    whole = collection.passages.get(doc_id=text_md5(WHOLE))
    for text, (importance, rating) in NUGGETS.items():
        weight = 1.0 if importance == "vital" else 0.5
        item = factories.ItemFactory(
            bank=bank, topic=answer.topic, kind="nugget", text=text, importance=importance, weight=weight
        )
        factories.grade(config, item, whole, rating)
    found = {}
    for name in ("strict_vital", "strict_all", "vital", "all", "weighted", "strict_weighted"):
        out = io.StringIO()
        by = ("--prompt-class", "NuggetAssignment", "--llm", "m", "--format", "json")
        call_command("leaderboard", "autumn", "--measure", f"nuggets_{name}", *by, stdout=out)
        rows = {row["run_tag"]: row["score"] for row in json.loads(out.getvalue())["rows"]}
        found[name] = round(rows["writer-whole"], 4)
    assert found == {
        "strict_vital": 0.5,
        "strict_all": 0.6667,
        "vital": 0.75,
        "all": 0.8333,
        "weighted": 0.8,
        "strict_weighted": 0.6,
    }


@pytest.mark.parametrize("run_tag", ["nobody", "quiet"])
def test_a_run_without_answers_is_refused(collection, run_tag):
    factories.RunFactory(collection=collection, run_tag="quiet")
    with pytest.raises(CommandError, match=r"no run nobody|has no generated answers"):
        call_command("whole_answers", "autumn", run_tag)
