"""Start a grading job over what is missing, and optionally wait for it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from typing import Any, TypedDict

import redis
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from grading.errors import BadOption, GradingError
from grading.graders import ANSWERS_BY, backend_options, registry
from grading.prompts import Prompt
from rubricweb.banks.models import ItemQuerySet
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.prompts import named, own_prompts
from rubricweb.grades import actions, selectors
from rubricweb.grades.configs import AnswerSource, Chosen, config_asking, options_of, reading_of
from rubricweb.grades.engine import monitor, progress
from rubricweb.grades.engine.gaps import Doubt, doubt_by
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.price import price
from rubricweb.grades.engine.stages import Stages, stages
from rubricweb.grades.exemplars import with_exemplars
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.jobs import queue

POLL_SECONDS = 0.5


class GradingArguments(TypedDict):
    """The scope of the job, and its grader."""

    topics: list[Topic] | None
    items: ItemQuerySet | None
    configs: list[GraderConfig]


class DoubtArgument(TypedDict, total=False):
    """The doubt that narrows what is missing; a retry has none."""

    doubt: Doubt


class Command(OperatorCommand):
    help = "Grade what is missing in the collection SLUG with one grader. Workers do the grading."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--prompt-class", required=True, metavar="C", help="or the id of an own prompt")
        parser.add_argument("--llm", required=True, metavar="L", help="model name; lexical for the baseline")
        parser.add_argument("--backend", metavar="B", help="grader back-end (default: the one that asks L)")
        parser.add_argument(
            "--answers-by",
            metavar="ID",
            help="verify what this grader extracted; its id is in `graders` (default: as in Settings)",
        )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="what the back-end is told, such as attempt=2; repeatable (default: as in Settings)",
        )
        parser.add_argument("--topic", action="append", default=[], metavar="ID", help="query id; repeatable")
        parser.add_argument("--bank", metavar="NAME", help="only the items of this bank")
        parser.add_argument(
            "--where-unsure",
            metavar="ID",
            help="only pairs of which this grader is unsure, or on which the members of this panel disagree",
        )
        parser.add_argument(
            "--below", type=float, metavar="C", help="with --where-unsure: the confidence that is too low"
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="say what it would cost, and start nothing")
        what.add_argument("--retry-failed", action="store_true", help="grade again what failed, instead")
        parser.add_argument("--wait", action="store_true", help="return when the job has ended")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        reading = _reading(collection, options["answers_by"])
        name_of_prompt = options["prompt_class"]
        name = options["backend"] or registry.backend_for(options["llm"], name_of_prompt)
        if name not in registry.BACKENDS:
            raise CommandError(f"no back-end {name!r}; there are: {_listed(registry.BACKENDS)}")
        asker = registry.BACKENDS[name]
        own = (prompt for prompt in own_prompts(collection) if asker.asks(prompt))
        by_name = {named(prompt): prompt for prompt in (*asker.choices, *own)}
        if name_of_prompt not in by_name:
            raise CommandError(f"{name} does not ask {name_of_prompt!r}; it asks: {_listed(by_name)}")
        asking = asker, by_name[name_of_prompt]
        chosen, running = _options(asking, options["option"])
        settled = {**options_of(collection, asking[0].name), **chosen}
        config = _config(asking, options["llm"], reading, settled, collection)
        if options["answers_by"] and not (
            reading.source is not None and config.options.get(ANSWERS_BY) == reading.source.fingerprint
        ):
            raise CommandError(f"{config.prompt_name} does not ask about what {reading.source} extracted")
        scope: GradingArguments = {
            "topics": _topics(collection, options["topic"]),
            "items": _items(collection, options["bank"]),
            "configs": [config],
        }
        doubt = _doubt(collection, options)
        if options["dry_run"]:
            self._say_price(collection, stages(collection, **scope, **doubt), is_json=options["json"])
            return
        with transaction.atomic():
            if options["retry_failed"]:
                jobs = actions.retry_failed(collection, by=None, **scope)
            else:
                jobs = actions.start_grading(collection, by=None, **scope, **doubt)
            collection.jobs.filter(pk__in=[job.pk for job in jobs]).update(options=running)
        wordless = missing_cells(collection, **scope)[0].wordless
        self._say_started(jobs, wordless, what="failed" if options["retry_failed"] else "missing")
        if options["wait"]:
            jobs = [self._wait(job) for job in jobs]
        if options["json"]:
            records = [_record(job) for job in jobs]
            self.stdout.write(json.dumps({"jobs": records, "items_without_text": wordless}))
        for job in jobs if options["wait"] else []:
            if job.state != GradingJob.State.DONE:
                raise CommandError(job.error or f"Job {job.pk} was {job.state}.")

    def _say_started(self, jobs: list[GradingJob], wordless: int, *, what: str) -> None:
        if wordless:
            self._say(f"{wordless} items have no text yet: supply it to grade them.")
        if not jobs:
            self._say(f"No job was started: no grade is {what} that is not being made already.")
        for job in jobs:
            up_to = "at most " if job.is_waiting else ""
            waits = f"; it waits for the answers of job {job.after_id}" if job.is_waiting else ""
            self._say(f"Started job {job.pk}: {up_to}{job.total:,} cells, {job.scope}{waits}.")
        if jobs:
            self._warn_without_worker()

    def _say_price(self, collection: Collection, sought: Stages, *, is_json: bool) -> None:
        cost = price(collection, sought.all, monitor.workers().beats)
        self._say(f"{cost.cells:,} cells to grade; nothing was started.")
        if later := sum(part.cells for part in sought.later):
            self._say(
                f"Of them {later:,} verify answers that are extracted first; fewer if an extraction fails."
            )
        if cost.calls is not None and cost.calls != cost.cells:
            self._say(f"{cost.calls:,} calls, each about several items of a passage.")
        if cost.tokens is not None:
            self._say(f"About {cost.tokens:,} input tokens, estimated from the characters.")
        if cost.dollars is not None:
            self._say(f"About ${cost.dollars:,.2f} for them.")
        guess = " (a guess: this grader has not run here yet)" if cost.is_guess else ""
        self._say(f"Time: {cost.seconds_words or 'unknown'}{guess}.")
        if is_json:
            self.stdout.write(json.dumps({"dry_run": asdict(cost)}))

    def _say(self, message: str) -> None:
        self.stderr.write(message, style_func=str)

    def _warn_without_worker(self) -> None:
        try:
            is_alive = bool(queue.living_workers())
        except redis.RedisError as error:
            self._say(f"Redis does not answer ({error}); the job waits in the database.")
            return
        if not is_alive:
            self._say(f"No worker is running. Start one with: {settings.COMMAND} worker")

    def _wait(self, job: GradingJob) -> GradingJob:
        """Poll the database until the job has ended, and report changes of its progress."""
        last = ""
        while True:
            row = progress.job_progress(job)
            rest = f", {row.remaining_words} left" if row.remaining else ""
            message = (
                f"Job {job.pk} is {row.job.state}: {row.done:,} of {row.total:,}, {row.failed:,} failed{rest}"
            )
            if message != last:
                self._say(message)
                last = message
            if row.job.is_paused and row.job.pause_reason:
                raise CommandError(row.job.pause_reason)
            if not row.is_live:
                return row.job
            time.sleep(POLL_SECONDS)


def _topics(collection: Collection, query_ids: list[str]) -> list[Topic] | None:
    if not query_ids:
        return None
    topics = list(collection.topics.by_query_id(query_ids))
    unknown = sorted(set(query_ids) - {topic.query_id for topic in topics})
    if unknown:
        ids = collection.topics.values_list("query_id", flat=True)
        raise CommandError(f"no topic {', '.join(unknown)} in {collection.slug}; there are: {_listed(ids)}")
    return topics


def _items(collection: Collection, bank_name: str | None) -> ItemQuerySet | None:
    if bank_name is None:
        return None
    bank = collection.banks.filter(name=bank_name).first()
    if bank is None:
        names = collection.banks.values_list("name", flat=True)
        raise CommandError(f"no bank {bank_name!r} in {collection.slug}; there are: {_listed(names)}")
    items: ItemQuerySet = bank.all_items
    return items


def _doubt(collection: Collection, options: dict[str, Any]) -> DoubtArgument:  # Any: as argparse parsed it
    pk, below = options["where_unsure"], options["below"]
    if pk is None:
        if below is not None:
            raise CommandError("--below says how unsure the grader of --where-unsure is")
        return {}
    if options["retry_failed"]:
        raise CommandError("--where-unsure is about missing grades, and --retry-failed about failed ones")
    if below is not None and not 0 <= below <= 1:
        raise CommandError(f"--below is a confidence, 0 to 1, not {below}")
    doubt = doubt_by(collection, int(pk), below) if pk.isdecimal() else None
    if doubt is None:
        graders = (f"{row.config.pk} ({row.config})" for row in selectors.graders(collection))
        raise CommandError(f"no grader {pk} in {collection.slug}; there are: {_listed(graders)}")
    return {"doubt": doubt}


def _reading(collection: Collection, pk: str | None) -> AnswerSource:
    reading = reading_of(collection)
    if pk is None:
        return reading
    sources = {str(row.config.pk): row.config for row in selectors.answer_sources(collection)}
    if pk not in sources:
        graders = (f"{pk} ({config})" for pk, config in sources.items())
        raise CommandError(f"no answers of a grader {pk} to verify; there are: {_listed(graders)}")
    return replace(reading, source=sources[pk])


def _options(
    asking: tuple[registry.Backend, Prompt], given: list[str]
) -> tuple[dict[str, backend_options.Value], dict[str, backend_options.Value]]:
    """Return all options that were given, and those of them that change only where or how fast."""
    backend, prompt = asking
    pairs = [option.partition("=") for option in given]
    for name, equals, _ in pairs:
        if not equals:
            raise CommandError(f"--option takes NAME=VALUE, not {name!r}")
    try:
        chosen = backend_options.read_options(
            backend.name, {name: value for name, _, value in pairs}, backend.options
        )
    except BadOption as error:
        raise CommandError(str(error)) from error
    for name, value in chosen.items():
        option = backend.options[name]
        if value != option.default and not option.fits(prompt):
            raise CommandError(f"option {name} means nothing for {named(prompt)}")
    return chosen, backend.running_options(chosen)


def _config(
    asking: tuple[registry.Backend, Prompt],
    llm: str,
    reading: AnswerSource,
    chosen: Chosen,
    collection: Collection,
) -> GraderConfig:
    backend, prompt = asking
    try:
        return config_asking(backend.name, llm, prompt, reading, with_exemplars(collection, chosen))
    except GradingError as error:
        raise CommandError(str(error)) from error


def _listed(names: Any) -> str:  # Any: an iterable of strings, or a query set of them
    return ", ".join(names) or "none"


def _record(job: GradingJob) -> dict[str, Any]:
    row = progress.job_progress(job)
    return {
        "id": job.pk,
        "state": row.job.state,
        "total": row.total,
        "done": row.done,
        "failed": row.failed,
        "error": row.job.error,
    }
