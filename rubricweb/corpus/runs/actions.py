"""Changes to runs: their description, and whether they count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from django.db import transaction
from django.db.models import F

from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.database import LOOKED_UP
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment, Pooled, Ranking, Run
from rubricweb.corpus.pooling import extend_pool


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What an organizer may change of a run."""

    team: str
    task: str
    type: str
    priority: int | None
    description: str
    tags: list[str]
    llm: str = ""
    is_closed_book: bool = False


class RunConflict(Exception):
    """Somebody else changed the run since the writer saw it; `run` is its present state."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("Somebody else changed this run while you were editing it.")


@transaction.atomic
def describe_run(run: Run, description: RunDescription, *, seen: int, by: User | None) -> Run:
    """Change the description of `run`, where `seen` is its version; raise RunConflict if it has another."""
    before = asdict(description_of(run))
    now = asdict(description)
    written = Run.objects.filter(pk=run.pk, version=seen).update(version=F("version") + 1, **now)
    run.refresh_from_db()
    if not written:
        raise RunConflict(run)
    changed = [name for name, value in now.items() if value != before[name]]
    audit.record("run described", run, by=by, detail=f"{run.run_tag}: {', '.join(changed) or 'nothing new'}")
    events.publish_on_commit(run.collection.channel, "runs")
    return run


def description_of(run: Run) -> RunDescription:
    return RunDescription(**{field.name: getattr(run, field.name) for field in fields(RunDescription)})


def is_empty(run: Run) -> bool:
    """Of our own, and withdrawn before it was made to its end."""
    return run.is_made_here and not (run.rankings.exists() or run.responses.exists())


def accept_run(run: Run, *, by: User | None) -> Run:
    """Let a run count that was submitted, rejected or withdrawn, with all grades that its passages have."""
    _change_state([run], Run.State.ACCEPTED, by=by)
    return run


def accept_runs(runs: Sequence[Run], *, by: User | None) -> int:
    """Let runs of one collection count, and return how many did not before."""
    return _change_state(runs, Run.State.ACCEPTED, by=by)


def reject_run(run: Run, *, reason: str, by: User | None) -> Run:
    """Keep a run from counting, and tell its team why. Nothing of it is deleted."""
    _change_state([run], Run.State.REJECTED, by=by, reason=reason)
    return run


def undo_rejection(run: Run, *, by: User | None) -> Run:
    """Let a rejected run wait again to be accepted."""
    _change_state([run], Run.State.SUBMITTED, by=by, verb="rejection of run undone")
    return run


def withdraw_run(run: Run, *, by: User | None) -> Run:
    """Take a run off boards, pools, figures and files. Nothing of it is deleted."""
    _change_state([run], Run.State.WITHDRAWN, by=by)
    return run


@transaction.atomic
def empty_run(run: Run) -> None:
    """Delete what the run ranks and answers, and take passages out of pools that only its answers had."""
    answered = run.responses.values("topic")
    for topic_id, doc_ids in run.rankings.filter(topic__in=answered).values_list("topic", "doc_ids"):
        others = Ranking.objects.filter(topic=topic_id).exclude(run=run).values_list("doc_ids", flat=True)
        judged = Judgment.objects.filter(topic=topic_id).values_list("doc_id", flat=True)
        own = sorted({*doc_ids}.difference(judged, *others))
        for start in range(0, len(own), LOOKED_UP):
            some = own[start : start + LOOKED_UP]
            Pooled.objects.filter(topic=topic_id, passage__doc_id__in=some).delete()
    run.responses.all().delete()
    run.rankings.all().delete()


@transaction.atomic
def _change_state(
    runs: Sequence[Run], state: Run.State, *, by: User | None, reason: str = "", verb: str = ""
) -> int:
    """Doing it twice changes nothing. Imports lock the collection before its runs, too."""
    if not runs:
        return 0
    collection = Collection.objects.select_for_update(no_key=True).get(pk=runs[0].collection_id)
    rows = collection.runs.filter(pk__in=[run.pk for run in runs])
    rows = rows.exclude(state=state)
    changed = set(rows.values_list("pk", flat=True))
    rows.update(state=state, rejection=reason)
    for run in runs:
        run.state = state
        if run.pk in changed:
            run.rejection = reason
            detail = f"{run.run_tag}: {reason}" if reason else run.run_tag
            audit.record(verb or f"run {state.value}", run, by=by, detail=detail)
    if changed:
        collection.stamp = new_stamp()
        collection.save(update_fields=["stamp"])
        extend_pool(collection)
        events.publish_on_commit(collection.channel, "runs")
    return len(changed)
