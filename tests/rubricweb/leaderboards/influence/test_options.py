"""Leaving an item out is the real board with that item retired, whatever the options of the board."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from django.db import transaction
from django.utils import timezone
from scipy import stats

from grading.statistics.diagnostics import families
from grading.types import ItemKind
from rubricweb.banks.actions import retire_item, revise_item
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.versions import name_version
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.grades.store import remove_grades
from rubricweb.leaderboards import influence
from rubricweb.leaderboards.board import BoardSpec, selectors
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.influence import pool
from tests.rubricweb.leaderboards.options import OPTIONS

pytestmark = pytest.mark.portable

QUESTIONS = frozenset({ItemKind.QUESTION})
MEASURES = ("rubric_cover", "weighted_cover", "normalised_cover", "nuggets_all", "alpha_ndcg", "P_2", "map")


def spec_of(made, name="rubric_cover", **options):
    return BoardSpec(made.collection, made.config, made.bank, QUESTIONS, MeasureSpec(name), **options)


def board_of(spec):
    """Run -> (rank, score) on the page of the leaderboard."""
    return {row.run_tag: (row.rank, row.score) for row in selectors.board(spec).rows}


class Undo(Exception):
    pass


def board_without(spec, item):
    """The real board once the item is retired, or is no more in the version."""
    try:
        with transaction.atomic():
            if spec.version is None:
                retire_item(item, seen=item.version, by=None)
            else:
                spec.version.entries.filter(item=item).delete()
            found = board_of(spec)
            raise Undo
    except Undo:
        return found


def check(spec, asked):
    found = {row.uid: row.influence for row in influence.item_influences(scored_board(spec)).rows}
    before = board_of(spec)
    assert found
    for item in asked:
        after, effect = board_without(spec, item), found.pop(item.revision.uid)
        assert effect.largest_move == max(abs(after[tag][0] - before[tag][0]) for tag in before)
        both = [
            (before[tag][1], after[tag][1]) for tag in before if None not in (before[tag][1], after[tag][1])
        ]
        change = np.mean([now - was for was, now in both]) if both else None
        assert effect.mean_change == (change if change is None else pytest.approx(change, abs=1e-9))
        swapped = [one for one in combinations(both, 2) if is_swapped(*one)]
        assert effect.n_swapped == len(swapped)
        tau = stats.kendalltau(*np.round(np.array(both).T, 12)).statistic if len(both) >= 3 else np.nan
        assert effect.tau == (None if np.isnan(tau) else pytest.approx(tau))
    assert not found


def is_swapped(first, second):
    return round(first[0] - second[0], 12) * round(first[1] - second[1], 12) < 0


def items_of(made, spec):
    every = made.items["t1"] + (made.items["t2"] if spec.is_of_all_topics else [])
    return [item for item in every if not spec.facet or item.facet_id == spec.facet]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_without_an_item_is_the_board_after_retiring_it(rich, name, options):
    spec = spec_of(rich, name, **options)
    check(spec, items_of(rich, spec))


def test_of_a_version(rich):
    """The bank has gone on: one item is retired and one has other words."""
    version = name_version(rich.bank, name="then", by=None)
    for item in rich.items["t1"]:
        item.refresh_from_db()
    then = {item.pk: item.revision for item in rich.items["t1"] + rich.items["t2"]}
    retired, reworded = rich.items["t1"][:2]
    retire_item(retired, seen=retired.version, by=None)
    revise_item(reworded, text="When do leaves turn?", seen=reworded.version, by=None)
    for name in ("rubric_cover", "weighted_cover"):
        spec = spec_of(rich, name, version=version)
        asked = rich.items["t1"] + rich.items["t2"]
        for item in asked:
            item.revision = then[item.pk]
        check(spec, asked)


def test_origins_are_those_of_the_version(rich):
    item = rich.items["t1"][0]
    request = DraftRequest.objects.create(
        bank=rich.bank, topic=item.topic, kind="question", backend="b", llm="gpt", prompt_id="p@1"
    )
    Draft.objects.create(request=request, text="x", state="accepted", item=item, decided_at=timezone.now())
    version = name_version(rich.bank, name="then", by=None)
    before = pool.origins(scored_board(spec_of(rich, version=version)))
    old = item.revision.uid
    item.refresh_from_db()
    revise_item(item, text="Which pigment, then?", seen=item.version, by=None)
    assert before["gpt"] == {item.topic_id: (old,)}
    assert pool.origins(scored_board(spec_of(rich, version=version))) == before


BY_GRADER = {name: options for name, options in OPTIONS.items() if "source" not in options}
DEFINED = [
    ("rubric_cover", Definition.PAPERS),
    ("weighted_cover", Definition.PAPERS),
    ("P_2", Definition.PAPERS),
    ("rubric_cover", Definition.WORKBENCH),
    ("P_2", Definition.WORKBENCH),
]


@pytest.mark.parametrize("options", BY_GRADER.values(), ids=BY_GRADER)
@pytest.mark.parametrize(("name", "definition"), DEFINED)
def test_a_team_left_out_is_the_board_without_its_grades(rich, name, definition, options):
    """Only stray has d3."""
    spec = replace(spec_of(rich, **options), measure=MeasureSpec(name, definition=definition))
    made = scored_board(spec)
    found = pool.teams_left_out(made, families(made.run_tags), depth=20)
    row = next(row for row in found if row.run_tag == "stray")
    assert row.n_alone == 1
    lost = Grade.objects.filter(passage=rich.passages["d3"])
    assert remove_grades(rich.config, rich.topics["t1"].pk, lost)
    assert (row.after, pytest.approx(row.score_without)) == board_of(spec)["stray"]
