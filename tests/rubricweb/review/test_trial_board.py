"""What was tried on a board is kept with its grades."""

from __future__ import annotations

from rubricweb.review.problems.listing import TrialBoard
from tests.factories import ItemFactory, grade

PAGE = "/collections/autumn/review/problems/"


def test_an_effect_is_computed_again_once_grades_change(client_of, viewer, autumn, monkeypatch):
    tried, effect = [], TrialBoard._effect

    def try_it(board: TrialBoard, topic_id: int, scores: object) -> object:
        tried.append(topic_id)
        return effect(board, topic_id, scores)

    monkeypatch.setattr(TrialBoard, "_effect", try_it)
    changes = []
    for times in (2, 2, 4):
        first, _ = client_of(viewer).get(PAGE).context["rows"]
        changes.append(first.problem.effect.change)
        assert len(tried) == times
        if len(changes) == 2:
            grade(autumn.config, ItemFactory(bank=autumn.bank, topic=autumn.topic), autumn.passages["d3"], 0)
    assert changes[0] == changes[1] != changes[2]
