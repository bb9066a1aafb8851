"""Check a submitted file, and make a run of it where nothing is wrong.

The run is made in one transaction with the end of the work.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from django.db import transaction
from django.utils import timezone

from grading.errors import BadFormat
from grading.formats.reading import MAX_HELD_BYTES, lines
from grading.segmentation import PassagesOf
from grading.submissions import Inspection, Rules, Severity, inspect_file
from grading.submissions.rules import RetrievalRules
from rubricweb.core import audit, database
from rubricweb.corpus import convert
from rubricweb.corpus.actions import empty_run
from rubricweb.corpus.models import Collection, Run
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.jobs import leases
from rubricweb.submissions import files
from rubricweb.submissions.actions import NotTaken
from rubricweb.submissions.files import MOST_EACH, FileGroup, error, findings_as_json, grouped, total, warning
from rubricweb.submissions.models import Call, Submission, SubmissionQuerySet

DRY_BYTES = 20_000_000
"""Unpacked files up to this size are checked, and not submitted, while their sender waits."""


def documents_of(call: Call, path: Path) -> Container[str] | None:
    """Return the documents against which the file is checked; None for none.

    A TREC run always is, since what it ranks and the collection lacks is never graded. Responses cite
    documents that many collections do not hold.
    """
    if call.takes == Call.Takes.RUN:
        return _held(call.collection, path) if call.collection.passages.exists() else None
    return _DocumentIds(call.collection) if call.checks_documents else None


def _held(collection: Collection, path: Path) -> set[str]:
    """Return the documents of a TREC run that the collection has."""
    ranked, held = sorted(set(_ranked(path))), set[str]()
    for start in range(0, len(ranked), database.LOOKED_UP):
        some = collection.passages.filter(doc_id__in=ranked[start : start + database.LOOKED_UP])
        held.update(some.values_list("doc_id", flat=True))
    return held


def _ranked(path: Path) -> Iterator[str]:
    """Yield what cannot be read is left to the check."""
    with suppress(BadFormat):
        for _, text in lines(path, max_bytes=MAX_HELD_BYTES):
            if len(columns := text.split()) == 6:
                yield columns[2]


class _DocumentIds:
    """The doc ids of a collection's passages, each looked up when it is asked for."""

    def __init__(self, collection: Collection) -> None:
        self._passages = collection.passages

    def __contains__(self, doc_id: object) -> bool:
        return self._passages.filter(doc_id=doc_id).exists()


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What is wrong with a submission, and what it would be as a run."""

    groups: tuple[FileGroup, ...]
    run_tag: str
    topics: int

    @property
    def errors(self) -> int:
        return total(self.groups, Severity.ERROR)

    @property
    def warnings(self) -> int:
        return total(self.groups, Severity.WARNING)

    def with_error(self, group: FileGroup) -> CheckReport:
        return replace(self, groups=(group, *self.groups))

    def as_fields(self, submission: Submission) -> dict[str, object]:
        """Return the columns of a submission that a check fills."""
        return {
            "findings": findings_as_json(self.groups),
            "errors": self.errors,
            "warnings": self.warnings,
            "run_tag": self.run_tag[: Submission._meta.get_field("run_tag").max_length],
            "topics": self.topics,
            "rules_version": submission.call.version,
        }


class SubmissionRefused(Exception):
    """The submission cannot become a run."""

    def __init__(self, group: FileGroup) -> None:
        self.group = group
        super().__init__(group.category)


def check(lease: leases.Lease[Submission]) -> None:
    """End the work with a run, or with what is wrong and nothing imported."""
    submission = lease.work
    try:
        with files.unpacked(files.path_of(submission), name=submission.name) as path:
            report = report_on(submission, path)
            if not report.errors:
                _take(lease, report, path)
                return
    except BadFormat as problem:
        report = CheckReport((error("malformed", *_parts(problem), line=problem.line),), "", 0)
    except SubmissionRefused as refused:
        report = report.with_error(refused.group)
    _refuse(lease, report)


def dry_check(call: Call, name: str, chunks: Iterable[bytes], *, team: str) -> CheckReport:
    """Return the report that the team's file would get, and keep nothing of it. Raises NotTaken."""
    if not call.has_opened:
        raise NotTaken("The call is not open yet.")
    with files.incoming(name, chunks) as file:
        _require_small(file.path)
        submission = Submission(call=call, team=team, name=file.name, received_at=timezone.now())
        try:
            with files.unpacked(file.path, name=file.name) as path:
                _require_small(path)
                return report_on(submission, path)
        except BadFormat as problem:
            return CheckReport((error("malformed", *_parts(problem), line=problem.line),), "", 0)


def _require_small(path: Path) -> None:
    if files.is_larger(path, DRY_BYTES):
        most = f"{DRY_BYTES / 1_000_000:g} MB"
        raise NotTaken(f"Check only takes files of up to {most}. This one is checked once you submit it.")


def report_on(submission: Submission, path: Path) -> CheckReport:
    """Check the file by the rules of the call, and by what the collection has."""
    call = submission.call
    inspection = inspect_file(
        path,
        rules_of_call(call),
        [convert.topic_entry(topic) for topic in call.collection.topics.all()],
        corpus=documents_of(call, path),
        most_each=MOST_EACH,
    )
    groups = [*grouped(inspection.findings, inspection.counts), *_of_team(submission, inspection)]
    run_tag = inspection.run_tags[0] if inspection.run_tags else ""
    report = CheckReport(tuple(groups), run_tag, len(inspection.query_ids))
    if len(inspection.run_tags) > 1:
        others = ", ".join(inspection.run_tags[:3])
        return report.with_error(error("several_runs", f"the run ids {others}", "one run a file"))
    if not run_tag and not report.errors:
        return report.with_error(error("malformed", "no run id", f"a file of {call.get_takes_display()}"))
    if obstacle := _obstacle(submission, run_tag) if run_tag else None:
        return report.with_error(obstacle)
    return (
        report if report.errors else replace(report, groups=(*report.groups, *_of_runs(submission, run_tag)))
    )


def rules_of_call(call: Call) -> Rules:
    """Return the rules of the call without those of kinds of files that it does not take.

    What a TREC run ranks and the collection lacks is a warning where the call does not ask for more.
    """
    rules = call.parsed_rules
    if call.takes == Call.Takes.RESPONSES:
        return msgspec.structs.replace(rules, nuggets=None, retrieval=None)
    retrieval = rules.retrieval or RetrievalRules()
    warnings = rules.warnings if call.checks_documents else rules.warnings | {"docid_unknown"}
    return msgspec.structs.replace(
        rules, nuggets=None, responses=None, retrieval=retrieval, warnings=warnings
    )


def _of_team(submission: Submission, inspection: Inspection) -> Iterator[FileGroup]:
    others = [team for team in inspection.teams if team.casefold() != submission.team.casefold()]
    if others:
        yield warning("other_team", f"the team {others[0]!r}", f"your team, {submission.team!r}")


def _of_runs(submission: Submission, run_tag: str) -> Iterator[FileGroup]:
    """Yield what the team's runs for the call make of this one."""
    run = _own_run(submission, run_tag)
    if run and run.is_accepted:
        yield warning("replaces_accepted", f"the accepted run {run_tag!r}", "to be accepted again")
    if submission.priority:
        others = _other_runs(submission, run_tag).filter(run__priority=submission.priority)
        if other := others.values_list("run__run_tag", flat=True).first():
            priority = f"priority {submission.priority}, which {other!r} has"
            yield warning("same_priority", priority, "a priority of its own for each run")


def _obstacle(submission: Submission, run_tag: str) -> FileGroup | None:
    """Return why the team cannot have a run of this tag. It never says whose another run is."""
    taken = submission.call.collection.runs.filter(run_tag=run_tag)
    if taken.exists() and _own_run(submission, run_tag) is None:
        return error(
            "run_tag_taken", f"the run id {run_tag!r} is taken", "another, such as with your team's name"
        )
    return _limit(submission, run_tag)


def _limit(submission: Submission, run_tag: str) -> FileGroup | None:
    """Return whether the team has as many other runs as it may have."""
    limit = submission.call.runs_per_team
    others = _other_runs(submission, run_tag)
    number = others.order_by().values("run").distinct().count()
    if limit is not None and number >= limit:
        runs = f"{number} run{'' if number == 1 else 's'} of your team"
        return error("too_many_runs", runs, f"at most {limit}: withdraw one, or replace it under its run id")
    return None


def _other_runs(submission: Submission, run_tag: str) -> SubmissionQuerySet:
    """Return those of the team's runs for the call that count, but for the one of this tag."""
    rows = submission.call.submissions.all()
    counted: SubmissionQuerySet = rows.counted().filter(team=submission.team)
    return counted.exclude(run__run_tag=run_tag)


def _own_run(submission: Submission, run_tag: str) -> Run | None:
    """Return the run that an earlier submission of the team for this call made."""
    earlier = submission.call.submissions.taken().filter(team=submission.team, run__run_tag=run_tag)
    latest = earlier.exclude(pk=submission.pk).select_related("run").first()
    return latest.run if latest else None


def _take(lease: leases.Lease[Submission], report: CheckReport, path: Path) -> None:
    """Import the file as a run in state submitted. Raises Refused, with nothing imported."""
    submission = lease.work

    try:
        with transaction.atomic():
            collection = Collection.objects.select_for_update(no_key=True).get(
                pk=submission.call.collection_id
            )
            if obstacle := _obstacle(submission, report.run_tag):
                raise SubmissionRefused(obstacle)
            run = _own_run(submission, report.run_tag) or Run(collection=collection, run_tag=report.run_tag)
            if run.pk:
                submission.call.submissions.taken().filter(run=run).update(rejection=run.rejection)
                empty_run(run)
                run.version += 1
            run.is_from_file, run.state, run.rejection = True, Run.State.SUBMITTED, ""
            run.team, run.task, run.type = submission.team, submission.call.task, submission.type
            run.priority, run.description = submission.priority, submission.description
            run.submitted_by, run.submitted_at = submission.by, submission.received_at
            run.save()
            import_collection(
                submission.call.collection.slug, files=_import_files(submission.call, path), by=submission.by
            )
            # The team may have submitted others since; now, nobody else can.
            if over := _limit(submission, report.run_tag):
                raise SubmissionRefused(over)
            run = submission.call.collection.runs.get(run_tag=report.run_tag)
            replaced = submission.call.submissions.taken().filter(run=run).exclude(pk=submission.pk)
            replaced.update(outcome=Submission.Outcome.REPLACED)
            fields = report.as_fields(submission) | {"outcome": Submission.Outcome.TAKEN, "run": run}
            leases.finish(lease, **fields)
            detail = (
                f"{run.run_tag} of {submission.team} for {submission.call.task}, {submission.digest[:12]}"
            )
            audit.record("run submitted", run, by=submission.by, detail=detail)
    except BadFormat as problem:
        raise SubmissionRefused(error("not_imported", *_parts(problem), line=problem.line)) from problem


def _import_files(call: Call, path: Path) -> ImportFiles:
    if call.takes == Call.Takes.RUN:
        return ImportFiles(run_files=(path,), topics_are_closed=True)
    return ImportFiles(responses=(path,), passages_of=PassagesOf(call.passages_of), topics_are_closed=True)


@transaction.atomic
def _refuse(lease: leases.Lease[Submission], report: CheckReport) -> None:
    submission = lease.work
    fields = report.as_fields(submission) | {"outcome": Submission.Outcome.REFUSED}
    leases.finish(lease, **fields)
    detail = f"{submission.team} for {submission.call.task}: {report.errors} errors"
    audit.record(
        "submission refused",
        submission,
        by=submission.by,
        detail=detail,
        collection=submission.call.collection,
    )


def _parts(problem: BadFormat) -> tuple[str, str]:
    """Return the problem, and what was expected."""
    text, _, expected = problem.problem.partition(", expected ")
    return text, expected
