"""A measure of what runs lack orders them, wherever order counts, as the measure of what they have does."""

from dataclasses import replace

import pytest

from grading.measures import ItemMeasure, registry
from grading.statistics.rank_correlation import Coefficient
from grading.types import ItemKind
from rubricweb.client.gate import Outcome, verdict_of
from rubricweb.corpus.models import OfficialScore
from rubricweb.editor.trial import Setting, trial_of
from rubricweb.editor.what_if import what_if
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards import influence
from rubricweb.leaderboards.board import BoardSpec, selectors
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.board.sentences import headline
from rubricweb.leaderboards.comparison import changes, compare, document
from rubricweb.leaderboards.comparison.pair import Pair
from rubricweb.leaderboards.influence import duplicates, pool
from rubricweb.leaderboards.meta import MetaSpec, contenders, meta_rows
from rubricweb.releases.boards import _heat_map
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
LACK = ItemMeasure(
    name="lack",
    label="Lack",
    denominator="items not covered / items",
    citation="this test",
    scores=lambda topic: 1 - registry.RUBRIC_COVER.scores(topic),
    less_is_better=True,
)
HAVE = MeasureSpec()


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "MEASURES", (*registry.MEASURES, LACK))
    registry.find.cache_clear()
    yield
    registry.find.cache_clear()


@pytest.fixture
def spec(collection):
    """Run a has a 5 on each of 12 topics, b a 4 on each, c a 5 on three; their official ranks are 2, 1, 3."""
    bank = factories.gradable(collection, topics=12, passages=3, items=1)
    config = factories.lexical_config()
    runs = {tag: factories.RunFactory(collection=collection, run_tag=tag) for tag in "abc"}
    for place, item in enumerate(bank.items.all()):
        passages = [pooled.passage for pooled in item.topic.pool.all()]
        for passage, rating in zip(passages, (5, 4, 0), strict=True):
            factories.grade(config, item, passage, rating)
        for tag, first in (("a", 0), ("b", 1), ("c", 0 if place < 3 else 2)):
            doc_ids = [passages[first].doc_id]
            factories.RankingFactory(run=runs[tag], topic=item.topic, doc_ids=doc_ids)
    for tag, rank in (("a", 2), ("b", 1), ("c", 3)):
        OfficialScore.objects.create(
            collection=collection, board="TREC", run_tag=tag, value=rank, is_rank=True
        )
    return BoardSpec(collection, config, bank, frozenset({ItemKind.QUESTION}), HAVE)


def by(spec, name, min_grade=5):
    return replace(spec, measure=MeasureSpec(name, min_grade))


def test_ranks_intervals_and_correlations(spec):
    lack, have = (selectors.board(by(spec, name)) for name in ("lack", "rubric_cover"))
    assert [(row.run_tag, row.rank, row.score) for row in lack.rows] == [
        ("a", 1, 0),
        ("c", 2, 0.75),
        ("b", 3, 1),
    ]
    for ours, theirs in zip(lack.rows, have.rows, strict=True):
        assert (ours.run_tag, ours.interval, ours.is_behind) == (
            theirs.run_tag,
            theirs.interval,
            theirs.is_behind,
        )
        if theirs.low is not None:
            assert (ours.low, ours.high) == pytest.approx((1 - theirs.high, 1 - theirs.low))
    assert headline(lack.top, 12) == headline(have.top, 12) == "a is clearly ahead of all others."
    for name in ("spearman", "kendall", "tau_gap", "pearson"):
        values = [getattr(board.correlations[0], name).value for board in (lack, have)]
        assert values[0] == pytest.approx(values[1])
    (row,) = meta_rows(
        contenders(spec.collection, [spec.config], [spec.bank], [5]),
        MetaSpec("official:TREC", ("lack", "rubric_cover"), 2),
    )
    for coefficient in Coefficient:
        assert row.cells[0].value(coefficient) == pytest.approx(row.cells[1].value(coefficient))
        assert row.cells[0].draws[coefficient] == pytest.approx(row.cells[1].draws[coefficient], nan_ok=True)
    assert row.cells[0].costs == row.cells[1].costs


def test_two_runs_and_the_gate(spec):
    lack, have = (scored_board(by(spec, name)) for name in ("lack", "rubric_cover"))
    for first, second in (("", ""), ("b", "a"), ("c", "b")):
        assert document(compare(lack, first, second)) == pytest.approx(
            document(compare(have, first, second)), nan_ok=True
        )
    found = document(compare(lack, "b", "a"))
    assert (found["first"], found["difference"], found["is_clear"]) == ("a", 1, True)
    assert verdict_of(found, "b", "a", 0.05).outcome is Outcome.WORSE
    assert verdict_of(found, "a", "b", 0.05).outcome is Outcome.NOT_WORSE
    ours, theirs = (Pair.of(scored, None, None) for scored in (lack, have))
    assert (ours.a_tag, ours.b_tag, ours.counts) == (theirs.a_tag, theirs.b_tag, theirs.counts)
    assert [(row.bar, row.pair.query_id) for row in ours.rows] == [
        (row.bar, row.pair.query_id) for row in theirs.rows
    ]
    assert ours.topics[0].difference == -theirs.topics[0].difference, "the scores are as they are"
    assert "difference \N{MINUS SIGN}0.750" in ours.facts


def test_what_moved_and_what_would(spec):
    moved = [
        [
            (row.run_tag, row.rose, row.possible_before, row.possible_after, row.is_sure)
            for row in changes.moved_rows(scored_board(by(spec, name, 4)), scored_board(by(spec, name, 5)))
        ]
        for name in ("lack", "rubric_cover")
    ]
    assert moved[0] == moved[1]
    assert ("b", -2) in [row[:2] for row in moved[0]]
    item = spec.bank.items.first()
    for name in ("lack", "rubric_cover"):
        tried = trial_of(
            spec.bank, item.topic, spec.config, MeasureSpec(name, 5), {item.pk: Setting(False, 1)}
        )
        assert [(row.run_tag, row.rank, row.rank_before) for row in tried.rows] == [
            ("a", 1, 1),
            ("c", 2, 2),
            ("b", 3, 3),
        ]
        assert what_if(item, spec.config, MeasureSpec(name, 5)).runs.moves == ()


def test_how_sure_and_releases(spec):
    lack, have = (scored_board(by(spec, name)) for name in ("lack", "rubric_cover"))
    for rows in (pool.holes, duplicates.duplicates):
        assert [(row.run_tag, row.rank) for row in rows(lack)] == [("a", 1), ("c", 2), ("b", 3)]
    beyond = [
        [(row.n_beyond, row.influence.largest_move) for row in influence.item_influences(board).rows]
        for board in (lack, have)
    ]
    assert beyond[0] == beyond[1]
    places = [_heat_map(by(spec, "lack"), title="").index(f">{tag}<") for tag in "acb"]
    assert places == sorted(places)


def test_a_click_on_the_score_sorts_the_best_first(spec, viewer, client_of):
    client = client_of(viewer)
    query = {"measure": "lack", "min_grade": 5, "columns": "rubric_cover"}
    page = markup(client.get("/collections/autumn/leaderboards/", query))
    assert 'aria-sort="ascending"' in page
    assert "sort=-score" in page, "the second click has the worst first"
    assert "sort=-rubric_cover" in page
