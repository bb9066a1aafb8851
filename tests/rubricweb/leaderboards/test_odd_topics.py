"""Boards over topics that lack items or labels, by every measure: page, API, file and command answer."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.urls import reverse

from grading.measures import LabelMeasure, registry
from grading.types import Importance, ItemKind, TrecEval
from rubricweb.banks.actions import retire_item, weigh_item
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards import board_page
from rubricweb.leaderboards.board import BoardSpec, MissingTopic, files, provenance, selectors
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.by_attribute import board_by_attribute
from rubricweb.leaderboards.comparison import compare
from rubricweb.plots import cells
from tests import factories
from tests.worked import judge

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

MEASURES = [
    f"{measure.name}_{'0.50' if measure.number.decimals else 5}"
    if isinstance(measure, LabelMeasure) and measure.number
    else measure.name
    for measure in registry.MEASURES
]


@pytest.fixture
def below_undefined(made):
    """`lacks` covers what is to be avoided, and has -2; `silent` answers only t3, and has no score."""
    first, second = made.items["t1"]
    weigh_item(first, importance=Importance.VITAL, weight=0.25, seen=first.version, by=None)
    weigh_item(second, importance=Importance.AVOID, seen=second.version, by=None)
    silent = factories.RunFactory(collection=made.collection, run_tag="silent")
    factories.RankingFactory(run=silent, topic=made.topics["t3"], doc_ids=["f1"])
    made.collection.runs.filter(run_tag__in=["stray", "both"]).update(state="withdrawn")
    made.collection.save()
    made.topics["t1"].attributes = {"kind": "why"}
    made.topics["t1"].save()
    questions, cover = frozenset({ItemKind.QUESTION}), MeasureSpec("weighted_cover")
    spec = BoardSpec(made.collection, made.config, made.bank, questions, cover)
    return scored_board(replace(spec, missing=MissingTopic.SKIP))


def test_undefined_means_stand_behind_scores_below_minus_one(below_undefined):
    means = dict(zip(below_undefined.run_tags, below_undefined.means.tolist(), strict=True))
    assert (means["lacks"], means["silent"] != means["silent"]) == (-4, True)
    assert board_by_attribute(below_undefined, "kind").run_tags[-2:] == ("lacks", "silent")
    assert (compare(below_undefined).first, compare(below_undefined).second) == ("first", "lacks")


@pytest.fixture
def rated(made, assessor):
    """A person rated a cell of t1; t2's only item is retired; t3 never had one."""
    judge(made)
    rate_cell(Cell.of(made.items["t1"][0], made.passages["d1"]), rating=4, by=assessor, seen=0)
    item = made.items["t2"][0]
    retire_item(item, seen=item.version, by=None)
    return made


def board_of(made, measure, **more):
    """The board as the command has it."""
    out = io.StringIO()
    options = [word for name, value in more.items() for word in (f"--{name}", value)]
    call_command("leaderboard", "autumn", *made.names, "--measure", measure, *options, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("measure", MEASURES)
def test_boards_answer_where_a_topic_has_no_items(rated, owner, client_of, measure):
    organizer = client_of(owner)
    for name, topic in (
        ("leaderboards:board", "t2"),
        ("exports:leaderboard", "t3"),
        ("api:leaderboard", "t2"),
    ):
        asked = {"measure": measure, "topic": topic, "columns": "judgments/map"}
        assert organizer.get(reverse(name, args=["autumn"]), asked).status_code == 200, name
    assert len(board_of(rated, measure, topic="t3")["rows"]) == 4


def test_a_board_of_no_items_has_no_scores(rated):
    for topic in ("t2", "t3"):
        board = board_of(rated, "rubric_cover", topic=topic)
        assert {row["score"] for row in board["rows"]} == {None}
        assert board["topics"] == 0


@pytest.mark.parametrize("source", ["corrected", "humans"])
def test_a_board_of_people_s_ratings_answers_where_a_topic_has_no_items(rated, owner, client_of, source):
    address = reverse("leaderboards:board", args=[rated.collection.slug])
    for topic in ("t2", "t3"):
        response = client_of(owner).get(address, {"source": source, "topic": topic, "units": "subtopics"})
        assert response.status_code == 200


OF_LABELS = [name for name in MEASURES if isinstance(registry.find(name).measure, LabelMeasure)]


@pytest.mark.parametrize("measure", OF_LABELS)
def test_a_topic_judged_only_below_0_scores_0(made, owner, client_of, measure):
    """What hung the whole process: G and ndcg_rel on labels that mean "pooled, not judged"."""
    judge(made)
    Judgment.objects.filter(topic=made.topics["t2"]).update(relevance=-2)
    Collection.objects.update(stamp=new_stamp())
    column = f"judgments/{measure}"
    response = client_of(owner).get(
        reverse("leaderboards:board", args=["autumn"]), {"columns": column, "topic": "t2"}
    )
    assert response.status_code == 200
    rows = board_of(made, "rubric_cover", columns=column, topic="t2")["rows"]
    scores = {row["run_tag"]: row["columns"][column]["score"] for row in rows}
    expected = dict.fromkeys(("both", "first", "lacks", "stray"), 0.0)
    assert scores == (expected | {"both": -1, "first": -1, "stray": -1} if measure == "utility" else expected)


# --- trec_eval 9 and 10 ---


@pytest.fixture
def close(made):
    """`dense` has two passages of t1 whose scores differ in double precision only; d1 is relevant."""
    judge(made)
    run = factories.RunFactory(collection=made.collection, run_tag="dense")
    factories.RankingFactory(
        run=run, topic=made.topics["t1"], doc_ids=["d1", "d2"], scores=[0.975230281, 0.975230279]
    )
    return made


def test_close_scores_are_ordered_as_the_chosen_trec_eval_orders_them(close, owner, client_of):
    column = "judgments/recip_rank"
    spec = BoardSpec(
        close.collection, close.config, close.bank, frozenset({ItemKind.QUESTION}), MeasureSpec("recip_rank")
    )
    for version, chosen in ((TrecEval.NINE, ""), (TrecEval.TEN, "10")):
        board = board_of(close, "P_1", columns=column, topic="t1", **{"trec-eval": str(version)})
        (row,) = [row for row in board["rows"] if row["run_tag"] == "dense"]
        assert board["trec_eval"] == str(version)
        assert row["columns"][column]["score"] == (0.5 if version is TrecEval.NINE else 1.0)
        page = client_of(owner).get(
            reverse("leaderboards:board", args=["autumn"]),
            {"measure": "P_1", "columns": column, "topic": "t1", "trec_eval": chosen},
        )
        other = f"trec_eval {version.other} orders these differently: dense (1 topic)"
        stated = f"as trec_eval {version}; {other}"
        assert stated in page.content.decode()
        lines = files.tsv_lines(
            selectors.board(replace(spec, measure=replace(spec.measure, trec_eval=version)))
        )
        assert any(stated in line for line in lines)


def test_boards_of_items_say_nothing_of_trec_eval(close):
    spec = BoardSpec(
        close.collection, close.config, close.bank, frozenset({ItemKind.QUESTION}), MeasureSpec()
    )
    assert "order of a run" not in dict(provenance.statements(selectors.board(spec)))
    assert "trec_eval" not in board_of(close, "rubric_cover")


def test_names_of_topics_are_escaped_in_the_strip(made, viewer, client_of):
    made.collection.topics.filter(query_id="t1").update(text='<q> & "so on"')
    page = client_of(viewer).get(reverse("leaderboards:board", args=["autumn"]))
    assert 'data-tip="stray · t1 &lt;q&gt; &amp; &quot;so on&quot; · 0.00"' in page.text


def test_strip_of_many_topics_has_a_mark_for_several(made, viewer, client_of, monkeypatch):
    for module in (cells, board_page):
        monkeypatch.setattr(module, "MOST_TOPICS", 1)
    page = client_of(viewer).get(reverse("leaderboards:board", args=["autumn"]))
    stray = next(line for line in page.context["lines"] if line.row.run_tag == "stray")
    assert stray.topics == '<i data-grade="3" data-tip="stray · topics 1 to 2 · 0.50"></i>'
    assert "2 topics, easiest first (2 a mark)" in " ".join(page.text.split())
