"""Load the demo collection through the same actions as any other, and grade it with a very small model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from grading.graders.hf_model import SOURCE, copies_folder
from grading.submissions import parse_rules
from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus import actions, duplicates, official
from rubricweb.corpus.models import OFFICIAL, Collection, Response, Run
from rubricweb.demo import MODELS, PASSWORD, SLUG
from rubricweb.graders.calibration_cards import make_card
from rubricweb.grades.actions import start_grading
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.grades.raters import raters
from rubricweb.jobs import worker
from rubricweb.jobs.limits import Limits
from rubricweb.leaderboards.actions import publish_board
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release
from rubricweb.submissions.actions import CallTerms, Described, Sent, accept, open_call, receive
from rubricweb.submissions.models import Call, Submission
from rubricweb.systems.actions import start

ACCOUNTS = {
    "organizer": Role.ORGANIZER,
    "developer": Role.DEVELOPER,
    "assessor": Role.ASSESSOR,
    "viewer": Role.VIEWER,
}
FOLDER = Path(settings.FILES_DIR) / "fixtures" / "demo"

MADE = "made_best_sentences"
SIMILARITY = 0.6
"""From which on two passages are called near-duplicates."""
FILES = FOLDER / "submissions"
RUNS = {
    "maple_cited": "Two or three sentences, each with the passage that says so.",
    "maple_long": "Everything that was retrieved, in one piece.",
    "tern_bold": "A model that is sure of itself; passages were added afterwards.",
    "tern_plain": "A small model without retrieval.",
}
"""Run -> what its team says of it. It begins with the team's name, which is also that of its account."""
REFUSED = "tern_first_try"
TEAMS = ("maple", "tern")


@transaction.atomic
def load_demo(folder: Path = FOLDER) -> Collection:
    """Import the collection of `folder`, make the accounts, and grade every cell in this process.

    The grader is the lexical baseline. All or nothing: an interrupted start is repeated by the next.
    """
    demo_files = ImportFiles(
        name="Demo: everyday questions",
        queries=folder / "topics.jsonl",
        graded=(folder / "passages.jsonl",),
        banks=(folder / "questions.jsonl", folder / "nuggets.jsonl"),
        runs=folder / "runs",
        qrels=folder / "qrels.txt",
        min_relevant=2,
    )
    import_collection(SLUG, files=demo_files, by=None)
    collection: Collection = Collection.objects.get(slug=SLUG)
    for username, role in ACCOUNTS.items():
        set_role(account(username), collection, role=role, by=None)
    grade(collection)
    return collection


def grade(collection: Collection) -> None:
    """Grade what has no grade, in this process, as a worker would."""
    started = start_grading(collection, by=User.objects.get(username="developer"))
    for chunk in JobChunk.objects.filter(job__in=started).values_list("pk", flat=True):
        worker.work_on("chunk", chunk)


def account(username: str) -> User:
    """Return the account of that name, made with the demo's password where there is none."""
    user, _ = User.objects.get_or_create(
        username=username, defaults={"first_name": username.capitalize(), "password": _hashed_password()}
    )
    return user


@cache
def _hashed_password() -> str:
    """Return the hash that all accounts of the demo share: one takes a third of a second."""
    return make_password(PASSWORD)


@transaction.atomic
def make_run(collection: Collection) -> None:
    """Make the run in this process, as a worker would; its answers are graded like all other passages."""
    spec, topics = SystemSpec(Answering.SENTENCES), list(collection.topics.all())
    organizer = User.objects.get(username="organizer")
    job = start(collection, spec, run_tag=MADE, topics=topics, limits=Limits(1), by=organizer)
    for chunk in job.chunks.values_list("pk", flat=True):
        worker.work_on("system", chunk)
    collection.refresh_from_db()
    grade(collection)


@transaction.atomic
def publish(collection: Collection) -> None:
    """Publish a board and a release by the actions of the browser; the release is written here."""
    by = User.objects.get(username="organizer")
    config = raters(collection.banks.get())[0].configs[0]
    make_card(collection.banks.get(), config, by=by)
    duplicates.search_now(collection, threshold=SIMILARITY, by=by)
    official.put_official_board(collection, FOLDER / "official.tsv", name=OFFICIAL, by=by)
    publish_board(collection, title="Everyday questions: the board", query="", is_anonymous=False, by=by)
    release = Release(
        collection=collection,
        title="Everyday questions 1.0",
        license="Apache-2.0",
        citation="Everyday questions, a demo collection written for RubricWeb.",
        has_runs=True,
    )
    worker.work_on("release", start_release(release, by=by).pk)


@transaction.atomic
def submit_runs(collection: Collection) -> None:
    """Submit runs by the actions of the browser: they are checked and accepted."""
    organizer = User.objects.get(username="organizer")
    for team in TEAMS:
        set_role(account(team), collection, role=Role.PARTICIPANT, team=team, by=organizer)
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    terms = CallTerms(
        task="answers",
        takes=Call.Takes.RESPONSES,
        opens_at=now - timedelta(days=14),
        deadline=now + timedelta(days=14),
        time_zone="UTC",
        runs_per_team=3,
        asks_priority=False,
        checks_documents=True,
        passages_of=Response.PassagesOf.RESPONSE,
        text="Answer each topic in at most 100 words. Cite the passages of the collection that say so.",
    )
    rules = (FILES / "rules.toml").read_text(encoding="utf-8")
    call = open_call(collection, terms, parse_rules(rules, file="rules.toml"), by=organizer)
    _receive(call, REFUSED, Described(description="Our first try."))
    for run_tag, description in RUNS.items():
        described = Described(Run.Type.AUTOMATIC, description=description)
        accept(_receive(call, run_tag, described), by=organizer)


def _receive(call: Call, name: str, described: Described) -> Submission:
    path, team = Path(FILES / f"{name}.jsonl"), name.partition("_")[0]
    upload = Sent(path.name, [path.read_bytes()])
    return receive(call, upload, team=team, by=User.objects.get(username=team), described=described)


PROMPTS = ("QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt")
OPTIONS = {"constrained": True}
"""Asked openly, the model takes five times as long for a nugget, and nine ratings of ten stay the same
(`bench/demo_constrained.py`)."""
UNPACK = (
    "import sys, pathlib; from grading.graders import gguf, hf_model; "
    "gguf.keep_copies_in(pathlib.Path(sys.argv[2])); hf_model.load(sys.argv[1], hf_model.CAUSAL)"
)


@contextmanager
def unpacked_meanwhile(name: str) -> Iterator[None]:
    """Have another process unpack the model during the block, if it was not unpacked before.

    That takes as long as loading the demo collection; a worker that is quicker waits for it.
    """
    folder = copies_folder()
    if folder is None or any(folder.glob(f"{MODELS[name]}-*/{SOURCE}")):
        yield
        return
    command = [sys.executable, "-c", UNPACK, MODELS[name], str(folder)]
    process = subprocess.Popen(  # noqa: S603
        command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
        process.wait()
    finally:
        process.terminate()
        process.wait()


def grade_with_model(collection: Collection, name: str) -> list[GradingJob]:
    """Make the model the collection's grader, and start a job for each prompt with missing grades.

    The baseline's grades stay. The collection's name says how small the model is. What people ask for goes
    before these jobs.
    """
    by = User.objects.get(username="developer")
    chosen = actions.CollectionSettings(
        name=collection.name,
        description=collection.description,
        min_relevant=collection.min_relevant,
        grader_backend="hf_causal",
        grader_llm=MODELS[name],
        grader_prompts=PROMPTS,
        grader_options=OPTIONS,
    )
    if collection.grader_llm != chosen.grader_llm:
        named = replace(chosen, name=f"{collection.name} (graded by a very small model)")
        actions.change_settings(collection, named, by=by)
    return start_grading(collection, by=by, priority=GradingJob.Priority.LOW)
