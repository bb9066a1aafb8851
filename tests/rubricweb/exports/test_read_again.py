"""What is downloaded can be imported again, or the page Export says that it cannot."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from django.urls import reverse

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.topics import FORMATS as TOPIC_FORMATS
from grading.types import text_md5
from rubricweb.corpus.models import Response
from rubricweb.exports.files import ONE_WAY
from rubricweb.imports.contents import TAKEN
from rubricweb.leaderboards.board.files import FORMATS as BOARD_FORMATS
from rubricweb.releases.bundle import PARTS, write_release
from rubricweb.releases.parts import ReleaseOptions, contents_of
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import readable_routes, routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

FORMS: dict[str, dict[str, dict[str, str]]] = {
    "exports:qrels": {"": {}},
    "exports:qrels-losses": {"": {}},
    "exports:leaderboard": {form: {"format": form} for form in BOARD_FORMATS},
    "exports:graded": {"": {"rankings": "1"}},
    "exports:passages": {"": {"deduplicated": "1"}},
    "exports:human-grades": {form: {"file": form} for form in ("jsonl", "tsv")},
    "exports:random-cells": {form: {"file": form} for form in ("jsonl", "tsv")},
    "exports:flags": {form: {"format": form} for form in ("jsonl", "tsv")},
    "exports:bank-file": {name: {"dialect": name} for name in ("workbench", "v3", "nuggetizer")},
    "exports:bank-losses": {"": {}},
    "exports:listing": {form: {} for form in ("verify", "spurious", "uncovered", "grid")},
    "exports:topics-file": {each.name: {"format": each.name} for each in TOPIC_FORMATS},
    "exports:run-file": {form: {"format": form} for form in ("trec-run", "rag25", "autojudge")},
    "exports:support": {form: {} for form in ("scores", "qrels", "jsonl")},
    "arena:votes-file": {
        **{form: {} for form in ("csv", "tsv", "json", "jsonl")},
        "battles": {"named": "on"},
    },
    "arena:board-file": {form: {} for form in ("csv", "tsv", "json")},
    "corpus:audit-file": {form: {} for form in ("csv", "tsv")},
    "leaderboards:plot": {"": {}},
    "leaderboards:public-file": {"": {}},
    "graders:card-file": {"": {}},
    "releases:names": {"": {}},
}
"""Each download with its forms: what is sent for each; a form without anything is a part of the address."""
NOT_DATA = {
    "archives:download",
    "exports:assessments-file",
    "releases:file",
    "submissions:file",
    "api:release-file",
    "api:submission-file",
}
"""Downloads of what has a way back of its own, or is a team's own file."""
PLACE = {"exports:support": "file", "exports:listing": "listing"}
"""The parameter of an address that names the form, where it is not `form`."""


@pytest.fixture
def values(collection, owner, assessor, viewer):
    """A value for every parameter of every route, of a collection that has something of everything."""
    bank = world(collection, owner, assessor)
    values = parameters(bank, viewer, blind_campaign(bank, by=owner, assignees=[viewer]))
    answer = Response.objects.filter(run__collection=collection).first()
    sentence = answer.sentences[0]
    cited = {"topic": answer.topic, "sentence_md5": text_md5(sentence["text"]), "label": 2}
    cited["doc_id"] = sentence["citations"][0][0]
    judge = SupportJudge.objects.create(collection=collection, backend="lexical", llm="y", prompt_id="P@1")
    SupportLabel.objects.create(judge=judge, reply="full", **cited)
    SupportEvent.objects.create(by=assessor, seen_label=2, seen_judge=judge, **cited)
    return values


@pytest.fixture
def stated() -> set[str]:
    return {file for each in ONE_WAY for file in each.files}


def is_imported(path: Path) -> bool:
    """Whether an import takes the file, be it after a choice between formats."""
    try:
        taken = [each for each in registry.candidates(path) if each.content in TAKEN]
        return any(list(each.read_chosen(path)) for each in taken)
    except BadFormat:
        return False


def test_every_download_is_looked_at(values, client_of, owner):
    client, missing = client_of(owner), []
    for route in readable_routes():
        try:
            answer = client.get(route.address(values))
        except AssertionError:
            continue
        is_download = "attachment" in answer.get("Content-Disposition", "")
        if is_download and route.name not in {*FORMS, *NOT_DATA}:
            missing.append(route.name)
    assert missing == []


def test_a_download_is_imported_again_or_said_not_to_be(values, client_of, owner, stated, tmp_path):
    client, wrong, seen = client_of(owner), [], set()
    by_name = {route.name: route for route in routes()}
    for name, forms in FORMS.items():
        for form, query in forms.items():
            place = PLACE.get(name, "form")
            address = by_name[name].address(values | {place: form, f"{name} {place}": form})
            answer = client.get(address, query)
            assert answer.status_code == 200, (name, form)
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
            path, key = tmp_path / "download", f"{name} {form}".strip()
            path.write_bytes(content)
            if is_imported(path) == (key in stated):
                wrong.append((key, content[:80]))
            seen.add(key)
    assert wrong == []
    assert {key for key in stated if not key.startswith("release ")} <= seen


def test_a_part_of_a_release_is_imported_again_or_said_not_to_be(values, collection, stated, tmp_path):
    write_release(contents_of(collection, ReleaseOptions(has_runs=True)), tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path / "release")
        names = archive.namelist()
    assert {part.name for part in PARTS} <= {name.partition("/")[0] for name in names} | {"agreement"}
    wrong, used = [], set()
    for name in names:
        keys = {f"release {key}" for key in (name, name.partition("/")[0], name.rpartition(".")[2])} & stated
        used |= keys
        if is_imported(tmp_path / "release" / name) == bool(keys):
            wrong.append(name)
    assert wrong == []
    assert used == {key for key in stated if key.startswith("release ")}


def test_the_page_says_what_is_not_read_again(values, collection, client_of, viewer):
    page = " ".join(markup(client_of(viewer).get(reverse("releases:share", args=[collection.slug]))).split())
    assert all(str(each.description) in page for each in ONE_WAY)
