"""Create a collection, change its settings, and describe, accept or remove its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal

from django.db import transaction
from django.db.models import F

from grading.graders.backend_options import Value
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit, database, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment, Pooled, Ranking, Run
from rubricweb.corpus.pooling import extend_pool


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """The settings that an organizer may change."""

    name: str
    min_relevant: int
    grader_backend: str
    grader_llm: str
    description: str = ""
    grader_prompts: tuple[str, ...] = ()
    """Prompt classes; empty for the back-end's defaults."""
    grader_options: Mapping[str, Value] = field(default_factory=dict)
    """Options of the back-end that differ from its defaults."""
    blind_sums: str = Collection.BlindSums.LEFT_OUT
    public_counts_blind: bool = False
    shows_run_tags: bool = False
    requires_calibration: bool = False
    assessors_edit: bool = True
    assessors_grade: bool = True
    assessors_grade_up_to: Decimal = Decimal(1)


def settings_of(collection: Collection) -> CollectionSettings:
    values = {field.name: getattr(collection, field.name) for field in fields(CollectionSettings)}
    return CollectionSettings(**values | {"grader_prompts": tuple(collection.grader_prompts)})


class SettingsChanged(ValueError):
    """Somebody saved other settings since the writer read them."""


def settings_digest(collection: Collection) -> str:
    """Return what a form sends back to say which settings its writer started from."""
    now = [(field.name, getattr(collection, field.name)) for field in fields(CollectionSettings)]
    return hashlib.md5(repr(now).encode(), usedforsecurity=False).hexdigest()


@transaction.atomic
def create_collection(collection: Collection, *, by: User) -> Collection:
    """Save a new collection, which `by` organizes."""
    collection.save()
    set_role(by, collection, role=Role.ORGANIZER, by=by)
    audit.record("collection created", collection, by=by, detail=collection.slug)
    return collection


@transaction.atomic
def change_settings(
    collection: Collection, settings: CollectionSettings, *, by: User | None, seen: str = ""
) -> Collection:
    """Change a collection's settings. Grades of earlier graders are kept.

    Raises SettingsChanged where `seen` is given and is not the digest of the settings as they are.
    """
    stored = Collection.objects.select_for_update().get(pk=collection.pk)
    if seen and seen != settings_digest(stored):
        raise SettingsChanged
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    values["grader_prompts"] = list(settings.grader_prompts)
    for name, value in values.items():
        setattr(collection, name, value)
    collection.save(update_fields=values)
    changed = [f"{name} {value}" for name, value in values.items() if getattr(stored, name) != value]
    audit.record("settings changed", collection, by=by, detail=", ".join(changed) or "nothing")
    events.publish_on_commit(collection.channel, "items")
    return collection


@transaction.atomic
def choose_default_grader(collection: Collection, fingerprint: str, *, by: User | None) -> Collection:
    """Make the grader with this fingerprint the one that pages show by default."""
    if collection.default_grader == fingerprint:
        return collection
    collection.default_grader = fingerprint
    collection.save(update_fields=["default_grader"])
    audit.record("default grader chosen", collection, by=by, detail=fingerprint)
    events.publish_on_commit(collection.channel, "grades")
    return collection


@transaction.atomic
def choose_answers(collection: Collection, fingerprint: str, *, by: User | None) -> Collection:
    """Verify the answers that the grader with this fingerprint extracted; without one, the grader's own."""
    collection.answers_by = fingerprint
    collection.save(update_fields=["answers_by"])
    audit.record("answers to verify chosen", collection, by=by, detail=fingerprint or "the grader's own")
    events.publish_on_commit(collection.channel, "items")
    return collection


class RunConflict(Exception):
    """Somebody else changed the run since the writer saw it; `run` is its present state."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("Somebody else changed this run while you were editing it.")


@transaction.atomic
def describe_run(run: Run, now: Mapping[str, object], *, seen: int, by: User | None) -> Run:
    """Change fields of `run`, where `seen` is its version; raise RunConflict if it has another."""
    before = {name: getattr(run, name) for name in now}
    written = Run.objects.filter(pk=run.pk, version=seen).update(version=F("version") + 1, **now)
    run.refresh_from_db()
    if not written:
        raise RunConflict(run)
    changed = [name for name, value in now.items() if value != before[name]]
    audit.record("run described", run, by=by, detail=f"{run.run_tag}: {', '.join(changed) or 'nothing new'}")
    events.publish_on_commit(run.collection.channel, "runs")
    return run


def is_empty(run: Run) -> bool:
    """Return whether the run is our own and was withdrawn before it was complete."""
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
        for start in range(0, len(own), database.LOOKED_UP):
            some = own[start : start + database.LOOKED_UP]
            Pooled.objects.filter(topic=topic_id, passage__doc_id__in=some).delete()
    run.responses.all().delete()
    run.rankings.all().delete()


@transaction.atomic
def _change_state(
    runs: Sequence[Run], state: Run.State, *, by: User | None, reason: str = "", verb: str = ""
) -> int:
    """Change the state of runs, and return how many changed. Like imports, lock the collection first."""
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
