"""What teams and organizers see of calls and submissions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Run
from rubricweb.submissions.models import Call, Submission

SHOWN_ATTEMPTS = 300
SHOWN = ("call__collection", "by", "run", "let_in_by")


@dataclass(frozen=True, slots=True)
class CallCard:
    """A call as a team sees it."""

    call: Call
    submissions: tuple[Submission, ...]
    """The team's files, the newest first."""

    @property
    def runs(self) -> int:
        """Return runs that count towards the limit."""
        return len({submission.run_id for submission in self.submissions if submission.counts})

    @property
    def rejected(self) -> int:
        """Return runs and late files that organizers rejected."""
        return sum(submission.is_rejected for submission in self.submissions)

    @property
    def is_full(self) -> bool:
        return self.call.runs_per_team is not None and self.runs >= self.call.runs_per_team


@dataclass(frozen=True, slots=True)
class Track:
    """A collection that a participant takes part in."""

    collection: Collection
    team: str
    calls: tuple[CallCard, ...]


@dataclass(frozen=True, slots=True)
class TeamProgress:
    """A team on the organizers' page: its runs for each call."""

    team: str
    runs: tuple[int, ...]
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallCounts:
    """A call on the organizers' page."""

    call: Call
    runs: int
    teams: int
    missing: tuple[str, ...]
    """Teams without a run."""
    outcomes: tuple[tuple[str, int], ...]
    """Numbers of files by what became of them."""

    @property
    def summary(self) -> str:
        """Return how many runs, and of how many teams."""
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        return f"{runs} of {self.teams} team{'' if self.teams == 1 else 's'}"

    @property
    def outcome_words(self) -> str:
        return ", ".join(f"{number} {label}" for label, number in self.outcomes)


@dataclass(frozen=True, slots=True)
class DeskPage:
    calls: tuple[CallCounts, ...]
    teams: tuple[TeamProgress, ...]
    late: tuple[Submission, ...]
    """Late files that wait for an organizer."""
    waiting: tuple[Submission, ...]
    """Runs that wait to be accepted."""
    attempts: tuple[Submission, ...]
    """All files, the newest first."""
    left_out: int
    """Older files that are not listed."""


def team_calls(collection: Collection, team: str) -> tuple[CallCard, ...]:
    """Return the calls of a collection with what a team sent in."""
    by_call: dict[int, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(call__collection=collection, team=team).select_related(
        *SHOWN
    ):
        by_call[submission.call_id].append(submission)
    calls = collection.calls.select_related("collection")
    return tuple(CallCard(call, tuple(by_call[call.pk])) for call in calls)


def tracks(user: User) -> list[Track]:
    """Return the collections in which `user` is a participant, with their calls and the team's files."""
    if not (memberships := _memberships(user.pk)):
        return []
    places = {membership.collection_id for membership in memberships}
    by_team: dict[tuple[int, str], list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(call__collection__in=places).select_related(*SHOWN):
        by_team[submission.call_id, submission.team].append(submission)
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in Call.objects.filter(collection__in=places).select_related("collection"):
        calls[call.collection_id].append(call)
    return [
        Track(
            membership.collection,
            membership.team,
            tuple(
                CallCard(call, tuple(by_team[call.pk, membership.team]))
                for call in calls[membership.collection_id]
            ),
        )
        for membership in memberships
    ]


@compiled_once
def _memberships(participant: int) -> QuerySet[Membership, Membership]:
    memberships = Membership.objects.filter(user=participant, role=Role.PARTICIPANT)
    return memberships.select_related("collection").order_by("collection__name")


def desk(collection: Collection) -> DeskPage:
    """Return who has submitted what, and who nothing yet."""
    calls = list(collection.calls.select_related("collection"))
    rows = Submission.objects.filter(call__collection=collection).defer("findings")
    listed = list(rows.select_related(*SHOWN))
    members: dict[str, list[str]] = defaultdict(list)
    members_rows = collection.memberships.filter(role=Role.PARTICIPANT).order_by("user__username")
    for team, username in members_rows.values_list("team", "user__username"):
        members[team].append(username)
    runs: dict[tuple[str, int], set[int]] = defaultdict(set)
    for submission in listed:
        if submission.counts:
            runs[submission.team, submission.call_id].add(submission.run_id or 0)
    teams = sorted({*members, *(submission.team for submission in listed)}, key=str.casefold)
    return DeskPage(
        calls=tuple(_counts_of(call, teams, runs, listed) for call in calls),
        teams=tuple(
            TeamProgress(
                team, tuple(len(runs[team, call.pk]) for call in calls), tuple(members.get(team, ()))
            )
            for team in teams
        ),
        late=tuple(submission for submission in listed if submission.outcome == Submission.Outcome.LATE),
        waiting=tuple(submission for submission in listed if submission.waits_to_be_accepted),
        attempts=tuple(listed[:SHOWN_ATTEMPTS]),
        left_out=max(0, len(listed) - SHOWN_ATTEMPTS),
    )


def accepted_runs(call: Call, team: str) -> list[str]:
    """Return the ids of the team's runs that organizers accepted."""
    accepted = call.submissions.taken().filter(team=team, run__state=Run.State.ACCEPTED)
    return sorted(accepted.values_list("run_tag", flat=True))


def versions_of(submission: Submission) -> list[Submission]:
    """Return the other files of the team for the same run, the newest first."""
    if not submission.run_tag:
        return []
    same = submission.call.submissions.filter(team=submission.team, run_tag=submission.run_tag)
    return list(same.exclude(pk=submission.pk).select_related(*SHOWN).defer("findings"))


def _counts_of(
    call: Call, teams: Iterable[str], runs: dict[tuple[str, int], set[int]], listed: Iterable[Submission]
) -> CallCounts:
    with_runs = [team for team in teams if runs[team, call.pk]]
    outcomes = Counter(submission.state_words for submission in listed if submission.call_id == call.pk)
    return CallCounts(
        call=call,
        runs=sum(len(runs[team, call.pk]) for team in with_runs),
        teams=len(with_runs),
        missing=tuple(team for team in teams if not runs[team, call.pk]),
        outcomes=tuple(sorted(outcomes.items())),
    )
