"""Say what a board tells of its runs and of its estimates, alike on pages, in files and in the API."""

from __future__ import annotations

import numpy as np

from grading.statistics.agreement import Trend
from grading.statistics.cover_estimate import COVER_CELLS, LEVEL
from grading.statistics.cover_sample import A_RUN
from grading.statistics.max_t import ALPHA, POWER
from rubricweb.core.formatting import counted
from rubricweb.grades.human_models import Draw
from rubricweb.leaderboards.board import EstimateSample, Top

NAMED = 3
"""So many runs that are first with equal scores are named."""
CHOICES = {
    Draw.Design.COVER: "a sample that estimates every run's Rubric-Cover",
    Draw.Design.ANSWERS: "a sample that estimates every run's nugget scores, one passage a topic",
    Draw.Design.PASSAGES: "whole passages, a sample that estimates every run's P@k",
}
"""What a campaign calls each design."""
ENOUGH = {
    Draw.Design.COVER: f"for this grader, threshold and cutoff; about {COVER_CELLS} are usually enough",
    Draw.Design.ANSWERS: f"for this cutoff; about {A_RUN} a run are usually enough",
    Draw.Design.PASSAGES: f"for this cutoff; about {A_RUN} passages a run are usually enough",
}
UNITS = {Draw.Design.COVER: "items", Draw.Design.ANSWERS: "pairs", Draw.Design.PASSAGES: "passages"}
"""What each design can draw or not."""
SEVERAL = (
    "with more than one passage of a run in a topic the measure is not a sum over passages; with a cutoff "
    "of 1 it is"
)
AVOIDED = "it has items to avoid, for which an estimate of this kind is not known"
ASSUMES = "It assumes that people disagree with the grader as often on every run's passages of the same {}."
ASSUMES_NOTHING = "It is right on average, whatever errors the grader makes."
FINDS = "Given the grader's rating, people find more in {} passages ({}): the {}."


def headline(top: Top | None, n_topics: int) -> str:
    """Return which run is first, and how many are not clearly behind it; empty where nothing is tested.

    >>> headline(Top(True, ("bm25",), 2, 4, 0.09), 25)
    'bm25 is first; 2 more are not clearly behind.'
    """
    if top is None:
        return ""
    if not top.can_tell:
        return f"With {counted(n_topics, 'topic')} no run can be clearly ahead."
    first = names(top.first)
    if not top.n_not_behind and not top.n_behind:
        if len(top.first) == 1:
            return f"Only {first} has a score."
        return f"{first} have exactly the same score."
    more = f"{top.n_not_behind} more {'is' if top.n_not_behind == 1 else 'are'} not clearly behind"
    if len(top.first) == 1 and not top.n_not_behind:
        return f"{first} is clearly ahead of all others."
    if len(top.first) == 1:
        return f"{first} is first; {more}."
    if not top.n_not_behind:
        return f"{first} have exactly the same score, and are clearly ahead of all others."
    return f"{first} are first with exactly the same score; {more}."


def resolution(top: Top | None, n_topics: int) -> str:
    """Return which differences the topics can tell; empty where they tell none.

    >>> resolution(Top(True, ("bm25",), 2, 4, 0.091), 25)
    '25 topics tell differences of 0.091 apart with 80 % power.'
    """
    if top is None or not top.can_tell or top.resolution is None:
        return ""
    difference = np.format_float_positional(top.resolution, precision=2, fractional=False, trim="-")
    return (
        f"{counted(n_topics, 'topic')} tell differences of {difference} apart with {100 * POWER:g} % power."
    )


def names(tags: tuple[str, ...]) -> str:
    """Return the runs as a sentence lists them."""
    if len(tags) == 1:
        return tags[0]
    if len(tags) <= NAMED:
        return f"{', '.join(tags[:-1])} and {tags[-1]}"
    return f"{', '.join(tags[: NAMED - 1])} and {len(tags) - NAMED + 1} more"


def method(sample: EstimateSample) -> str:
    """Return the level of the intervals, a lower bound if the sample has few misses, and their method."""
    at_least = "at least " if sample.is_level_at_least else ""
    return f"{at_least}{100 * LEVEL:g} % {sample.method}"


def basis(sample: EstimateSample) -> str:
    """Return, in sentences, the sample behind the estimates, and what a larger one would bring."""
    size = sample.size
    drawn = (
        f"From {size.cells:,} rated pairs that were drawn at random, {size.below:,} that the grader rates "
        f"below the threshold and {size.above:,} at or above it."
    )
    if sample.design == Draw.Design.PASSAGES:
        drawn = (
            f"From {counted(size.cells, 'passage')} that were drawn at random, with all their items rated."
        )
    sentences = [drawn, unfinished(sample), _assumption(sample), *warnings(sample), *_checked(sample)]
    if sample.unsampled:
        units = UNITS[Draw.Design(sample.design)]
        sentences.append(
            f"The intervals are wider because {sample.unsampled:,} of {sample.items:,} {units} could not be "
            "drawn."
        )
    if sample.is_level_at_least:
        sentences.append(
            f"People rate only {size.misses} of the pairs below the threshold at or above it; with so few "
            "the intervals are wider than they need to be."
        )
    if percent := round(100 * (sample.narrower or 0)):
        halved = f", {_rounded(sample.to_halve):,} more half as wide" if sample.to_halve else ""
        rated = "passages" if sample.design == Draw.Design.PASSAGES else "pairs"
        sentences.append(
            f"About {size.cells:,} more {rated} would make the intervals {percent} % narrower{halved}."
        )
    return " ".join(filter(None, sentences))


def notes(sample: EstimateSample | None) -> list[str]:
    """Return the sentences that readers of the intervals must not miss; none where there is no estimate."""
    if sample is None or sample.reason:
        return []
    return [*filter(None, [unfinished(sample)]), *warnings(sample)]


def unfinished(sample: EstimateSample) -> str:
    """Return the sentence about a campaign that is still under way; empty once all its cells are rated."""
    if sample.rated >= sample.drawn:
        return ""
    return (
        f"{sample.rated:,} of the {sample.drawn:,} drawn pairs are rated: "
        "the intervals hold once all are, not while ratings come in."
    )


def _assumption(sample: EstimateSample) -> str:
    if sample.design != Draw.Design.COVER:
        return ASSUMES_NOTHING
    return ASSUMES.format("grade and relevance" if sample.knows_relevance else "grade")


def warnings(sample: EstimateSample) -> list[str]:
    """Return, in sentences, where the rated cells contradict what the estimate assumes."""
    if sample.checks is None:
        return []
    length, quality = sample.checks.length, sample.checks.quality
    apart = "close together" if quality.is_rising else "far apart"
    trends = (
        (length, ("long", "short"), "estimate may be off for runs that rank them"),
        (quality, ("good runs'", "poor runs'"), f"estimates of good and poor runs may be too {apart}"),
    )
    return [
        FINDS.format(passages[not trend.is_rising], p_words(trend), consequence)
        for trend, passages, consequence in trends
        if trend.p < ALPHA
    ]


def _checked(sample: EstimateSample) -> list[str]:
    """Return, in sentences, what the checks found besides warnings, and what they can miss."""
    if sample.checks is None:
        return []
    judgment, *others = sample.checks
    sentences = []
    if sample.knows_relevance and judgment.p < ALPHA:
        passages = "relevant" if judgment.is_rising else "not relevant"
        sentences.append(FINDS.format(passages, p_words(judgment), "estimate takes account of it"))
    if all(trend.p >= ALPHA for trend in others):
        sentences.append(
            "The pairs show no trend by the length of passages or the quality of the runs that rank them; "
            "a mild one would be missed more often than not."
        )
    return sentences


def p_words(trend: Trend) -> str:
    """Return a p-value as papers print it.

    >>> p_words(Trend(0.0312, is_rising=True)), p_words(Trend(0.0004, is_rising=True))
    ('p = .031', 'p < .001')
    """
    return "p < .001" if trend.p < 0.001 else f"p = {trend.p:z.3f}".replace("0.", ".")


def lacks(sample: EstimateSample | None) -> str:
    """Return why there is no estimate, which sampling it needs, if any helps, and what there is."""
    if sample is None or not sample.reason:
        return ""
    has = f"No estimate of people's scores: {sample.reason}."
    if sample.reason in (SEVERAL, AVOIDED):
        return has
    design = Draw.Design(sample.design)
    needs = f"It needs ratings from a campaign over \u201c{CHOICES[design]}\u201d, {ENOUGH[design]}."
    other = (
        f" {sample.elsewhere:,} rated pairs from other samples do not count: they were drawn for another "
        "grader, threshold or cutoff, or from other items."
    )
    return f"{has} {needs}{other if sample.elsewhere else ''}"


def _rounded(count: int) -> int:
    """Round to one significant digit, from 20 on to two: more would pretend to know."""
    digits = len(str(count)) - (1 if count < 100 else 2)
    return round(count, -max(digits, 0))
