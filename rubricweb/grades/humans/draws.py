"""Random draws of cells: the only place that decides which human ratings are a sample, and of what."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rubricweb.corpus.models import Collection
from rubricweb.grades.draws import Draw
from rubricweb.grades.humans.matrices import HumanGrades


def uniform_draws(collection: Collection, revisions: Container[int]) -> tuple[frozenset[int], frozenset[int]]:
    """By primary key: the draws that sampled all cells of these wordings alike, and the others."""
    draws = Draw.objects.filter(collection=collection).values_list("pk", "design", "revisions")
    wordings = set(revisions)
    uniform = {pk for pk, design, drawn in draws if design == Draw.Design.CELLS and wordings <= set(drawn)}
    return frozenset(uniform), frozenset(pk for pk, *_ in draws) - uniform


def drawn_mask(human: HumanGrades, uids: tuple[str, ...], draws: Iterable[int]) -> NDArray[np.bool_]:
    """Shape (passages, items): cells of these draws that somebody rated."""
    mask = np.zeros((len(human.pool.doc_ids), len(uids)), dtype=np.bool_)
    for draw in draws:
        if draw in human.drawn:
            mask |= human.drawn[draw].columns(uids).ratings == 1
    return mask
