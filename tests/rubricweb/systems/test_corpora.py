"""Runs that search a corpus on disk: its passages come into the collection with the run."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading.systems.pipeline import Answering
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval
from tests.rubricweb.markup import markup
from tests.rubricweb.systems.conftest import MOON, start, work

LARGE = {
    "d1": f"{MOON} Fishermen know it well.",
    "c7": "Tides rise by the pull of the moon.",
    "c8": "Salt is salty.",
}


def built(folder, name="large", texts=LARGE) -> str:
    path = folder / "large.jsonl"
    path.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()))
    out = io.StringIO()
    call_command("index_corpus", name, str(path), stdout=out)
    return out.getvalue()


def test_a_run_of_a_corpus_brings_its_passages_along(sea, owner, tmp_path):
    assert built(tmp_path).startswith("large: 3 passages in ")
    before = set(sea.passages.values_list("doc_id", flat=True))
    job = work(start(sea, owner, answering=Answering.NONE, corpus="large"))
    assert job.state == Job.State.DONE
    assert job.run.description == "BM25 over large"
    ranked = {doc_id for row in job.run.rankings.all() for doc_id in row.doc_ids}
    assert ranked == {"d1", "c7"}
    assert set(sea.passages.values_list("doc_id", flat=True)) - before == {"c7"}


def test_an_answer_quotes_the_corpus(sea, owner, tmp_path):
    built(tmp_path)
    job = work(start(sea, owner, answering=Answering.SENTENCES, corpus="large"))
    assert job.state == Job.State.DONE
    assert sea.passages.filter(doc_id="c7").exists()
    assert "pull of the moon" in str([row.sentences for row in job.run.responses.all()])


def test_a_machine_without_the_corpus_says_what_it_has(sea, owner, tmp_path):
    built(tmp_path, "small", {"d9": "Foam."})
    job = work(start(sea, owner, answering=Answering.NONE, corpus="large"))
    assert job.state == Job.State.FAILED
    assert "no corpus large (it has: small). Build it by index_corpus." in job.error


def test_the_form_offers_corpora_where_there_are_any(sea, owner, client_of, tmp_path):
    page, client = reverse("systems:make", args=[sea.slug]), client_of(owner)
    assert 'name="corpus"' not in markup(client.get(page, {"method": "bm25"}))
    built(tmp_path)
    assert "large</option>" in markup(client.get(page, {"method": "bm25"}))
    sent = {"method": "bm25", "run_tag": "wide", "depth": 10, "corpus": "large"}
    assert client.post(page, sent).status_code == 302
    assert sea.runs.get(run_tag="wide").description == "BM25 over large"
    assert retrieval.corpus_size("large")[0] == 3


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("../up", '{"id": "a", "text": "b"}', "no name of a corpus"),
        ("ok", '{"id": "a"}', "large.jsonl"),
        ("ok", '{"id": "a", "text": "b"}\n{"id": "a", "text": "b"}', "passage a is in the index"),
    ],
)
def test_a_bad_corpus_leaves_nothing_behind(settings, tmp_path, name, content, told):
    settings.DATA_DIR = tmp_path / "data"
    path = tmp_path / "large.jsonl"
    path.write_text(content)
    with pytest.raises(CommandError, match=told):
        call_command("index_corpus", name, str(path))
    assert not list(settings.DATA_DIR.glob("**/*.json*"))
    with pytest.raises(CommandError, match="there is no file"):
        call_command("index_corpus", "ok", str(tmp_path / "none"))
