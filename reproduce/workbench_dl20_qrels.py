"""Workbench, DL 2020: correlations of Rubric-Qrels with the official leaderboard, by kind and threshold."""

from __future__ import annotations

from reproduce._workbench import table

PRINTED = {
    "spearman": (0.859, 0.894, 0.894, 0.961, 0.953, 0.972),
    "kendall": (0.684, 0.734, 0.729, 0.834, 0.818, 0.872),
}
TABLE = table(
    "qrels",
    PRINTED,
    md5="9dd7fe615e58008f1648bc50a58fa616",
    note="As for cover, from scores of three digits.",
)
