"""Load the demo collection through the same actions as any other collection."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import transaction

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection
from rubricweb.grades.actions import start_grading
from rubricweb.grades.importers import ImportFiles, import_collection
from rubricweb.grades.models import JobChunk
from rubricweb.jobs.worker import work_on

SLUG = "demo"
PASSWORD = "rubric-demo"  # noqa: S105 - printed on every start; these accounts exist on nobody's server
ACCOUNTS = {
    "organizer": Role.ORGANIZER,
    "developer": Role.DEVELOPER,
    "assessor": Role.ASSESSOR,
    "viewer": Role.VIEWER,
}
FOLDER = Path(settings.FILES_DIR) / "fixtures" / "demo"


def demo_files(folder: Path) -> ImportFiles:
    return ImportFiles(
        name="Demo: everyday questions",
        queries=folder / "topics.jsonl",
        graded=(folder / "passages.jsonl",),
        banks=(folder / "questions.jsonl", folder / "nuggets.jsonl"),
        runs=folder / "runs",
        qrels=folder / "qrels.txt",
        min_relevant=2,
    )


@transaction.atomic
def load_demo(folder: Path = FOLDER) -> Collection:
    """Import the collection of `folder`, make the accounts, and grade every cell with the lexical baseline,
    in this process.

    All or nothing: an interrupted start is repeated by the next.
    """
    import_collection(SLUG, files=demo_files(folder), by=None)
    collection: Collection = Collection.objects.get(slug=SLUG)
    for username, role in ACCOUNTS.items():
        set_role(account(username), collection, role=role, by=None)
    grade(collection)
    return collection


def grade(collection: Collection) -> None:
    """Grade what has no grade, in this process, as a worker would."""
    started = start_grading(collection, by=User.objects.get(username="developer"))
    for chunk in JobChunk.objects.filter(job__in=started).values_list("pk", flat=True):
        work_on("chunk", chunk)


def account(username: str) -> User:
    """Return the account of that name, made with the demo's password where there is none."""
    user, is_new = User.objects.get_or_create(
        username=username, defaults={"first_name": username.capitalize()}
    )
    if is_new:
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    return user
