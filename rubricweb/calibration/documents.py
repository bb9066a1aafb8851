"""A calibration as a JSON document: what a card keeps, shows and exports."""

from __future__ import annotations

import numpy as np

from grading.arrays import none_if_nan
from grading.statistics import max_t
from grading.statistics.calibration import Bias, Calibration, Estimate, RatingRow, biases, calibration
from grading.statistics.means import LEVEL
from rubricweb.banks.models import Bank
from rubricweb.calibration.samples import RatedSample, by_family, by_length
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.models import GraderConfig

Json = dict[str, object]
RULE = "step-down max-T over all groups, sign flips over topics"
"""By which a group is called clear, with the level `alpha` for all groups together."""


def document_of(bank: Bank, config: GraderConfig, sample: RatedSample, *, is_random: bool) -> Json:
    """Return what is known of the grader: on which sample, agreement, worth of each rating, bias by group."""
    min_grade = default_min_grade(config)
    known = calibration(sample.cells, min_grade=min_grade)
    lengths, families = list(by_length(sample).items()), list(by_family(sample, bank).items())
    groups = biases(sample.cells, [*lengths, *families])
    return {
        "sample": {
            "cells": known.cells,
            "topics": known.topics,
            "people": len(sample.people),
            "blind_cells": int(sample.is_blind.sum()),
            "is_random": is_random,
            "from": min(sample.rated_at).date().isoformat(),
            "to": max(sample.rated_at).date().isoformat(),
        },
        "level": LEVEL,
        "min_grade": min_grade,
        **agreement(known),
        "by_rating": [_rating(row) for row in known.by_rating],
        "groups": {
            "compared": sum(not np.isnan(row.p) for row in groups),
            "rule": RULE,
            "alpha": max_t.ALPHA,
        },
        "by_length": [_bias(row) for row in groups[: len(lengths)]],
        "by_runs": [_bias(row) for row in groups[len(lengths) :]],
    }


def agreement(known: Calibration) -> Json:
    """Return the numbers over all cells."""
    whole = {"kappa": known.kappa, "same": known.same, "near": known.near, "bias": known.bias}
    return {name: _estimate(estimate) for name, estimate in whole.items()}


def _estimate(estimate: Estimate) -> Json:
    low, high = estimate.interval.low, estimate.interval.high
    return {"value": none_if_nan(estimate.value), "low": none_if_nan(low), "high": none_if_nan(high)}


def _rating(row: RatingRow) -> Json:
    known = {"people": _estimate(row.people), "reached": _estimate(row.reached)}
    return {"rating": row.rating, "cells": row.cells, **known}


def _bias(row: Bias) -> Json:
    known = {"bias": _estimate(row.bias), "beyond_others": _estimate(row.beyond_others)}
    return {
        "name": row.name,
        "cells": row.cells,
        **known,
        "p": none_if_nan(row.p),
        "is_clear": row.is_clear,
    }
