"""Some of the runs of a collection, those of a task or those that are named, and the pools that they make.

A pool of some runs is what a collection of these runs alone would have: passages that only other runs bring
are in no pool, unless they are judged. With a pool rule a run brings its first passages, else all that it
ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.reader import read_once
from rubricweb.corpus import pseudonyms
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pooling import stored_rule
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool, pool_at
from rubricweb.corpus.topic_pools import restamped

NO_TASK = "none"
"""In addresses: the runs without a task."""
RUNS_HELP = "Names between commas, * for any characters: bm25*, mono_t5. Their pool is made of them alone."
CACHED_POOLS = 16
LISTED = 8
"""Names in a message on runs that do not exist."""
Mask = NDArray[np.bool_]


class UnknownRuns(Exception):
    """No run has this task or name. The text says what there is; `field` is `task` or `runs`."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class RunSlice:
    """Some of the runs of a collection."""

    task: str
    """As in addresses; empty for all."""
    label: str
    """The task as the runs have it; empty for all."""
    names: str
    """The names between commas, as they were typed; empty for all."""
    run_pks: frozenset[int]
    n_all: int
    """Accepted runs of the collection."""

    @property
    def stated(self) -> str:
        """Return what the runs are, without their names, which a published board may hide."""
        of_task = f"of task {self.label}" if self.task != NO_TASK else self.label
        parts = (of_task if self.task else "", "chosen by name" if self.names else "")
        return f"{len(self.run_pks)} of {counted(self.n_all, 'run')}: {', '.join(filter(None, parts))}"

    @property
    def document(self) -> dict[str, str | None]:
        """Return what a board's JSON says of them; its rows have their names."""
        return {"task": self.task or None, "stated": self.stated}

    @property
    def file_name(self) -> str:
        return "_".join(filter(None, (self.task, f"{len(self.run_pks)}runs" if self.names else "")))


def run_names(collection: Collection, runs: RunSlice | None = None) -> dict[int, str]:
    """Return the names of accepted runs that the reader may see, by key."""
    rows = _tags(collection.pk)
    names = pseudonyms.shown_names(collection.pk, tuple(run_tag for _, run_tag in rows))
    pairs = zip((pk for pk, _ in rows), names, strict=True)
    return {pk: name for pk, name in pairs if runs is None or pk in runs.run_pks}


@compiled_once
def _tags(collection: int) -> QuerySet[Run, tuple[int, str]]:
    return Run.objects.accepted().filter(collection=collection).values_list("pk", "run_tag")


@read_once
def tasks(collection: Collection) -> dict[str, str]:
    """Return the tasks of accepted runs as addresses have them, with their labels; the empty one last.

    Nothing for readers who know runs by pseudonyms, which a task would narrow down, and where no run has one.
    """
    if pseudonyms.hides_origins(collection.pk):
        return {}
    labels: dict[str, str] = {}
    for task in sorted(_tasks(collection.pk)):
        labels.setdefault(token_of(task), task.strip())
    if set(labels) == {NO_TASK}:
        return {}
    without = {NO_TASK: "without a task"} if labels.pop(NO_TASK, None) is not None else {}
    return labels | without


@compiled_once
def _tasks(collection: int) -> QuerySet[Run, str]:
    return Run.objects.accepted().filter(collection=collection).values_list("task", flat=True)


def token_of(task: str) -> str:
    """Return the task as addresses have it: whatever its capitals, and a word for none.

    >>> token_of("RAG "), token_of("")
    ('rag', 'none')
    """
    return task.strip().casefold() or NO_TASK


def find_runs(collection: Collection, task: str, names: str) -> RunSlice | None:
    """Return the runs of this task and of these names, between commas, where `*` is any characters.

    None where nothing is asked for: all runs. Raises UnknownRuns.
    """
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not task and not listed:
        return None
    names_by_run = run_names(collection)
    chosen, label = set(names_by_run), ""
    if task:
        labels = tasks(collection)
        token = token_of(task)
        if token not in labels:
            there = ", ".join(labels) or "none"
            raise UnknownRuns("task", f"no run of task {task} here; the tasks of runs are: {there}")
        rows = collection.runs.filter(pk__in=names_by_run).values_list("pk", "task")
        task, label = token, labels[token]
        chosen = {pk for pk, own in rows if token_of(own) == token}
    if listed:
        chosen &= _named(listed, {pk: name for pk, name in names_by_run.items() if pk in chosen}, label)
    return RunSlice(task, label, ",".join(listed), frozenset(chosen), len(names_by_run))


def _named(listed: list[str], names_by_run: Mapping[int, str], label: str) -> set[int]:
    chosen: set[int] = set()
    for pattern in listed:
        matches = {pk for pk, name in names_by_run.items() if name == pattern or fnmatchcase(name, pattern)}
        if not matches:
            there = ", ".join(sorted(names_by_run.values())[:LISTED])
            more = f" and {len(names_by_run) - LISTED} more" if len(names_by_run) > LISTED else ""
            of_task = f" of {label}" if label else ""
            raise UnknownRuns("runs", f"no run{of_task} named {pattern} here; there are {there}{more}")
        chosen |= matches
    return chosen


def pool_of(collection: Collection, runs: RunSlice | None) -> CollectionPool:
    """Return the pool of these runs with the names that the reader may see; of all runs for None."""
    if runs is None:
        return collection_pool(collection)
    stamp = int(Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk))
    rule = stored_rule(Collection.objects.only("pool_rule").get(pk=collection.pk))
    depths: tuple[int, ...] = ()
    if rule:
        rows = collection.runs.accepted().values_list("run_tag", "type")
        depths = tuple(rule.depth_of(run_tag, run_type) for run_tag, run_type in rows)
    pool = _pool_of(collection.pk, stamp, runs.run_pks, depths)
    names = pseudonyms.shown_names(collection.pk, pool.run_tags)
    return pool if names is pool.run_tags else replace(pool, run_tags=names)


@lru_cache(maxsize=CACHED_POOLS)
def _pool_of(
    collection_id: int, stamp: int, run_pks: frozenset[int], depths: tuple[int, ...]
) -> CollectionPool:
    """Return the pool of these runs; `depths` are those of all accepted runs, empty without a rule."""
    whole = pool_at(collection_id, stamp)
    places = np.array([place for place, pk in enumerate(whole.run_pks) if pk in run_pks], dtype=np.intp)
    limits = np.array(depths, dtype=np.int32) if len(depths) == len(whole.run_pks) else None
    topics = [_topic_of(topic, places, limits) for topic in whole.topics]
    return CollectionPool(
        whole.collection_id,
        restamped(stamp, sorted(run_pks), depths),
        tuple(whole.run_tags[place] for place in places),
        tuple(whole.run_pks[place] for place in places),
        tuple(topics),
        {
            topic.topic_id: frozenset(before.passage_pks) - set(topic.passage_pks)
            | whole.left_out.get(topic.topic_id, frozenset())
            for before, topic in zip(whole.topics, topics, strict=True)
        },
    )


def _topic_of(topic: TopicPool, places: NDArray[np.intp], limits: NDArray[np.int32] | None) -> TopicPool:
    """Return the topic with the runs in these places alone; `limits`: how many passages each run brings."""
    rows, n_pooled, n_known = topic.rankings.rows, len(topic.doc_ids), len(topic.known_ids)
    brings = rows >= 0
    if limits is not None:
        brings &= np.arange(rows.shape[1]) < limits[:, np.newaxis]
    is_chosen = np.zeros(len(rows), dtype=np.bool_)
    is_chosen[places] = True
    judged = topic.judged.rows
    is_judged = _mask(judged[judged < n_known], n_known)
    ours = _mask(rows[places][brings[places]], n_known)
    is_away = _mask(rows[~is_chosen][brings[~is_chosen]], n_known) & ~ours & ~is_judged
    return topic.keeping(np.flatnonzero(~is_away[:n_pooled]), places)


def _mask(rows: NDArray[np.int32], size: int) -> Mask:
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask
