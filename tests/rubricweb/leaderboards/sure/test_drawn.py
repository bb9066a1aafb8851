"""The pictures of How sure are we are those of before only where nothing that they show has changed."""

from __future__ import annotations

import pytest

from grading.types import Importance
from rubricweb.banks.actions import retire_item, revise_item, weigh_item
from rubricweb.banks.changes import hide_item
from rubricweb.banks.models import ItemRevision
from rubricweb.core.models import new_stamp
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Collection, OfficialScore
from rubricweb.corpus.official import put_official_scores
from rubricweb.grades.human_models import Draw
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.leaderboards.sure import drawn
from tests import factories
from tests.worked import judge

pytestmark = pytest.mark.portable

SURE = "/collections/autumn/leaderboards/sure/"
BOARD = {"both": 0.9, "first": 0.7, "lacks": 0.3, "stray": 0.1}


def grade(made, by):
    Grade.objects.filter(config=made.config, passage=made.passages["d1"]).update(rating=1)
    MatrixStamp.objects.filter(config=made.config).update(number=new_stamp())


def rate(made, by):
    rate_cell(Cell.of(made.items["t1"][0], made.passages["d1"]), rating=1, by=by, seen=1)


def check(made, by):
    rate_cell(Cell.of(made.items["t1"][1], made.passages["d2"]), rating=5, by=by, seen=0)


def reword(made, by):
    item = made.items["t1"][0]
    revise_item(item, text="Which pigment makes leaves yellow?", seen=item.version, by=by)


def weigh(made, by):
    item = made.items["t1"][0]
    weigh_item(item, importance=Importance.OKAY, seen=item.version, by=by, weight=0.1)


def retire(made, by):
    item = made.items["t1"][0]
    retire_item(item, seen=item.version, by=by)


def hide(made, by):
    item = made.items["t1"][0]
    hide_item(item, seen=item.version, by=by)


def judgment(made, by):
    factories.JudgmentFactory(topic=made.topics["t1"], doc_id="d3")
    Collection.objects.update(stamp=new_stamp())


CHANGES = {
    "a grade": grade,
    "another rating of a pair drawn at random": rate,
    "a rating of a further pair": check,
    "a wording": reword,
    "a weight": weigh,
    "an item": retire,
    "a secret item": hide,
    "a text": lambda made, by: ItemRevision.objects.filter(text__startswith="Which").update(text="Why red?"),
    "a judgment": judgment,
    "the first relevant judgment": lambda made, by: Collection.objects.update(min_relevant=3),
    "a run": lambda made, by: withdraw_run(made.collection.runs.get(run_tag="stray"), by=by),
    "names of runs": lambda made, by: Collection.objects.update(shows_run_tags=False),
    "an official score": lambda made, by: OfficialScore.objects.filter(run_tag="lacks").update(value=1.5),
    "an official board": lambda made, by: OfficialScore.objects.all().delete(),
}


def shown(response):
    context = response.context
    tables = [picture.sheet.rows if picture.has_sheet else () for picture in context["pictures"]]
    bare = [
        (picture.title, picture.subtitle, picture.plot, picture.facts, picture.href)
        for picture in context["pictures"]
    ]
    return context["summary"], context["checked"], bare, tables


@pytest.fixture
def page(made, owner, viewer, client_of):
    """A way to ask for what the page shows of a board that is compared with an official one."""
    judge(made)
    put_official_scores(made.collection, BOARD, name="TREC", measure="", by=None)
    revisions = [item.revision_id for item in made.bank.items.all()]
    draw = Draw.objects.create(collection=made.collection, design=Draw.Design.CELLS, revisions=revisions)
    cell = Cell.of(made.items["t1"][0], made.passages["d1"])
    rate_cell(cell, rating=4, by=owner, seen=0, draw=draw.pk)
    client = client_of(viewer)
    return lambda **query: shown(client.get(SURE, query))


@pytest.fixture
def drawings(monkeypatch):
    """The boards that were drawn."""
    listed, draw = [], drawn._draw
    monkeypatch.setattr(drawn, "_draw", lambda evidence: listed.append(evidence) or draw(evidence))
    drawn._kept.clear()
    return listed


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changed_is_seen_at_once(made, page, owner, drawings, change):
    weighed = {"measure": "weighted_cover"}
    before = page(**weighed)
    assert page(**weighed) == before
    assert len(drawings) == 1
    change(made, owner)
    after = page(**weighed)
    assert after != before
    assert len(drawings) == 2
    drawn._kept.clear()
    assert page(**weighed) == after, "as a new process has it"


def test_labels_are_of_the_grader_whoever_rated_the_board(made, page, owner, drawings):
    before = page(source="humans")
    grade(made, owner)
    assert page(source="humans") != before


@pytest.mark.parametrize(
    "query",
    [
        {"min_grade": "3"},
        {"measure": "P_2"},
        {"reference": "judgments"},
        {"topic": "t1"},
        {"source": "humans"},
        {"runs": "both,first"},
        {"missing": "skip"},
    ],
)
def test_each_address_has_its_own(page, drawings, query):
    whole, other = page(), page(**query)
    assert whole != other
    assert (page(), page(**query)) == (whole, other)
    assert len(drawings) == 2


def test_readers_who_see_the_same_share_them(made, page, owner, drawings, client_of):
    page()
    client_of(owner).get(SURE)
    assert len(drawings) == 1
