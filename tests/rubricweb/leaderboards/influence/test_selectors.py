"""What the small board hangs on, by hand and by computing the board anew."""

from types import SimpleNamespace

import numpy as np
import pytest
from django.utils import timezone

from grading.statistics.diagnostics import families
from grading.types import ItemKind
from rubricweb.banks.actions import retire_item
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.grades.scoring import MeasureSpec, rank_intervals
from rubricweb.leaderboards import influence
from rubricweb.leaderboards.board import BoardSpec, selectors
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.influence import pool

BOTH = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})


def made_scored(made, measure=None):
    return scored_board(BoardSpec(made.collection, made.config, made.bank, BOTH, measure or MeasureSpec()))


def board_of(made, measure):
    found = selectors.board(BoardSpec(made.collection, made.config, made.bank, BOTH, measure))
    return {row.run_tag: row.rank for row in found.rows}


@pytest.mark.parametrize(
    "measure", [MeasureSpec(), MeasureSpec("P_2"), MeasureSpec("ndcg_cut_10")], ids=lambda m: m.name
)
def test_without_an_item_is_the_board_after_retiring_it(made, owner, measure):
    before = board_of(made, measure)
    rows = {row.uid: row for row in influence.item_influences(made_scored(made, measure)).rows}
    assert len(rows) == 3
    item = made.items["t1"][0]
    expected = rows[item.revision.uid].influence
    retire_item(item, seen=item.version, by=owner)
    after = board_of(made, measure)
    assert expected.largest_move == max(abs(after[tag] - before[tag]) for tag in before)


def test_difficulty_and_discrimination_by_hand(made):
    """Pigment: covered by both and first; of d1 5, d2 0, d3 3 one of three passages reaches 4."""
    row = next(
        r
        for r in influence.item_influences(made_scored(made)).rows
        if r.uid == made.items["t1"][0].revision.uid
    )
    assert row.by_runs == 0.5
    assert row.by_passages == pytest.approx(1 / 3)
    covered, rest = [1, 1, 0, 0], [(1 + 1) / 2, (0 + 0) / 2, (1 + 0) / 2, (0 + 1) / 2]
    assert row.tells_runs == pytest.approx(np.corrcoef(covered, rest)[0, 1])


def test_one_topic_only(made):
    found = influence.item_influences(made_scored(made), topic_id=made.topics["t2"].pk)
    assert [row.query_id for row in found.rows] == ["t2"]
    assert influence.item_influences(made_scored(made), topic_id=made.topics["t3"].pk).rows == []


def test_runs_that_hang_on_one_item(made):
    """Without t2's only item the topic is gone: both 1, first and lacks 1/2, stray 0."""
    found = {one.run_tag: one for one in influence.item_influences(made_scored(made)).dependents}
    stray = found["stray"]
    assert (stray.before, stray.after, stray.row.query_id) == (2, 4, "t2")


def test_holes_by_hand(made):
    """stray has zz, which is not pooled, d3 and e2: one of three is ungraded."""
    found = {row.run_tag: row for row in pool.holes(made_scored(made))}
    assert found["stray"].shares == (pytest.approx(1 / 3),) * 3
    assert (found["stray"].outside, found["both"].outside) == (1, 0)
    assert found["both"].shares == (0, 0, 0)


def test_a_team_left_out(made):
    """d3 is only stray's, but reaches no threshold; were lacks alone with d2 it would lose it."""
    scores = made_scored(made)
    found = {row.run_tag: row for row in pool.teams_left_out(scores, families(scores.run_tags), depth=20)}
    assert (found["stray"].n_alone, found["stray"].error) == (1, 0)
    joined = families(scores.run_tags, ["[blf]*"])
    assert sorted(joined) == ["[blf]*", "stray"]
    left_out = {row.run_tag: row for row in pool.teams_left_out(scores, joined, depth=20)}
    assert left_out["first"].score_without == 0
    assert left_out["both"].score_without == 0.5
    assert (left_out["both"].before, left_out["both"].after, left_out["both"].error) == (1, 1, 0)
    assert {(row.possible, row.is_sure) for row in found.values()} == {((1, 4), False)}
    assert min(row.p for row in left_out.values()) >= 0.5, "two topics"


def test_only_ranks_that_the_topics_rule_out_are_beyond():
    known = rank_intervals(np.array([[0.9], [0.5], [0.1]]) * np.ones(10))
    assert [known.possible(run) for run in range(3)] == [(1, 1), (2, 2), (3, 3)]
    without = np.array([[0.1, 0.5, 0.9], [0.9, 0.5, 0.1], [0.4, 0.5, 0.1]])
    scored = SimpleNamespace(ranks=known, spec=SimpleNamespace(measure=MeasureSpec()))
    assert influence._beyond(scored, without).tolist() == [2, 0, 2]
    assert influence._beyond(SimpleNamespace(ranks=None), without).tolist() == [0, 0, 0]


def test_labels_lose_what_only_the_team_found(made):
    scores = made_scored(made, MeasureSpec("P_2"))
    found = pool.teams_left_out(scores, families(scores.run_tags, ["[blf]*"]), depth=20)
    assert next(row for row in found if row.run_tag == "first").score_without == 0


def test_items_that_a_model_drafted(made):
    item = made.items["t1"][0]
    request = DraftRequest.objects.create(
        bank=made.bank, topic=item.topic, kind="question", backend="b", llm="gpt", prompt_id="p@1"
    )
    Draft.objects.create(request=request, text="x", state="accepted", item=item, decided_at=timezone.now())
    scores = made_scored(made)
    assert sorted(pool.origins(scores)) == ["gpt", pool.PEOPLE]
    rows = pool.circularity(scores, families(scores.run_tags))
    first = next(row for row in rows if (row.origin, row.family) == ("gpt", "first"))
    others = [(1 - 1), (0 - 1), (0 - 0)]
    assert first.advantage.value == pytest.approx((1 - 0) - sum(others) / 3)
    assert (first.n_items, first.advantage.n_topics) == (1, 1)


def test_redundant_pairs(made):
    assert influence.pairs(made_scored(made)) == []
