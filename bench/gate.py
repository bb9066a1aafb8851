"""How often `rubricweb gate` errs: shares of its verdicts over simulated releases, at worst.

A release is a run and the run in use on n topics, whose differences are drawn from what measures look like:
cover in quarters, small steps, and, as the worst case, one topic in twenty that loses or gains nearly all.
NOT_WORSE is wrong where the run is worse by the margin; WORSE is wrong where the two are equal. Beside it,
what teams do without intervals: pass where the mean did not fall.
"""

from __future__ import annotations

import argparse
from math import isfinite

import numpy as np

from grading.statistics.max_t import ALPHA, adjusted_p, interval
from rubricweb.client.gate import OUTCOMES, Outcome, Verdict

MARGIN = 0.05
SHAPES = {
    "cover in quarters": (-0.5, -0.25, -0.25, 0.0, 0.0, 0.0, 0.0, 0.25, 0.25, 0.5),
    "small steps": tuple(np.linspace(-0.2, 0.2, 41).tolist()),
    "rare large losses": (*[0.05] * 19, -0.95),
    "rare large gains": (*[-0.05] * 19, 0.95),
}
"""Differences by topic, of mean 0."""


def shares(
    shape: tuple[float, ...], shift: float, topics: int, releases: int
) -> tuple[dict[Outcome, float], float]:
    """Return the share of each verdict, and how often the mean alone would pass."""
    draws = np.random.default_rng(33).choice(shape, (releases, topics)) + shift
    counts = dict.fromkeys(Outcome, 0)
    for row in draws:
        low, high = interval(row)
        ends = (low, high) if isfinite(low) else (None, None)
        is_clear = bool(adjusted_p(row[np.newaxis])[0] <= ALPHA)
        equal = int((np.abs(row) < 5e-4).sum())
        counts[Verdict("r", "b", MARGIN, topics, equal, float(row.mean()), *ends, is_clear).outcome] += 1
    return {each: count / releases for each, count in counts.items()}, float((draws.mean(axis=1) >= 0).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=1_000)
    releases = parser.parse_args().releases
    print(
        f"{'differences':<20} {'true':>6} {'topics':>6}  "
        + "  ".join(OUTCOMES.values())
        + "  mean alone passes"
    )
    for name, shape in SHAPES.items():
        for shift in (-MARGIN, 0.0):
            for topics in (10, 30, 100):
                share, by_mean = shares(shape, shift - float(np.mean(shape)), topics, releases)
                print(
                    f"{name:<20} {shift:>6.2f} {topics:>6}  {share[Outcome.NOT_WORSE]:>9.3f}  "
                    f"{share[Outcome.WORSE]:>13.3f}  {share[Outcome.CANNOT_TELL]:>11.3f}  {by_mean:>17.3f}"
                )


if __name__ == "__main__":
    main()
