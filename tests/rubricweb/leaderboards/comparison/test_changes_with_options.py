"""The parts of a difference sum to the difference of the real boards, whatever the options of the boards."""

from dataclasses import replace

import pytest

from grading.types import Importance, ItemKind
from rubricweb.banks import actions
from rubricweb.banks.versions import name_version
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, MissingTopic, selectors
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.comparison.changes import explained, moved_rows
from tests.rubricweb.leaderboards.options import OPTIONS

pytestmark = pytest.mark.portable

QUESTIONS = frozenset({ItemKind.QUESTION})
PAPERS, WORKBENCH, FROM_0 = Definition
OF_ITEMS = ("rubric_cover", "weighted_cover", "normalised_cover", "nuggets_all")
MEASURES = [
    *((name, PAPERS) for name in (*OF_ITEMS, "P_2")),
    *((name, WORKBENCH) for name in ("rubric_cover", "normalised_cover", "P_2")),
    ("rubric_cover", FROM_0),
]


def spec_of(made, name, definition, **options):
    measure = MeasureSpec(name, cutoff=2, definition=definition)
    return BoardSpec(made.collection, made.config, made.bank, QUESTIONS, measure, **options)


def check(before, after):
    """Every run's parts sum to what the leaderboard's own page says of the two boards. Returns how many."""
    was, now = ({row.run_tag: row.score for row in selectors.board(spec).rows} for spec in (before, after))
    ours, theirs = scored_board(before), scored_board(after)
    n_parts = 0
    for row in moved_rows(ours, theirs):
        assert (row.before, row.after) == pytest.approx((was[row.run_tag], now[row.run_tag]))
        parts = explained(ours, theirs, row.run_tag)
        total = (now[row.run_tag] or 0) - (was[row.run_tag] or 0)
        assert sum(part.contribution for part in parts) == pytest.approx(total, abs=1e-9)
        n_parts += len(parts)
    return n_parts


@pytest.mark.parametrize(("name", "definition"), MEASURES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_two_thresholds_and_two_sources(rich, name, definition, options):
    spec = spec_of(rich, name, definition, **options)
    stricter = replace(spec, measure=replace(spec.measure, min_grade=5))
    others = [replace(spec, source=source) for source in RatingSource if source != spec.source]
    check(stricter, spec)
    n_parts = [check(before, spec) for before in others]
    assert all(n_parts) or name == "P_2", "the assessor contradicts the grader"


@pytest.mark.parametrize("name", ["rubric_cover", "normalised_cover", "P_2"])
@pytest.mark.parametrize(
    "options", [{}, {"source": RatingSource.CORRECTED}, {"missing": MissingTopic.SKIP}], ids=str
)
def test_two_definitions(rich, name, options):
    """One item of the bank has no grades, so that the definitions divide by different numbers."""
    actions.add_item(rich.bank, rich.topics["t1"], kind="question", text="Why do leaves fall?", by=None)
    before = spec_of(rich, name, PAPERS, **options)
    n_parts = [check(before, spec_of(rich, name, other, **options)) for other in (WORKBENCH, FROM_0)]
    assert all(n_parts) or name != "rubric_cover"


@pytest.mark.parametrize(("name", "definition"), MEASURES[1:6])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_version_and_the_bank_as_it_is_now(rich, name, definition, options):
    """An item got other words, one other weight and subtopic, and one was retired."""
    version = name_version(rich.bank, name="then", by=None)
    reworded, weighed, retired = rich.items["t1"][:3]
    for item in (reworded, weighed, retired):
        item.refresh_from_db()
    weighed.facet_id = "b"
    weighed.save()
    actions.weigh_item(weighed, importance=Importance.VITAL, seen=weighed.version, by=None)
    actions.revise_item(reworded, text="Which pigment, then?", seen=reworded.version, by=None)
    actions.retire_item(retired, seen=retired.version, by=None)
    now = spec_of(rich, name, definition, **options)
    n_parts = check(replace(now, version=version), now)
    if definition is PAPERS and name != "P_2" and now.source is not RatingSource.HUMANS:
        assert n_parts, "only to the Workbench it is nothing what the bank asks"
