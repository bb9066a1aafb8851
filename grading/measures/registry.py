"""All measures, and the measures of labels for all runs of a topic at once.

To add a measure, write it beside its kin (see `cover.py`), and a line in MEASURES. Boards, columns, forms,
commands, figures, meta-evaluation, files and docs/measures.md read what is declared here.

Measures of labels are those of trec_eval 9, and tests compare them; RR within k and judged@k are those of
ir_measures. Its C code stays out of this process: it
reads before its arrays, or for ever, where a topic has no label of 0 or more, and takes time and memory by
the highest label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grading.errors import UnknownMeasure
from grading.measures import (
    NOT_POOLED,
    Floats,
    ItemMeasure,
    LabelledTopic,
    LabelMeasure,
    Labels,
    Measure,
    ShortName,
)
from grading.measures.cover import NORMALISED_COVER, NUGGET_SCORES, RUBRIC_COVER, WEIGHTED_COVER
from grading.measures.gain import ALPHA_NDCG, GAIN_MEASURES, NDCG, NDCG_CUT
from grading.measures.intents import D_SHARP_NDCG, ERR_IA, NRBP
from grading.measures.precision_recall import (
    AVERAGE_PRECISION,
    AVERAGE_PRECISION_CUT,
    BPREF,
    INFERRED_AP,
    JUDGED,
    PRECISION,
    R_PRECISION,
    RECALL,
    RECALL_LEVEL_MEASURES,
    RECIPROCAL_RANK,
    RECIPROCAL_RANK_CUT,
    SET_MEASURES,
    SUCCESS,
)
from grading.measures.stance import CONTRADICTORY, SUPPORTIVE
from grading.types import ItemKind

MEASURES: list[Measure] = [
    RUBRIC_COVER,
    NORMALISED_COVER,
    WEIGHTED_COVER,
    ALPHA_NDCG,
    ERR_IA,
    NRBP,
    D_SHARP_NDCG,
    *NUGGET_SCORES,
    SUPPORTIVE,
    CONTRADICTORY,
    NDCG_CUT,
    PRECISION,
    AVERAGE_PRECISION,
    RECIPROCAL_RANK,
    R_PRECISION,
    RECALL,
    SUCCESS,
    NDCG,
    AVERAGE_PRECISION_CUT,
    RECIPROCAL_RANK_CUT,
    BPREF,
    *GAIN_MEASURES,
    INFERRED_AP,
    *SET_MEASURES,
    *RECALL_LEVEL_MEASURES,
    JUDGED,
]
"""All measures, in the order in which forms suggest them; those of plug-ins (`grading.plugins`) come last."""
DEFAULT = RUBRIC_COVER.name
"""The measure that ranks runs where nobody names one."""
DEFAULT_OF_LABELS = "ndcg_cut_10"
"""The same where there are labels only: of a direct grader, or human judgments."""
COMPARED = (DEFAULT, DEFAULT_OF_LABELS, "map", "recip_rank")
"""Measures that meta-evaluation compares where nobody names some."""


@dataclass(frozen=True, slots=True)
class MeasureSet:
    """Measures that are shown together; the first ranks the runs unless another is named."""

    name: str
    label: str
    measures: tuple[str, ...]
    ranked_by: str
    kind: ItemKind | None = None
    """Boards without items of this kind do not offer it."""

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.measures if name != self.ranked_by)


RAG24 = MeasureSet(
    "rag24",
    "RAG'24 measures",
    ("cover-1", "cover-4", "cover-5", "qrels-ndcg", "qrels-1", "qrels-4", "qrels-5"),
    ranked_by="cover-4",
)
"""Measures of the TREC RAG'24 rubric evaluation (TREMA-UNH at TREC RAG, 7), all at 20 passages."""
NUGGET_SET = MeasureSet(
    "nuggets",
    "Nugget scores",
    tuple(measure.name for measure in NUGGET_SCORES if measure.name != "nuggets_strict_weighted"),
    ranked_by="nuggets_strict_vital",
    kind=ItemKind.NUGGET,
)
DRAGUN = MeasureSet(
    "dragun",
    "DRAGUN scores",
    (SUPPORTIVE.name, CONTRADICTORY.name),
    ranked_by=SUPPORTIVE.name,
    kind=ItemKind.NUGGET,
)
SETS = RAG24, NUGGET_SET, DRAGUN


@dataclass(frozen=True, slots=True)
class NamedMeasure:
    """A measure with the number that its name has: `P_20` is `P` with 20."""

    measure: Measure
    name: str
    """The name as trec_eval writes it."""
    cutoff: int | None = None
    share: float = 0
    """The number in the name where it is a decimal: the 0.1 of `iprec_at_recall_0.10`."""


@lru_cache(maxsize=1024)
def find(name: str) -> NamedMeasure:
    """Return the measure of that name. Raise `UnknownMeasure`, which lists the known ones.

    >>> found = find("ndcg_cut.10")
    >>> found.measure.name, found.name, found.cutoff
    ('ndcg_cut', 'ndcg_cut_10', 10)
    """
    for measure in MEASURES:
        if (named := _named(measure, name)) is not None:
            return named
    raise UnknownMeasure(f"no measure {name!r}; known are {measure_names()}")


def _named(measure: Measure, name: str) -> NamedMeasure | None:
    number = measure.number if isinstance(measure, LabelMeasure) else None
    if number is None:
        return NamedMeasure(measure, name) if name == measure.name else None
    stated = re.fullmatch(rf"{re.escape(measure.name)}[._](.+)", name)
    spelled = number.spelled(stated[1]) if stated else None
    if spelled is None:
        return None
    named = f"{measure.name}_{spelled}"
    if number.decimals:
        return NamedMeasure(measure, named, share=float(spelled))
    return NamedMeasure(measure, named, int(spelled))


def measure_names() -> str:
    """Return the names of all measures as a sentence's end, with letters for numbers; trec_eval's first."""
    label_measures = [measure for measure in MEASURES if isinstance(measure, LabelMeasure)]
    plain = sorted(measure.name for measure in label_measures if measure.number is None)
    numbered = sorted((m.number.symbol, m.name, m.number) for m in label_measures if m.number)
    ranges = [f"{name}_{symbol} ({symbol} from {n.lowest} to {n.highest})" for symbol, name, n in numbered]
    return f"{', '.join([*plain, *ranges])}, and {', '.join(measure.name for measure in item_measures())}"


def item_measures() -> list[ItemMeasure]:
    return [measure for measure in MEASURES if isinstance(measure, ItemMeasure)]


def suggested_names() -> list[str]:
    """Return the names that forms suggest."""
    return [name for measure in MEASURES for name in measure.suggested]


def short_names() -> dict[str, ShortName]:
    return {short: stands_for for m in MEASURES for short, stands_for in m.short_names.items()}


def measure_sets() -> dict[str, tuple[str, ...]]:
    return {each.name: each.measures for each in SETS}


def validate(name: str) -> str:
    """Return trec_eval's own name of a measure of labels. Raise `UnknownMeasure`, which lists the known ones.

    >>> validate("ndcg_cut.10"), validate("P_20"), validate("iprec_at_recall.0.1")
    ('ndcg_cut_10', 'P_20', 'iprec_at_recall_0.10')
    """
    named = find(name)
    if not isinstance(named.measure, LabelMeasure):
        raise UnknownMeasure(f"{name} is a measure of items")
    return named.name


def label_scores(
    ranked: Labels,
    judged: Labels,
    name: str,
    *,
    lengths: NDArray[np.signedinteger[Any]] | None = None,
    level: int = 1,
    is_judged_only: bool = False,
) -> Floats:
    """Return the scores, shape (runs,), of runs whose passages have the labels `ranked`, (runs, depth).

    The passages are in trec_eval's order. What the judgments do not name, and what is after a run's end, has
    the label NOT_POOLED. `judged` has every label of the topic, `lengths` how many passages each run ranks
    (depth by default): a run without the topic has 0 and scores 0 (trec_eval -c). Where no label is relevant,
    every run scores 0, but by `utility`. `level` is the lowest relevant label (trec_eval -l); nDCG ignores it
    and takes the labels as gains. `is_judged_only` takes passages without a label out of the runs before they
    are cut (trec_eval -J). Raise `UnknownMeasure`.

    Labels 3 and 2 at ranks 2 and 3 give nDCG@3 = (3/log2(3) + 2/log2(4)) / (3 + 2/log2(3)) = 0.6788 (Järvelin
    and Kekäläinen 2002, as trec_eval discounts).

    >>> import numpy as np
    >>> ranked = np.array([[0, 3, 2], [-1, -1, -1]])
    >>> label_scores(ranked, np.array([0, 3, 2]), "ndcg_cut_3").round(4).tolist()
    [0.6788, 0.0]
    >>> label_scores(ranked, np.array([0, 3, 2]), "P_2", level=3).tolist()
    [0.5, 0.0]
    """
    named = find(name)
    if not isinstance(named.measure, LabelMeasure):
        raise UnknownMeasure(f"{name} is a measure of items")
    if is_judged_only:
        ranked, lengths = _judged_only(ranked)
    topic = LabelledTopic(ranked, judged, lengths, level, named.cutoff, named.share)
    return named.measure.scores(topic)


def _judged_only(ranked: Labels) -> tuple[Labels, NDArray[np.int64]]:
    """Return the labels that are there in their order, the rest behind them, and how many a run has."""
    is_judged = ranked >= 0
    places = np.argsort(~is_judged, axis=1, kind="stable")
    moved = np.take_along_axis(np.where(is_judged, ranked, NOT_POOLED), places, axis=1)
    return moved.astype(ranked.dtype), is_judged.sum(axis=1)
