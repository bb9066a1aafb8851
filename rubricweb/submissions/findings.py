"""What is wrong with a submitted file, as its report stores and shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from grading.submissions import Finding, Severity
from grading.submissions.rules import CATEGORIES

MOST_EACH = 50
"""Findings of one category that a report has in full."""
OWN_CATEGORIES = {
    "several_runs": "a submission is one run",
    "run_tag_taken": "another run of the collection has this run id",
    "too_many_runs": "the team has as many runs as it may have",
    "other_team": "the file names another team",
    "same_priority": "another run of the team has this priority",
    "replaces_accepted": "an accepted run is replaced: it counts again once this file is accepted",
    "not_imported": "what the collection cannot store",
}
"""Category -> what it means, for what the collection says beside the rules of the track."""
MEANINGS = CATEGORIES | OWN_CATEGORIES


@dataclass(frozen=True, slots=True)
class Place:
    """One finding of a category."""

    problem: str
    expected: str
    line: int | None = None
    query_id: str = ""
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one category."""

    category: str
    severity: str
    number: int
    places: tuple[Place, ...]
    """The first of them."""

    @property
    def meaning(self) -> str:
        return MEANINGS[self.category]

    @property
    def more(self) -> int:
        return self.number - len(self.places)

    @property
    def has_lines(self) -> bool:
        return any(place.line is not None for place in self.places)

    @property
    def has_topics(self) -> bool:
        return any(place.query_id for place in self.places)

    @property
    def has_sentences(self) -> bool:
        return any(place.sentence is not None for place in self.places)


def grouped(findings: Iterable[Finding], counts: Mapping[str, int]) -> list[Group]:
    """By category, errors first, each in the order of the file. `counts` is by category."""
    places: dict[str, list[Place]] = {}
    severities: dict[str, Severity] = {}
    for one in findings:
        severities[one.category] = one.severity
        place = Place(one.problem, one.expected, one.line, one.query_id, one.sentence)
        places.setdefault(one.category, []).append(place)
    groups = [
        Group(
            category, severities[category].value, counts.get(category, len(found)), tuple(found[:MOST_EACH])
        )
        for category, found in places.items()
    ]
    return sorted(groups, key=lambda group: group.severity != Severity.ERROR)


def error(category: str, problem: str, expected: str, *, line: int | None = None) -> Group:
    """A single finding of the collection's own, for which a file is refused."""
    return Group(category, Severity.ERROR.value, 1, (Place(problem, expected, line),))


def warning(category: str, problem: str, expected: str) -> Group:
    return Group(category, Severity.WARNING.value, 1, (Place(problem, expected),))


def total(groups: Iterable[Group], severity: Severity) -> int:
    return sum(group.number for group in groups if group.severity == severity)


def as_json(groups: Iterable[Group]) -> list[dict[str, object]]:
    return [asdict(group) for group in groups]


def from_json(stored: Iterable[dict[str, object]]) -> list[Group]:
    """What `as_json` made."""
    return [_group(**one) for one in stored]  # type: ignore[arg-type]


def _group(category: str, severity: str, number: int, places: Iterable[dict[str, object]]) -> Group:
    shown = tuple(Place(**place) for place in places)  # type: ignore[arg-type]
    return Group(category, severity, number, shown)
