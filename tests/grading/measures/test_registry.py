"""Every measure of the registry says what boards, forms and commands need, and docs/measures.md lists it."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from grading.errors import UnknownMeasure
from grading.measures import GradedTopic, ItemMeasure, registry
from grading.measures.cover import NUGGET_SCORES
from grading.types import Importance

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "docs" / "measures.md"


def shown_name(measure):
    number = getattr(measure, "number", None)
    return f"{measure.name}_{number.symbol}" if number else measure.name


def row(measure):
    """Its line in docs/measures.md."""
    denominator = measure.denominator.format(min_grade="t", partial_grade="t/2, rounded up")
    short = ", ".join(f"`{name}`" for name in measure.short_names)
    return f"| `{shown_name(measure)}` | {denominator} | {measure.threshold} | {short} | {measure.citation} |"


def test_the_document_lists_every_measure():
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line.startswith("| `") and line.count("|") == 6]
    assert listed == [row(measure) for measure in registry.MEASURES]


def test_names_are_of_one_measure_each():
    names = [shown_name(measure) for measure in registry.MEASURES]
    short = [name for measure in registry.MEASURES for name in measure.short_names]
    assert len({*names, *short}) == len(names) + len(short)


@pytest.mark.parametrize("measure", registry.MEASURES, ids=shown_name)
def test_each_is_found_by_the_names_that_it_states(measure):
    named = [*measure.suggested, *(short.name for short in measure.short_names.values())]
    assert all(registry.find(name).measure is measure for name in named)
    assert all(low <= default <= high for low, default, high in ranges(measure))
    assert measure.citation
    assert measure.label


def ranges(measure):
    return [(one.lowest, one.default, one.highest) for one in measure.parameters]


@pytest.mark.parametrize(
    "measure", [measure for measure in registry.MEASURES if measure.scores is not None], ids=shown_name
)
def test_each_that_is_computed_here_has_a_worked_example(measure):
    assert ">>> " in inspect.getsource(inspect.getmodule(measure.scores))


def test_sets_are_made_of_known_measures():
    known = {*registry.suggested_names(), *registry.short_names()}
    for one in registry.SETS:
        assert set(one.measures) <= known
        assert one.ranked_by in one.measures
        assert {one.ranked_by, *one.others} == set(one.measures)


def test_defaults_are_known_measures():
    assert isinstance(registry.find(registry.DEFAULT).measure, ItemMeasure)
    assert not isinstance(registry.find(registry.DEFAULT_OF_LABELS).measure, ItemMeasure)
    assert all(registry.find(name) for name in registry.COMPARED)


def test_unknown_names_list_all_measures():
    with pytest.raises(UnknownMeasure) as error:
        registry.find("cover")
    assert all(measure.name in str(error.value) for measure in registry.MEASURES)


SUMS = [each for each in registry.MEASURES if getattr(each, "cells", None) is not None]


@pytest.mark.parametrize("measure", SUMS, ids=lambda measure: measure.name)
def test_a_score_that_is_called_a_sum_over_cells_is_one(measure):
    """For runs with one passage, as `linear_estimate` takes for granted of whatever says so."""
    random = np.random.default_rng(4)
    ratings = random.integers(-2, 6, size=(5, 7)).astype(np.int8)
    ranked = np.arange(5, dtype=np.int32)[:, np.newaxis]
    items = [(Importance.VITAL, 1.0)] * 4 + [(Importance.OKAY, 0.5)] * 3
    topic = GradedTopic(ratings, ranked, items, cutoff=1, min_grade=4)
    credit = measure.cells.credit(ratings, 4)
    assert ((credit >= 0) & (credit <= 1)).all()
    assert credit @ measure.cells.worths(topic) == pytest.approx(measure.scores(topic))


def test_nugget_scores_and_cover_are_sums_over_cells_and_precision_over_passages():
    assert {each.name for each in SUMS} >= {"rubric_cover", *(each.name for each in NUGGET_SCORES)}
    shares = [each.name for each in registry.MEASURES if getattr(each, "is_share_of_first", False)]
    assert shares == ["P"]
