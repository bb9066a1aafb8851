"""A collection in which people rated what the grader rated."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

import pytest

from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade
from tests.rubricweb.markup import markup
from tests.worked import Worked, worked


class Rated(NamedTuple):
    """The worked collection; an assessor rated whatever the grader did, one less where there is room."""

    made: Worked
    graded: dict[Cell, int]
    """The grader's ratings."""


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)


@pytest.fixture
def rated(made, assessor) -> Rated:
    rows = Grade.objects.filter(config=made.config, outcome="numeric").select_related("revision")
    graded = {Cell(row.revision.topic_id, row.revision_id, row.passage_id): row.rating for row in rows}
    for cell, rating in graded.items():
        rate_cell(cell, rating=max(rating - 1, 0), by=assessor, seen=0)
    return Rated(made, graded)


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())
