"""Every call by its name: what it sends, and what it returns. Both clients have these as methods.

`slug` names a collection. Every call raises what `errors.py` draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from rubricweb.client import rows
from rubricweb.client.core import (
    JobEnded,
    Listing,
    Params,
    Pause,
    Request,
    Steps,
    StillRunning,
    answered,
    document,
    lines,
    pages,
    upload,
    write,
)

LONGEST_WAIT = 30.0
"""Seconds for which the server waits for the grades of one answer."""
ENDED = ("done", "failed", "cancelled")
"""States of a job in which nothing more happens."""
Option = str | int | float | bool | None


def request(method: str, path: str, body: Mapping[str, Any] | None = None, **params: Option) -> Steps[Any]:
    """Send what no other call has. `path` is below `/api/v1/`; return the answer's JSON, None without a body.

    A write is done once, however often it has to be sent.
    """
    request = Request(method, path, params) if method == "GET" else write(method, path, body)
    response = yield from answered(request)
    return response.json() if response.content else None


def collections() -> Listing[rows.Collection]:
    """Yield the collections that the token's owner may read."""
    return pages("collections/", {})


def collection(slug: str) -> Steps[rows.Collection]:
    return document(Request("GET", _of(slug)))


def topics(slug: str) -> Listing[rows.Topic]:
    return pages(_of(slug, "topics"), {})


def topic(slug: str, topic_id: int) -> Steps[rows.Topic]:
    return document(Request("GET", _of(slug, "topics", topic_id)))


def pool(slug: str, topic_id: int) -> Listing[rows.Pooled]:
    """Yield the passages in the pool of a topic, without their texts."""
    return pages(_of(slug, "topics", topic_id, "pool"), {})


def passage(slug: str, topic_id: int, passage_id: int) -> Steps[rows.Passage]:
    """Return a passage of a topic's pool with its text."""
    return document(Request("GET", _of(slug, "topics", topic_id, "passages", passage_id)))


def runs(slug: str) -> Listing[rows.Run]:
    return pages(_of(slug, "runs"), {})


def banks(slug: str) -> Listing[rows.Bank]:
    return pages(_of(slug, "banks"), {})


def items(slug: str, bank_id: int, *, topic: str | None = None) -> Listing[rows.Item]:
    """Yield the questions and nuggets of a bank; of one topic, by its `query_id`."""
    return pages(_of(slug, "banks", bank_id, "items"), {"topic": topic})


def item(slug: str, bank_id: int, item_id: int) -> Steps[rows.Item]:
    return document(Request("GET", _item(slug, bank_id, item_id)))


def item_history(slug: str, bank_id: int, item_id: int) -> Listing[rows.Change]:
    """Yield the changes of an item, oldest first."""
    return pages(f"{_item(slug, bank_id, item_id)}history/", {})


def add_item(
    slug: str, bank_id: int, *, topic: str, kind: str, text: str, facet_id: str = ""
) -> Steps[rows.Item]:
    """Add a question or nugget (`kind`) to a topic, which is named by its `query_id`."""
    body = {"topic": topic, "kind": kind, "text": text, "facet_id": facet_id}
    return document(write("POST", _of(slug, "banks", bank_id, "items"), body))


def reword_item(slug: str, bank_id: int, item: rows.Item, *, text: str) -> Steps[rows.Item]:
    """Give an item another wording. Raises ChangedMeanwhile where it is not the version that was read."""
    return _change(slug, bank_id, item, {"text": text})


def weigh_item(
    slug: str, bank_id: int, item: rows.Item, *, importance: str, weight: float | None = None
) -> Steps[rows.Item]:
    """Say how important an item is; without a weight it has that of its importance."""
    given = {} if weight is None else {"weight": weight}
    return _change(slug, bank_id, item, {"importance": importance, **given})


def retire_item(slug: str, bank_id: int, item: rows.Item) -> Steps[rows.Item]:
    return _change(slug, bank_id, item, {"retired": True})


def restore_item(slug: str, bank_id: int, item: rows.Item) -> Steps[rows.Item]:
    return _change(slug, bank_id, item, {"retired": False})


def versions(slug: str, bank_id: int) -> Listing[rows.Version]:
    """Yield the named versions of a bank."""
    return pages(_of(slug, "banks", bank_id, "versions"), {})


def graders(slug: str) -> Listing[rows.Grader]:
    """Yield the graders that have grades in the collection."""
    return pages(_of(slug, "graders"), {})


def grades(slug: str, *, grader: str | None = None, topic: str | None = None) -> Listing[rows.Grade]:
    """Yield grades as they come in one answer, which goes on behind the last row after a broken connection.

    `grader` is a fingerprint, `topic` a `query_id`.
    """
    return lines(_of(slug, "grades"), {"grader": grader, "topic": topic})


def ratings(slug: str) -> Listing[rows.Rating]:
    """Yield every event of people's ratings, likewise."""
    return lines(_of(slug, "ratings"), {})


def rate(
    slug: str, *, topic: str, passage: int, item: int, rating: int, seen: int = 0, event: UUID | None = None
) -> Steps[rows.Rating]:
    """Rate a cell, 0 to 5: a passage of a topic's pool for an item, both by their ids.

    `seen` is the `number` of one's latest event for the cell, 0 for none; Conflict if there is a later one.
    """
    body: dict[str, Any] = {
        "topic": topic,
        "passage": passage,
        "item": item,
        "rating": rating,
        "seen": seen,
    }
    if event is not None:
        body["event"] = str(event)
    return document(write("POST", _of(slug, "ratings"), body))


def board(slug: str, **options: Option) -> Steps[rows.Board]:
    """Return a leaderboard. The options are those of its page: `measure`, `min_grade`, `cutoff`, `bank`..."""
    return document(Request("GET", _of(slug, "leaderboard"), options))


def qrels(slug: str, **options: Option) -> Steps[str]:
    """Return Rubric-Qrels in the format of trec_eval."""
    response = yield from answered(Request("GET", _of(slug, "qrels"), options))
    return response.text


def jobs(slug: str) -> Listing[rows.Job]:
    return pages(_of(slug, "jobs"), {})


def plan(
    slug: str, *, bank: int | None = None, topic: str | None = None, runs: Sequence[str] = ()
) -> Steps[rows.Plan]:
    """Return what `start_grading` would take: cells, time and price. Nothing is started."""
    return document(Request("POST", _of(slug, "jobs", "plan"), body=_scope(bank, topic, runs)))


def start_grading(
    slug: str,
    *,
    bank: int | None = None,
    topic: str | None = None,
    runs: Sequence[str] = (),
    most_calls: int | None = None,
    most_dollars: float | None = None,
) -> Steps[list[rows.Job]]:
    """Grade what is missing in a bank, a topic, passages of runs, or all. Return one job a grader at once.

    Raises Invalid where it takes more calls of models or dollars; then nothing is started.
    """
    body = _scope(bank, topic, runs) | _given(most_calls=most_calls, most_dollars=most_dollars)
    started = yield from document(write("POST", _of(slug, "jobs"), body))
    return cast("list[rows.Job]", started["jobs"])


def grade_answer(
    slug: str,
    *,
    text: str,
    topic: str | None = None,
    question: str | None = None,
    citations: Sequence[Mapping[str, str]] = (),
    timeout: float = 60.0,
    **options: Option,
) -> Steps[rows.JsonDict]:
    """Grade one answer to a topic, named by its `query_id` or its text, and return the grades by item.

    `citations` are passages that it cites, `{"doc_id": …}` or `{"text": …}`; `options` are `bank`,
    `passages_of`, `retry_failed`, `most_calls` and `most_dollars`. Raises Invalid where it would cost more,
    JobEnded where a job failed, and StillRunning after `timeout` seconds. Nothing is paid twice.
    """
    wait, waited = min(timeout, LONGEST_WAIT), 0.0
    body = _given(text=text, topic=topic, question=question, wait=wait, **options)
    body["citations"] = list(citations)
    while True:
        graded = yield from document(Request("POST", _of(slug, "answers"), body=body))
        waited += wait
        if graded["state"] == "graded":
            return cast("rows.JsonDict", graded)
        named = graded | {"id": "the answer", "error": " ".join(job["error"] for job in graded["jobs"])}
        if graded["state"] != "grading":
            raise JobEnded(named)
        if waited >= timeout:
            raise StillRunning(named, waited)


def job(slug: str, job_id: int) -> Steps[rows.JobWithProgress]:
    return document(Request("GET", _of(slug, "jobs", job_id)))


def steer_job(slug: str, job_id: int, steer: rows.Steer) -> Steps[rows.JobWithProgress]:
    """Pause, resume or cancel a job, or put it first or in turn."""
    return document(Request("POST", _of(slug, "jobs", job_id, steer)))


def wait_for_job(
    slug: str, job_id: int, *, timeout: float = 3600.0, every: float = 1.0
) -> Steps[rows.JobWithProgress]:
    """Return a job once it is done. `timeout` and `every` are in seconds, requests not counted.

    Raises JobEnded where it failed or was cancelled, StillRunning where the time is over.
    """
    ended = yield from _waited(_of(slug, "jobs", job_id), timeout, every)
    return cast("rows.JobWithProgress", ended)


def comparison(slug: str, *, first: str, second: str, **options: Option) -> Steps[rows.JsonDict]:
    """Return what can be said of two runs of a board, with its options: `sentence`, `difference`..."""
    named = {"first": first, "second": second}
    return document(Request("GET", _of(slug, "leaderboard", "comparison"), {**options, **named}))


def what_if(
    slug: str, bank_id: int, item_id: int, *, grader: int | None = None, min_grade: int | None = None
) -> Steps[rows.WhatIf]:
    """Return what retiring an item would change, or restoring it. `grader` is an id. Nothing is saved."""
    options: Params = {"grader": grader, "min_grade": min_grade}
    return document(Request("GET", f"{_item(slug, bank_id, item_id)}what-if/", options))


def impact(
    slug: str, bank_id: int, *, topic: str, kind: str, text: str, item_id: int | None = None
) -> Steps[rows.Impact]:
    """Return what saving a text would cost, and which runs could move: of a new item, or of a rewording."""
    reworded = {} if item_id is None else {"item": item_id}
    body = {"topic": topic, "kind": kind, "text": text, **reworded}
    return document(Request("POST", _of(slug, "banks", bank_id, "impact"), body=body))


def imports(slug: str) -> Listing[rows.Import]:
    return pages(_of(slug, "imports"), {})


def read_import(slug: str, import_id: int) -> Steps[rows.ImportWithFiles]:
    return document(Request("GET", _of(slug, "imports", import_id)))


def upload_files(slug: str, *paths: str | Path) -> Steps[rows.ImportWithFiles]:
    """Upload files and have them checked; `wait_for_import` returns what importing them would change."""
    return document(upload(_of(slug, "imports"), map(Path, paths), {}))


def describe_file(slug: str, import_id: int, file_id: int, **described: Any) -> Steps[rows.ImportWithFiles]:
    """Say what a file does not: its `author`, `format`, or `is_left_out`; the files are checked again."""
    return document(write("PATCH", _of(slug, "imports", import_id, "files", file_id), described))


def check_import(slug: str, import_id: int, **options: Any) -> Steps[rows.ImportWithFiles]:
    """Have the files checked again, with options such as `bank_name` or `judgments`."""
    return document(write("POST", _of(slug, "imports", import_id, "check"), options))


def start_import(slug: str, import_id: int) -> Steps[rows.ImportWithFiles]:
    """Import what was checked, without waiting. Raises Conflict where it cannot be imported as it is."""
    return document(write("POST", _of(slug, "imports", import_id, "start"), None))


def undo_import(slug: str, import_id: int) -> Steps[rows.ImportWithFiles]:
    """Remove what an import added, if nothing was built on it."""
    return document(write("POST", _of(slug, "imports", import_id, "undo"), None))


def wait_for_import(
    slug: str, import_id: int, *, timeout: float = 3600.0, every: float = 1.0
) -> Steps[rows.ImportWithFiles]:
    """Return an import once its check, import or undo is done, as `wait_for_job` does."""
    ended = yield from _waited(_of(slug, "imports", import_id), timeout, every)
    return cast("rows.ImportWithFiles", ended)


def responses(slug: str, *, run: str | None = None, topic: str | None = None) -> Listing[rows.JsonDict]:
    """Yield what runs answered, of one run by its name, or to one topic by its `query_id`."""
    return lines(_of(slug, "responses"), {"run": run, "topic": topic})


def flags(slug: str, *, state: str | None = None, topic: str | None = None) -> Listing[rows.JsonDict]:
    return pages(_of(slug, "flags"), {"state": state, "topic": topic})


def campaigns(slug: str) -> Listing[rows.JsonDict]:
    return pages(_of(slug, "campaigns"), {})


def campaign(slug: str, campaign_id: int) -> Steps[rows.JsonDict]:
    """Return a campaign with its progress."""
    return document(Request("GET", _of(slug, "campaigns", campaign_id)))


def submissions(slug: str) -> Listing[rows.JsonDict]:
    return pages(_of(slug, "submissions"), {})


def submit(slug: str, call_id: int, path: str | Path, **described: str) -> Steps[rows.JsonDict]:
    """Submit a run to a call, described by `description`, `type`, `team`... See `submission`."""
    return document(upload(_of(slug, "calls", call_id, "submissions"), [Path(path)], described))


def submission(slug: str, submission_id: int) -> Steps[rows.JsonDict]:
    """Return a submission with the report of what was found in it."""
    return document(Request("GET", _of(slug, "submissions", submission_id)))


def releases(slug: str) -> Listing[rows.JsonDict]:
    return pages(_of(slug, "releases"), {})


def release(slug: str, release_id: int) -> Steps[rows.JsonDict]:
    return document(Request("GET", _of(slug, "releases", release_id)))


def release_file(slug: str, release_id: int) -> Steps[bytes]:
    """Return the zip of a release."""
    response = yield from answered(Request("GET", _of(slug, "releases", release_id, "file")))
    return response.content


def _waited(path: str, timeout: float, every: float) -> Steps[rows.JsonDict]:
    waited = 0.0
    while True:
        now = yield from document(Request("GET", path))
        if now["state"] == "done":
            return cast("rows.JsonDict", now)
        if now["state"] in ENDED:
            raise JobEnded(now)
        if waited >= timeout:
            raise StillRunning(now, waited)
        yield Pause(every)
        waited += every


def _of(slug: str, *parts: str | int) -> str:
    return "".join(f"{part}/" for part in ("collections", slug, *parts))


def _item(slug: str, bank_id: int, item_id: int) -> str:
    return _of(slug, "banks", bank_id, "items", item_id)


def _change(slug: str, bank_id: int, item: rows.Item, body: Mapping[str, Any]) -> Steps[rows.Item]:
    request = write("PATCH", _item(slug, bank_id, item["id"]), body, **{"If-Match": f'"{item["version"]}"'})
    return document(request)


def _scope(bank: int | None, topic: str | None, runs: Sequence[str]) -> dict[str, Any]:
    return _given(bank=bank, topic=topic) | ({"runs": list(runs)} if runs else {})


def _given(**fields: Option) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
