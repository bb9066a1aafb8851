"""What the review screens show: a topic's grid, and one cell."""

from rubricweb.review.selectors.cell import cell, one_cell
from rubricweb.review.selectors.grid import grid, run_tags

__all__ = [
    "cell",
    "grid",
    "one_cell",
    "run_tags",
]
