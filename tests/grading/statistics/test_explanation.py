"""The parts of a difference sum to it, and the cells are those that made it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from grading.statistics.influence import BoardSide, Cause, ItemContribution, item_contributions


def side(item_ids, doc_ids, reached, topics=1):
    shares = np.full(len(item_ids), 1 / max(1, len(item_ids)) / topics)
    shape = (len(doc_ids), len(item_ids))
    return BoardSide(tuple(item_ids), tuple(doc_ids), np.array(reached, dtype=bool).reshape(shape), shares)


@st.composite
def sides(draw):
    items = draw(st.lists(st.sampled_from(["q1", "q2", "q3", "q4"]), unique=True, max_size=4))
    docs = draw(st.lists(st.sampled_from(["d1", "d2", "d3"]), unique=True, max_size=3))
    size = len(items) * len(docs)
    return side(items, docs, draw(st.lists(st.booleans(), min_size=size, max_size=size)))


@given(sides(), sides())
def test_contributions_sum_to_the_difference_of_scores(before, after):
    score = {id(one): one.shares[one.reached.any(axis=0)].sum() for one in (before, after)}
    changes = item_contributions(before, after)
    assert sum(change.contribution for change in changes) == pytest.approx(
        score[id(after)] - score[id(before)]
    )
    assert all(change.contribution for change in changes)


def test_cells_that_made_the_change():
    before = side(["q1", "q2", "old"], ["d1", "d2"], [[0, 1, 1], [0, 0, 0]])
    after = side(["q1", "q2", "new"], ["d1", "d3"], [[1, 0, 0], [1, 0, 1]])
    third = pytest.approx(1 / 3)
    assert sorted(item_contributions(before, after), key=lambda change: change.item_id) == [
        ItemContribution("new", Cause.ADDED, third, ("d3",)),
        ItemContribution("old", Cause.REMOVED, pytest.approx(-1 / 3), ()),
        ItemContribution("q1", Cause.GAINED, third, ("d1", "d3")),
        ItemContribution("q2", Cause.LOST, pytest.approx(-1 / 3), ("d1",)),
    ]


def test_an_item_among_more_others_weighs_less():
    before = side(["q1"], ["d1"], [[1]])
    after = side(["q1", "q2"], ["d1"], [[1, 0]])
    assert item_contributions(before, after) == [ItemContribution("q1", Cause.REWEIGHTED, -0.5, ())]
