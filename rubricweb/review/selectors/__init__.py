"""What the review screens show: a topic's grid, and one cell."""

from rubricweb.review.selectors.cell import cell
from rubricweb.review.selectors.grid import grid, run_tags
from rubricweb.review.selectors.single_cell import one_cell

__all__ = [
    "cell",
    "grid",
    "one_cell",
    "run_tags",
]
