"""Archives that are refused, with the place and what was expected; nothing is restored of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.core.exceptions import ValidationError
from django.db.models import URLField

from grading.errors import BadFormat
from grading.graders import GraderSpec
from rubricweb.accounts.models import User
from rubricweb.archives import tables
from rubricweb.archives.layout import VERSION
from rubricweb.archives.reading import checker
from rubricweb.archives.restoring import Terms, restore_archive
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.configs import config_for, spec_of
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs import kinds
from tests.factories import CollectionFactory
from tests.rubricweb.archives.conftest import signed

TRUSTED = Terms(is_trusted=True)
Change = Callable[[dict, dict[str, bytes]], None]


@pytest.fixture
def archive(db, tmp_path) -> Path:
    return Path(copyfile(Path(__file__).with_name("version-1.zip"), tmp_path / "leaves.zip"))


def changed(path: Path, change: Change, *, is_consistent: bool = True) -> Path:
    """The archive with other entries; digests and counts of the manifest are made to fit, if they shall."""
    with ZipFile(path) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(entries.pop("manifest.json"))
    change(manifest, entries)
    for part in [*manifest["tables"].values(), *manifest["files"].values()]:
        data = entries.get(part["name"], b"")
        if is_consistent:
            part |= {
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "rows": data.count(b"\n"),
            }
    other = path.with_name("changed.zip")
    with ZipFile(other, "w", ZIP_DEFLATED) as target:
        for name, data in {**entries, "manifest.json": json.dumps(manifest)}.items():
            target.writestr(name, data)
    return other


def in_table(label: str, change: Callable[[dict[str, object]], object]) -> Change:
    """Change the first row of a table."""

    def apply(manifest: dict, entries: dict[str, bytes]) -> None:
        part = manifest["tables"][label]
        first, _, rest = entries[part["name"]].partition(b"\n")
        row = dict(zip(part["columns"], json.loads(first), strict=True))
        change(row)
        entries[part["name"]] = json.dumps([*row.values()]).encode() + b"\n" + rest

    return apply


def newer(manifest, entries):
    manifest["version"] = VERSION + 1


def unknown_table(manifest, entries):
    manifest["tables"]["corpus.Meadow"] = manifest["tables"]["corpus.Topic"]


def unknown_column(manifest, entries):
    manifest["tables"]["corpus.Topic"]["columns"][0] = "colour"


def surplus_file(manifest, entries):
    entries["tables/other"] = b""


def outside(manifest, entries):
    entries["../outside"] = b""


def not_json(manifest, entries):
    entries["tables/corpus.Topic.jsonl"] += b"{]\n"


def too_few_values(manifest, entries):
    entries["tables/corpus.Topic.jsonl"] += b"[1]\n"


def twice(manifest, entries):
    entries["tables/corpus.Topic.jsonl"] *= 2


def foreign_file(manifest, entries):
    (name,) = manifest["files"]
    manifest["files"]["corpus.Topic/1"] = manifest["files"].pop(name)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (newer, "manifest.json: is of version 3, expected at most 2: it was made by a newer version"),
        (unknown_table, "has the table corpus.Meadow, which is not known here: it was made by a newer"),
        (unknown_column, r"columns of corpus.Topic that are not known here \(colour\)"),
        (surplus_file, "has other files than its manifest says"),
        (outside, "names a place outside of the zip"),
        (not_json, "corpus.Topic.jsonl:3: is no JSON"),
        (too_few_values, "corpus.Topic.jsonl:3: is no row of the table, expected a list of"),
        (twice, r"corpus.Topic.jsonl:3: the database refuses it"),
        (foreign_file, "has a file of corpus.Topic/1, expected one of an upload"),
        (in_table("grades.Grade", lambda row: row.update(passage=99)), "refers to row 99 of corpus.Passage"),
        (in_table("grades.Grade", lambda row: row.update(rating="five")), "Grade.jsonl:1: rating is a str"),
        (
            in_table("grades.Grade", lambda row: row.update(rating=9)),
            "Grade.jsonl:1: the database refuses it",
        ),
        (in_table("grades.Grade", lambda row: row.update(at="now")), "Grade.jsonl:1: .*format"),
        (in_table("accounts.Membership", lambda row: row.update(user=0)), "refers to row 0 of accounts.User"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_restored(archive, change, told):
    other = changed(archive, change)
    CollectionFactory(slug="before")
    people, topics = User.objects.count(), Topic.objects.count()
    with pytest.raises(BadFormat, match=told):
        restore_archive(other, TRUSTED)
    assert list(Collection.objects.values_list("slug", flat=True)) == ["before"]
    assert (User.objects.count(), Topic.objects.count()) == (people, topics)


PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
CHAT = {"backend": "openai_compatible", "llm": "gpt-4o", "prompt_class": PROMPT, "purpose": "rate"}


def poisoned(**fields: object) -> Change:
    """The first grader is another, under the fingerprint of what `CHAT` is."""
    genuine = GraderSpec(CHAT["backend"], CHAT["llm"], PROMPT, {}).fingerprint
    return in_table("grades.GraderConfig", lambda row: row.update(CHAT | {"fingerprint": genuine} | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"backend": "lexical"},
        {"llm": "gpt-4o-mini"},
        {"options": {"temperature": 1.0}},
        {"options": []},
        {"options": {"prompt": {"template": 3}}},
        {"purpose": "extract"},
        {"backend": "imported"},
    ],
)
def test_a_grader_is_what_its_fingerprint_says(archive, fields):
    """All collections share graders: one that is not what it says would be run, and named, in all of them."""
    restore_archive(changed(archive, poisoned()), Terms("genuine", is_trusted=True))
    with pytest.raises(BadFormat, match=r"grades\.GraderConfig\.jsonl:1"):
        restore_archive(changed(archive, poisoned(**fields)), TRUSTED)
    assert spec_of(config_for("openai_compatible", "gpt-4o", PROMPT)).backend == "openai_compatible"


def test_a_grader_that_differs_from_the_present_one_is_refused(archive):
    """Whatever made them differ, nobody overwrites the other."""
    change = poisoned()
    restore_archive(changed(archive, change), Terms("first", is_trusted=True))
    GraderConfig.objects.filter(llm="gpt-4o").update(llm="gpt-4o-mini")
    with pytest.raises(BadFormat, match="is not the grader"):
        restore_archive(changed(archive, change), TRUSTED)


STATES = {
    "grades.GradingJob": ("running", "waiting", "queued", "paused", "cancelling"),
    "grades.JobChunk": ("queued", "leased"),
    "imports.Import": ("queued", "leased"),
    "banks.DraftRequest": ("queued", "leased"),
}


@pytest.mark.parametrize(("label", "state"), [(label, one) for label in STATES for one in STATES[label]])
def test_work_in_an_archive_is_over(archive, label, state):
    """Whatever it says: nothing starts, and nothing is held by a worker that is not there."""
    restore_archive(changed(archive, in_table(label, lambda row: row.update(state=state))), TRUSTED)
    table = next(one for one in tables.archived() if one.label == label)
    assert table.rows(Collection.objects.get()).order_by("pk").first().state == "cancelled"
    assert [row for kind in kinds.registered() for row in kind.waiting()] == []


def test_an_archive_that_was_changed_is_refused(archive):
    def reword(manifest, entries):
        entries["tables/corpus.Topic.jsonl"] = entries["tables/corpus.Topic.jsonl"].replace(b"red", b"big")

    with pytest.raises(BadFormat, match=r"corpus\.Topic\.jsonl: does not have the rows and digest"):
        restore_archive(changed(archive, reword, is_consistent=False), TRUSTED)
    assert not Collection.objects.exists()


def test_other_files_are_no_archives(archive, tmp_path):
    plain = tmp_path / "plain.zip"
    with ZipFile(plain, "w") as target:
        target.writestr("topics.tsv", "t1\twords")
    for path, told in ((plain, "has no manifest.json"), (tmp_path / "nowhere.zip", "is not there")):
        with pytest.raises(BadFormat, match=told):
            restore_archive(path, TRUSTED)


def test_an_archive_has_limits(archive):
    with pytest.raises(BadFormat, match="expected at most 1,000"):
        restore_archive(archive, Terms("copy", is_trusted=True, max_bytes=1_000))


@pytest.mark.parametrize("slug", ["two words", "x" * 81, "taken"])
def test_a_slug_must_be_one_and_free(archive, slug):
    CollectionFactory(slug="taken")
    with pytest.raises(BadFormat, match=r"slug|there is a collection"):
        restore_archive(archive, Terms(slug, is_trusted=True))


def test_an_archive_without_newer_columns_and_tables_gets_their_defaults(archive):
    def older(manifest, entries):
        part = manifest["tables"]["corpus.Run"]
        place = part["columns"].index("state")
        del part["columns"][place]
        rows = [json.loads(line) for line in entries[part["name"]].splitlines()]
        lines = [json.dumps(row[:place] + row[place + 1 :]) for row in rows]
        entries[part["name"]] = "".join(f"{line}\n" for line in lines).encode()
        del entries[manifest["tables"].pop("review.SavedView")["name"]]

    restore_archive(changed(archive, older), Terms("copy", is_trusted=True))
    copy = Collection.objects.get(slug="copy")
    assert set(copy.runs.values_list("state", flat=True)) == {"accepted"}
    assert not next(one for one in tables.owned() if one.label == "review.SavedView").rows(copy).exists()


def test_an_id_has_no_line_end_unless_this_server_had_it(archive):
    """A reader let it through: what is in the database can be archived and restored."""
    other = changed(archive, in_table("corpus.Passage", lambda row: row.update(doc_id="d\n1")))
    with pytest.raises(BadFormat, match=r"corpus\.Passage\.jsonl:1: doc_id has a line end"):
        restore_archive(other, TRUSTED)
    own = other.with_name("own.zip")
    own.write_bytes(signed(other.read_bytes()))
    restore_archive(own, Terms())
    assert Passage.objects.filter(doc_id="d\n1").exists()


@pytest.mark.parametrize(
    "text",
    [b'"\\ud800"', b'"\xed\xa0\x80"', b"NaN", b"Infinity", b"-1e999", b'"\\udc00\\ud800"', b"9" * 5_000],
)
def test_text_and_numbers_are_such(archive, text):
    """No lone surrogates, no number without an end, in whatever column."""

    def change(manifest, entries):
        part = manifest["tables"]["corpus.Passage"]
        row = json.loads(entries[part["name"]].partition(b"\n")[0])
        row[part["columns"].index("text")] = "HERE"
        rest = entries[part["name"]].partition(b"\n")[2]
        entries[part["name"]] = json.dumps(row).encode().replace(b'"HERE"', text) + b"\n" + rest

    with pytest.raises(BadFormat, match=r"corpus\.Passage\.jsonl:1"):
        restore_archive(changed(archive, change), TRUSTED)


def test_a_text_that_may_be_empty_is_so_whatever_else_it_must_be():
    column = URLField(name="paper", blank=True)
    column.model = Topic
    check = checker(column)
    check("")
    with pytest.raises(ValidationError):
        check("no address")
