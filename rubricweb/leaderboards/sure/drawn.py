"""What How sure are we shows of a board, kept beside all that it is computed from.

The numbers and pictures depend on ratings, judgments, items, an official board, what people rated, and what
the reader may see of these. A page reads them all, and computes and draws only where one of them differs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial

from grading.formats.tables import PrintedTable
from rubricweb.grades.matrices import StampedCache
from rubricweb.grades.models import GraderConfig
from rubricweb.leaderboards import sure as findings
from rubricweb.leaderboards.board.scores import basis
from rubricweb.leaderboards.meta import JUDGMENTS, Reference
from rubricweb.leaderboards.sure import Evidence
from rubricweb.leaderboards.sure.pictures import PICTURES
from rubricweb.plots import Picture

KEPT_BOARDS = 8
"""Boards whose pictures are kept, with their matrices."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The sentences and pictures of a board."""

    summary: str
    checked: str
    pictures: tuple[Picture, ...]
    """Without their tables."""
    tabulated: frozenset[str]
    """Names of the pictures that have a table."""


_kept: StampedCache[Hashable, Drawn] = StampedCache(KEPT_BOARDS)


def drawn(evidence: Evidence) -> Drawn:
    """Return what the page shows; a picture's table is made when it is read."""
    key = state(evidence)
    kept = _kept.get(key) or _kept.keep(key, _draw(evidence))
    pictures = [
        replace(picture, tabulate=partial(_sheet, evidence, picture.name))
        if picture.name in kept.tabulated
        else picture
        for picture in kept.pictures
    ]
    return replace(kept, pictures=tuple(pictures))


def _sheet(evidence: Evidence, name: str) -> PrintedTable | None:
    return PICTURES[name](evidence).sheet


def _draw(evidence: Evidence) -> Drawn:
    pictures = [draw(evidence) for draw in PICTURES.values()]
    n_rated = evidence.n_rated
    return Drawn(
        findings.summary(evidence.tau, evidence.n_runs, evidence.leaning, evidence.whose),
        "" if n_rated is None else findings.checked(n_rated, evidence.n_graded),
        tuple(replace(picture, tabulate=None) for picture in pictures),
        frozenset(picture.name for picture in pictures if picture.has_sheet),
    )


def state(evidence: Evidence) -> Hashable:
    """Return all that the sentences and pictures depend on: equal where nothing of it has changed."""
    spec, collection = evidence.spec, evidence.spec.collection
    is_official = evidence.against not in ("", JUDGMENTS)  # judgments come with the topics
    return (
        (spec, spec.measure.spelling, evidence.query, evidence.against),
        (collection.slug, collection.min_relevant, evidence.check_address, evidence.n_rated),
        _content(evidence.other) if is_official and evidence.other else None,
        tuple(evidence.labeller.units()),
        frozenset(evidence.texts.items()),
        tuple(_by_grader(evidence, config) for config in (spec.config, *evidence.others)),
    )


def _content(other: Reference) -> Hashable:
    by_topic = None if other.by_topic is None else other.by_topic.tobytes()
    return other.label, tuple(other.values.items()), other.run_tags, by_topic


def _by_grader(evidence: Evidence, config: GraderConfig) -> Hashable:
    """Return what depends on the grader."""
    pairs = evidence.drawn(config)
    base = evidence.base if config == evidence.spec.config else basis(replace(evidence.spec, config=config))
    return config, str(config.label), base.state, None if pairs is None else frozenset(pairs.items())
