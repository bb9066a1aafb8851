"""Segments with their places from a file through every way out; the deduplicated corpus."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from rubricweb.systems import retrieval
from tests.rubricweb.import_files import Folder

pytestmark = pytest.mark.django_db

TEXT = "Maple leaves turn red in autumn because chlorophyll breaks down and anthocyanins remain"
SEGMENTS = [
    {"docid": "m_1#0_7", "title": "Leaves", "segment": TEXT, "start_char": 0, "end_char": 87},
    {"docid": "m_1#1_8", "title": "Leaves", "segment": "Snow falls.", "start_char": 88, "end_char": 99},
    {"docid": "m_2#0_9", "title": "Copied", "segment": f"{TEXT}!", "start_char": 12, "end_char": 100},
]


def ran(name, *arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_places_survive_import_and_every_way_out(folder, collection, client_of, owner, tmp_path):
    path = folder.lines("segments.jsonl", *SEGMENTS, {"id": "d9", "text": "Ice.", "lang": "en", "views": 3})
    notes = folder.load("--passages", path)["notes"]
    assert notes == ["fields of passages in segments.jsonl that are not kept: lang (1), views (1)"]
    stored = collection.passages.get(doc_id="m_1#1_8")
    assert (stored.start_char, stored.end_char) == (88, 99)
    written = [json.loads(line) for line in ran("export_passages", collection.slug)[0].splitlines()]
    assert [row.get("start_char") for row in written] == [None, 0, 88, 12]
    again = folder.load("--passages", folder.lines("again.jsonl", *written))["counts"]["passages"]
    assert again == {"new": 0, "changed": 0, "unchanged": 4}
    moved = folder.lines("moved.jsonl", SEGMENTS[0] | {"start_char": 5})
    with pytest.raises(CommandError, match="another start_char"):
        folder.load("--passages", moved)


def test_the_deduplicated_corpus_has_one_of_each_group(folder, collection, client_of, owner):
    folder.load("--passages", folder.lines("segments.jsonl", *SEGMENTS))
    with pytest.raises(CommandError, match="Run find_near_duplicates autumn first"):
        ran("export_passages", collection.slug, "--deduplicated")
    ran("find_near_duplicates", collection.slug)
    out, _ = ran("export_passages", collection.slug, "--deduplicated")
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["m_1#0_7", "m_1#1_8"]
    page = reverse("exports:passages", args=[collection.slug])
    answer = client_of(owner).get(page, {"deduplicated": "1"})
    assert b"".join(answer.streaming_content).decode() == out
    assert client_of(owner).get(page).getvalue().count(b"\n") == 3


def test_a_corpus_is_cut_and_deduplicated_as_ms_marco_was(tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    text = " ".join(f"Leaf {number} turns red in autumn." for number in range(12))
    documents = [{"docid": name, "body": text, "lang": "en"} for name in ("m_2", "m_1")]
    path = Folder(tmp_path).lines("documents.jsonl", *documents)
    out, err = ran("index_corpus", "leaves", path, "--segment", "--deduplicated")
    assert out.startswith("leaves: 2 passages in ")
    assert err == "left out: 1 near-duplicates of other documents\nfields that are not kept: lang\n"
    first, last = retrieval.open_corpus("leaves").passages(["m_1#0_0", "m_1#1_140"])
    assert (first.text, last.text) == (text[: first.end_char], text[last.start_char : last.end_char])
