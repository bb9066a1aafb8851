"""Whether intervals of means over topics hold.

    python bench/mean_intervals.py [--write]

Beside ours, in the same samples, the percentile bootstrap: as often as the true mean is inside, and how wide
it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.arrays import percentiles  # noqa: E402
from grading.statistics.mean_intervals import (  # noqa: E402
    mean_intervals,
    resamples,
)

Floats = NDArray[np.float64]
SEED, SAMPLES, BLOCK = 3, 4_000, 200
TOPICS = (5, 8, 12, 25, 54)
KINDS: dict[str, tuple[float, Callable[[Generator, tuple[int, int]], Floats]]] = {
    "shares of 20 items": (0.4, lambda random, shape: random.binomial(20, random.beta(2, 3, shape)) / 20),
    "skewed, beta(.5, 2)": (0.2, lambda random, shape: random.beta(0.5, 2, shape)),
    "heavily skewed, beta(.3, 2)": (0.3 / 2.3, lambda random, shape: random.beta(0.3, 2, shape)),
    "all or nothing, one in five": (0.2, lambda random, shape: random.binomial(1, 0.2, shape).astype(float)),
}


def main() -> None:
    rows: list[Row] = []
    for kind, (mean, drawn) in KINDS.items():
        for topics in TOPICS:
            random, held, told, ours, percentile, theirs = default_rng(SEED), 0, 0, 0.0, 0, 0.0
            for _ in range(SAMPLES // BLOCK):
                values = drawn(random, (BLOCK, topics))
                found = mean_intervals(values)
                is_told = ~np.isnan(found.low)
                held += int(((found.low <= mean) & (mean <= found.high)).sum())
                told += int(is_told.sum())
                ours += float(np.nansum(found.high - found.low))
                low, high = percentiles(values @ resamples(topics).T / topics, [2.5, 97.5])
                percentile += int(((low <= mean) & (mean <= high)).sum())
                theirs += float((high - low).sum())
            rows.append(share(f"{topics} topics, {kind}", ".95", held, told, SEED))
            ours, theirs = ours / told, theirs / SAMPLES
            print(
                f"{topics} topics, {kind}: width {ours:.3f}; none on {1 - told / SAMPLES:.3f};"
                f" percentiles hold {percentile / SAMPLES:.3f}, width {theirs:.3f}"
            )
    report("means", rows)


if __name__ == "__main__":
    main()
