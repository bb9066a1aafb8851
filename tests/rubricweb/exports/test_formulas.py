"""No cell of a table is a formula, whatever people call things; every writer is tried."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from grading.formats.tables import without_formula
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.models import Turn
from rubricweb.corpus.models import Collection, Judgment, Passage, Ranking, Run, Topic
from rubricweb.grades.models import Grade
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release
from rubricweb.review.models import Flag, FlagEvent
from tests.rubricweb import worlds
from tests.rubricweb.routes import readable_routes

pytestmark = pytest.mark.portable

SIGNS = ("=", "+", "-", "@", "\uff1d")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?NaN")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def hostile(collection, owner, assessor, viewer, settings, tmp_path) -> Collection:
    """Every name and text begins as a formula does."""
    settings.DATA_DIR = tmp_path
    collection.shows_run_tags = True
    collection.save()
    bank = worlds.world(collection, owner, assessor)
    collection.known = worlds.parameters(bank, viewer, worlds.blind_campaign(bank, by=owner))
    Run.objects.update(team=Value("@oak"), task=Value("=task"))
    for model, name, sign in (
        (Run, "run_tag", '=HYPERLINK("x")'),
        (Topic, "query_id", "+t"),
        (Topic, "text", "=1+"),
        (Passage, "doc_id", "-d"),
        (Passage, "text", "@SUM"),
        (Judgment, "doc_id", "-d"),
        (Flag, "kind", ""),
        (FlagEvent, "text", "=cmd|"),
        (ItemRevision, "text", "=q"),
        (Grade, "answer", "@a"),
        (Turn, "comment", "+c"),
    ):
        model._base_manager.update(**{name: Concat(Value(sign), F(name))})
    for ranking in Ranking.objects.all():
        ranking.doc_ids = [f"-d{doc_id}" for doc_id in ranking.doc_ids]
        ranking.save()
    User.objects.filter(pk=assessor.pk).update(username="@assessor")
    Collection.objects.update(stamp=F("stamp") + 1)
    return collection


def formulas(text: str, ending: str) -> list[str]:
    """The cells of a file that a spreadsheet would compute. Comment lines above a table are one cell each."""
    rows = (
        csv.reader(io.StringIO(text)) if ending == "csv" else (line.split("\t") for line in text.splitlines())
    )
    return [cell for row in rows for cell in row if cell.startswith(SIGNS) and not NUMBER.fullmatch(cell)]


def test_files_of_tables_have_no_formulas(hostile, owner, client_of):
    client, tried, wrong = client_of(owner), set(), {}
    for route in readable_routes():
        for query in ({}, {"format": "tsv", "file": "tsv", "names": "1"}):
            for form in ("tsv", "csv") if "form" in route.parameters else ("",):
                address = route.address(hostile.known | {"form": form, f"{route.name} form": form})
                response = client.get(address, query)
                ending = {"text/csv": "csv", "text/tab-separated-values": "tsv"}.get(
                    response.get("Content-Type", "").partition(";")[0]
                )
                content = b"".join(response.streaming_content) if response.streaming else response.content
                if ending is None or response.status_code != 200:
                    continue
                tried.add(route.name)
                if found := formulas(content.decode(), ending):
                    wrong[address] = found[:3]
    assert wrong == {}
    assert tried >= {
        *(
            "exports:leaderboard",
            "exports:flags",
            "exports:human-grades",
            "exports:random-cells",
            "exports:listing",
        ),
        *("corpus:audit-file", "arena:board-file", "arena:votes-file", "releases:names"),
    }


def test_tables_of_a_release_have_no_formulas(hostile, owner, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        release = start_release(Release(collection=hostile, title="=1+1", has_runs=True), by=owner)
    from rubricweb.jobs.worker import work_on

    work_on("release", release.pk)
    release.refresh_from_db()
    assert release.state == "done", release.error
    with ZipFile(release.path) as bundle:
        tables = {
            name: bundle.read(name).decode() for name in bundle.namelist() if re.search(r"\.[ct]sv$", name)
        }
    data = {name for name in tables if name.startswith("topics/")}
    assert len(tables) > 3
    wrong = {name: formulas(tables[name], name[-3:])[:3] for name in tables.keys() - data}
    assert {name: cells for name, cells in wrong.items() if cells} == {}


FOR_PROGRAMS = {
    "grading/formats/leaderboards.py": "formats of other tools",
    "grading/formats/listings.py": "listings of the Workbench, of which exports/workbench.py makes texts",
    "grading/formats/passages.py": "a format that is read back byte for byte",
    "grading/formats/topics.py": "a format that is read back byte for byte",
    "rubricweb/exports/support.py": "qrels, which programs read",
}
"""Files that write columns parted by tabs or commas without asking for formulas, and why."""
WRITES = re.compile(r'"\\t"\.join|csv\.writer|f"[^"]*\}\\t')
ASKS = re.compile(r"without_formula|safe_cell|formatting\.lines")


def test_every_writer_of_columns_asks_for_formulas_or_says_why_not():
    files = [path for folder in ("grading", "rubricweb") for path in (ROOT / folder).rglob("*.py")]
    writers = {str(path.relative_to(ROOT)): path.read_text() for path in files}
    writers = {name: text for name, text in writers.items() if WRITES.search(text)}
    assert len(writers) > 8
    unguarded = {name for name, text in writers.items() if not ASKS.search(text)}
    assert unguarded == FOR_PROGRAMS.keys()


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\uff1d1", "'=1", "''+x"])
def test_what_a_spreadsheet_computes_becomes_text(text):
    assert without_formula(text) == f"'{text}"
