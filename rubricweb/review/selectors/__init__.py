"""What the review screens ask: the home page, a collection's topics, a topic's grid, and one cell."""

from rubricweb.review.selectors.cell import cell
from rubricweb.review.selectors.grid import grid, run_tags
from rubricweb.review.selectors.home import cards
from rubricweb.review.selectors.one import one_cell
from rubricweb.review.selectors.topics import arranged, collection_counts, topic_rows, totals

__all__ = [
    "arranged",
    "cards",
    "cell",
    "collection_counts",
    "grid",
    "one_cell",
    "run_tags",
    "topic_rows",
    "totals",
]
