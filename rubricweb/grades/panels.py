"""Panels: grader configs whose grades are made of other graders' stored grades.

A panel's grade is right as long as its members' grades are those that it was made of. Whatever writes or
removes a member's grade removes the panel's grade of the cell (`store`), and a panel's grade is saved only if
the votes, locked, are still those that were read (`of_present_votes`). So it is missing, and never wrong; the
next job of the panel, which costs nothing, makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.errors import BadPrompt, GradingError
from grading.graders import JSON, MEMBERS, PROMPT, WEIGHTS, GraderSpec
from grading.graders.panel import MOST_MEMBERS, PANEL, PANEL_PROMPT, Panel, members_of, panel_of, panel_prompt
from grading.prompts import Prompt, as_options
from grading.statistics.panel import PanelRule
from grading.types import CONTRADICTS, MISSING, Purpose, Ratings
from rubricweb.core.reader import everything
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades.configs import config_of, default_min_grade, kinds_of, scale_of, spec_of
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp, Pair
from rubricweb.grades.store import GradeRow

LONGEST_NAME = 200
Votes = tuple[int | None, ...]
"""The ratings by the members of a panel on one cell, in their order; None of a member that has none."""


class CannotForm(Exception):
    """Raised where graders cannot be one panel; the text says why."""


def is_panel(config: GraderConfig) -> bool:
    return config.backend == PANEL


@dataclass(frozen=True, slots=True)
class PanelChoice:
    """How a panel that people make combines its members."""

    rule: PanelRule
    name: str = ""
    """Empty for the names of its members."""
    quorum: int = 0
    """0 for more than half."""
    weights: Sequence[Sequence[float]] = ()
    """By fold of topics, for the rule that has weights."""


def panel_config(members: Sequence[GraderConfig], choice: PanelChoice) -> GraderConfig:
    """Return the config of a panel of these members, saved. Raises CannotForm."""
    require_alike(members)
    if choice.quorum > len(members):
        raise CannotForm(f"{choice.quorum} votes are more than the {len(members)} members can give.")
    kinds = frozenset.intersection(*map(kinds_of, members))
    first = members[0]
    try:
        prompt = panel_prompt(_shared_prompt(members), kinds, scale_of(first), default_min_grade(first))
    except BadPrompt as error:
        raise CannotForm(str(error)) from error
    options: dict[str, JSON] = {
        PROMPT: as_options(prompt),
        MEMBERS: " ".join(member.fingerprint for member in members),
    }
    if choice.rule is not PanelRule.MAJORITY:
        options["rule"] = choice.rule.value
    if choice.quorum:
        options["quorum"] = choice.quorum
    if choice.rule is PanelRule.WEIGHTS:
        options[WEIGHTS] = json.dumps([[round(float(each), 4) for each in row] for row in choice.weights])
    name = " ".join(choice.name.split()) or name_of_panel(members)
    spec = GraderSpec(PANEL, name[:LONGEST_NAME], PANEL_PROMPT, options)
    try:
        panel_of(spec)
    except GradingError as error:
        raise CannotForm(str(error)) from error
    return config_of(spec)


def require_alike(members: Sequence[GraderConfig]) -> None:
    """Raise CannotForm for graders whose ratings do not mean the same."""
    if not 2 <= len({member.pk for member in members}) <= MOST_MEMBERS:
        raise CannotForm(f"A panel has 2 to {MOST_MEMBERS} different graders.")
    if any(is_panel(member) for member in members):
        raise CannotForm("A panel cannot be a member of another panel.")
    purposes = {member.purpose for member in members}
    if len(purposes) > 1 or purposes - {Purpose.RATE.value, Purpose.DIRECT.value}:
        raise CannotForm("The members of a panel all rate items, or all label passages.")
    scales = {(scale_of(member), default_min_grade(member)) for member in members}
    if len(scales) > 1:
        listed = " and ".join(
            f"{low} to {high}, covering from {least}" for (low, high), least in sorted(scales)
        )
        raise CannotForm(f"The members of a panel share a scale and a threshold; these have {listed}.")
    if not frozenset.intersection(*map(kinds_of, members)):
        raise CannotForm("These graders do not grade the same kind of item.")


def name_of_panel(members: Sequence[GraderConfig]) -> str:
    """Return "Panel of A, B and C"."""
    names = [f"{member.model_name}{member.settings_words}".replace(",", "") for member in members]
    return f"Panel of {', '.join(names[:-1])} and {names[-1]}"


def _shared_prompt(members: Sequence[GraderConfig]) -> Prompt | None:
    """Return the first member's prompt if the ratings of all have the same labels."""
    try:
        read = [spec_of(member).prompt for member in members]
    except GradingError:
        return None
    return read[0] if len({prompt.labels for prompt in read}) == 1 else None


def members(config: GraderConfig) -> list[GraderConfig | None]:
    """Return a panel's members in their order; None for one that is not here."""
    fingerprints = members_of(config.options)
    rows = {row.fingerprint: row for row in GraderConfig.objects.filter(fingerprint__in=fingerprints)}
    return [rows.get(fingerprint) for fingerprint in fingerprints]


def votes_for(config: GraderConfig, revisions: Iterable[int], passages: Iterable[int]) -> dict[Pair, Votes]:
    """Return the votes on the cells of these wordings and passages that any member has rated."""
    if not is_panel(config):
        return {}
    listed = members(config)
    place = {member.pk: number for number, member in enumerate(listed) if member}
    rows = Grade.objects.filter(
        config__in=list(place), revision__in=set(revisions), passage__in=set(passages), rating__isnull=False
    )
    votes: dict[Pair, list[int | None]] = {}
    for config_id, revision, passage, rating in rows.values_list(
        "config_id", "revision_id", "passage_id", "rating"
    ):
        votes.setdefault((revision, passage), [None] * len(listed))[place[config_id]] = rating
    return {cell: tuple(each) for cell, each in votes.items()}


def of_present_votes(
    config: GraderConfig, topic_id: int, rows: list[GradeRow], *, read: Mapping[Pair, Votes]
) -> list[GradeRow]:
    """Return those new grades of a panel whose votes are still those that were `read`, and are a quorum.

    Call it in the transaction that saves them; until its end nobody changes the votes.
    """
    if not is_panel(config):
        return rows
    _lock_votes([member for member in members(config) if member], topic_id)
    present = votes_for(config, (row.revision_id for row in rows), (row.passage_id for row in rows))
    panel = panel_of(spec_of(config))
    return [row for row in rows if _is_present(panel, present, read, (row.revision_id, row.passage_id))]


def _is_present(panel: Panel, present: Mapping[Pair, Votes], read: Mapping[Pair, Votes], cell: Pair) -> bool:
    votes = present.get(cell)
    return votes is not None and votes == read.get(cell) and panel.has_quorum(votes)


def _lock_votes(voters: Sequence[GraderConfig], topic_id: int) -> None:
    """Lock the stamps that every writer of the members' grades moves first, making those that lack."""
    stamps = MatrixStamp.objects.filter(config__in=voters, topic=topic_id).order_by("pk")
    if stamps.count() < len(voters):
        absent = [MatrixStamp(config=member, topic_id=topic_id, grades=0) for member in voters]
        MatrixStamp.objects.bulk_create(absent, ignore_conflicts=True)
    list(stamps.select_for_update(no_key=True).values_list("pk"))


@dataclass(frozen=True, eq=False)
class VotesOnCells:
    """The votes of a panel on cells of one topic."""

    ratings: NDArray[np.int8]
    """Shape (members, passages, items): 0 to 5, or MISSING for no vote."""

    @property
    def voted(self) -> NDArray[np.bool_]:
        return np.asarray(self.ratings >= 0)

    def quorum_reached(self, panel: Panel) -> NDArray[np.bool_]:
        """Return which cells have enough votes, shape (passages, items)."""
        enough = self.voted.sum(axis=0) >= panel.quorum
        return np.asarray(enough | self.voted[0]) if panel.rule is PanelRule.FIRST else np.asarray(enough)

    def split(self, min_grade: int) -> NDArray[np.bool_]:
        """Return where some members cover the item and others do not, shape (passages, items)."""
        covers = self.ratings >= min_grade
        return np.asarray(covers.any(axis=0) & (self.voted & ~covers).any(axis=0))


class MemberMatrices:
    """The matrices of a panel's members over a pool, as the reader may see them."""

    def __init__(self, voters: Sequence[GraderConfig | None], pool: CollectionPool) -> None:
        self._matrices: list[dict[int, TopicGrades]] = [
            matrices(voter, pool) if voter else {} for voter in voters
        ]

    def votes(self, topic_id: int, uids: Sequence[str], n_passages: int) -> VotesOnCells:
        """Return the votes on the items with these ids."""
        none = np.full((n_passages, len(uids)), MISSING, dtype=np.int8)
        return VotesOnCells(
            np.stack([_votes(of[topic_id], tuple(uids)) if topic_id in of else none for of in self._matrices])
        )


def _votes(grades: TopicGrades, uids: tuple[str, ...]) -> Ratings:
    outcomes = grades.matrix.columns(uids).outcomes
    return np.where(outcomes == CONTRADICTS, 0, np.maximum(outcomes, MISSING)).astype(np.int8)


def all_member_matrices(config: GraderConfig, pool: CollectionPool) -> MemberMatrices:
    """Return them with hidden cells too, for plans, which tell of no rating."""
    with everything():
        return MemberMatrices(members(config), pool)


def panel_members(config: GraderConfig) -> list[GraderConfig]:
    """Return the members that are here, in their order."""
    return [member for member in members(config) if member]
