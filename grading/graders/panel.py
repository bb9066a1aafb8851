"""A panel: a grader whose ratings are those of other graders, its members, made one by a rule.

It asks no model and costs nothing. A pair brings the members' ratings as its votes; a member that failed has
none. Without a quorum of votes there is no rating. Grades have the share of the votes that are the rating as
their confidence, and the votes' mean as their expectation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grading import prompts
from grading.errors import BadOption
from grading.graders import JSON, MEMBERS, WEIGHTS, GraderSpec, failed, misfit
from grading.graders.backend_options import Options, option
from grading.prompts import Prompt
from grading.statistics.panel import FOLDS, PanelRating, PanelRule, fold_of, panel_rating
from grading.types import MIN_RATING, CellToGrade, Grade, GradeFailure, ItemKind, Outcome, Trace

PANEL = "panel"
"""The name of the back-end."""
PANEL_PROMPT = "Panel"
"""The class of the prompt that a panel carries, with the members' scale and threshold; nobody is asked it."""
MOST_MEMBERS = 20
NO_VOTE = "-"
_ITEM = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "query"}


@dataclass(frozen=True, slots=True)
class PanelOptions(Options):
    """How the members' ratings become one."""

    rule: str = option(
        PanelRule.MAJORITY.value,
        "How the members' ratings become one: the most frequent, the median, the median by weights learned "
        "from people's ratings, or the first member's where it has one.",
        choices=tuple(rule.value for rule in PanelRule),
    )
    quorum: int = option(
        0, "Least number of members that have rated a pair; 0: more than half.", highest=MOST_MEMBERS
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """The rule by which the votes on a cell become a rating."""

    rule: PanelRule
    members: tuple[str, ...]
    """Their fingerprints."""
    quorum: int
    weights: tuple[tuple[float, ...], ...]
    """By fold of topics the weights of the members; empty where the rule has none."""

    def has_quorum(self, votes: Sequence[int | None]) -> bool:
        """Return whether the votes, one a member, are enough for a rating."""
        if self.rule is PanelRule.FIRST and votes[0] is not None:
            return True
        return sum(vote is not None for vote in votes) >= self.quorum

    def rating(self, votes: Sequence[int | None], query_id: str) -> PanelRating | None:
        """Return what the panel says of a cell of this topic; None without a quorum.

        A vote that the passage contradicts the item is one that it does not cover it.
        """
        if not self.has_quorum(votes):
            return None
        at_least_0 = [None if vote is None else max(vote, MIN_RATING) for vote in votes]
        weights = self.weights[fold_of(query_id)] if self.weights else None
        return panel_rating(self.rule, at_least_0, weights)


def panel_of(spec: GraderSpec) -> Panel:
    """Return the panel that the options describe. Raises BadOption."""
    options = PanelOptions.of(spec)
    rule, members = PanelRule(options.rule), members_of(spec.options)
    if not 2 <= len(members) <= MOST_MEMBERS:
        raise BadOption(f"a panel has 2 to {MOST_MEMBERS} different members, not {len(members)}")
    weights = _weights(spec.options.get(WEIGHTS), len(members)) if rule is PanelRule.WEIGHTS else ()
    return Panel(rule, members, options.quorum or usual_quorum(rule, len(members)), weights)


def members_of(options: Mapping[str, JSON]) -> tuple[str, ...]:
    """Return the fingerprints of the members; none for options of another back-end."""
    return tuple(dict.fromkeys(str(options.get(MEMBERS, "")).split()))


def usual_quorum(rule: PanelRule, members: int) -> int:
    """Return more than half of the members; of the others, where the first decides alone.

    >>> [usual_quorum(PanelRule.MEDIAN, n) for n in (2, 3, 4)], usual_quorum(PanelRule.FIRST, 2)
    ([2, 2, 3], 1)
    """
    return (members - (rule is PanelRule.FIRST)) // 2 + 1


def _weights(value: JSON, members: int) -> tuple[tuple[float, ...], ...]:
    try:
        rows = json.loads(str(value))
        weights = tuple(tuple(float(weight) for weight in row) for row in rows)
    except (ValueError, TypeError, RecursionError):
        weights = ()
    is_right = len(weights) == FOLDS and all(
        len(row) == members and all(0 <= weight <= 1 for weight in row) for row in weights
    )
    if not is_right:
        raise BadOption(f"the weights of a panel are {FOLDS} lists of {members} numbers from 0 to 1")
    return weights


def panel_prompt(
    prompt: Prompt | None, kinds: frozenset[ItemKind], scale: tuple[int, int], least: int
) -> Prompt:
    """Return the prompt of a panel, with the scale, the threshold and the labels of its members.

    `prompt` is the one that they share, or None. Raises BadPrompt.
    """
    item = _ITEM[min(kinds)]
    labels = dict(prompt.labels) if prompt else {}
    has_labels = len(set(labels.values())) > 1 and set(labels.values()) <= set(range(scale[0], scale[1] + 1))
    made = prompts.from_template(
        PANEL_PROMPT,
        f"The members of the panel rate this, and their ratings become one.\n{{{item}}}\n{{context}}",
        kinds,
        scale,
        labels=labels if has_labels else None,
    )
    return made if made.min_grade == least else prompts.covering_from(made, least)


class PanelGrader:
    """Makes the votes on each pair one rating."""

    device = "cpu, no model"

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec
        self._panel = panel_of(spec)
        self._prompt = spec.prompt

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Grade | GradeFailure]:
        """Yield a result for each pair, in their order."""
        for pair in pairs:
            yield misfit(self._prompt, pair) or self._grade(pair)

    def _grade(self, pair: CellToGrade) -> Grade | GradeFailure:
        votes = pair.votes or (None,) * len(self._panel.members)
        made = self._panel.rating(votes, pair.topic.query_id)
        if made is None:
            return failed(pair, f"fewer than {self._panel.quorum} members of the panel have rated this pair")
        reply = " ".join(NO_VOTE if vote is None else str(vote) for vote in votes)
        return Grade(
            pair.item.item_id,
            pair.passage.passage_id,
            made.rating,
            Outcome.NUMERIC,
            confidence=made.share,
            trace=Trace("", reply),
            expectation=made.mean,
        )
