"""A run as a file, and what its format cannot say, listed before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rubricweb.corpus.models import Run
from tests.factories import CollectionFactory, RankingFactory, RunFactory, TopicFactory
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def page(run: Run) -> str:
    return f"/collections/autumn/exports/runs/{run.pk}/"


@pytest.fixture
def answers(collection) -> Run:
    """A run of RAGTIME's answers."""
    call_command("import_collection", "autumn", responses=[FORMATS / "ragtime.jsonl"], verbosity=0)
    return Run.objects.get()


def test_answers_go_out_as_they_came(answers, owner, client_of):
    client = client_of(owner)
    shown = markup(client.get(page(answers)))
    assert "This format keeps everything." in shown
    written = client.get(f"{page(answers)}file/", {"format": "ragtime"}).content.splitlines()
    read = (FORMATS / "ragtime.jsonl").read_bytes().splitlines()
    assert list(map(json.loads, written)) == list(map(json.loads, read))


def test_the_command_writes_them_too_and_lists_what_is_lost(answers, tmp_path, capsys):
    call_command("export_run", "autumn", answers.run_tag)
    said = capsys.readouterr()
    read = (FORMATS / "ragtime.jsonl").read_text().splitlines()
    assert list(map(json.loads, said.out.splitlines())) == list(map(json.loads, read))
    assert said.err.strip() == f"{answers.run_tag} as ragtime, 0 losses"
    call_command("export_run", "autumn", answers.run_tag, format="trec-run", out=tmp_path / "a.run")
    assert (tmp_path / "a.run").read_text().split()[-1] == answers.run_tag
    assert "lost: " in capsys.readouterr().err
    with pytest.raises(CommandError, match=f"autumn has no run x; its runs are {answers.run_tag}"):
        call_command("export_run", "autumn", "x")
    with pytest.raises(CommandError, match="cannot write"):
        call_command("export_run", "autumn", answers.run_tag, out=tmp_path / "away" / "a.jsonl")


def test_what_another_format_cannot_say_is_listed_first(answers, owner, client_of):
    client = client_of(owner)
    assert "What the file will not contain" in markup(client.get(page(answers), {"format": "rag24"}))
    ranking = markup(client.get(page(answers), {"format": "trec-run"}))
    assert "the text of the answer, and what it cites" in ranking
    assert client.get(page(answers), {"format": "other"}).status_code == 422


def test_a_ranking_is_all_that_a_trec_run_has(collection, owner, client_of):
    run = RunFactory(collection=collection, run_tag="bm25", team="")
    RankingFactory(run=run, topic=TopicFactory(collection=collection, query_id="t1"), doc_ids=["d1", "d2"])
    client = client_of(owner)
    shown = markup(client.get(page(run)))
    assert "RAGTIME" not in shown
    answer = client.get(f"{page(run)}file/", {"format": "trec-run"})
    assert answer["Content-Disposition"] == 'attachment; filename="autumn_bm25_trec-run.run"'
    assert [line.split()[:4] for line in answer.content.decode().splitlines()] == [
        ["t1", "Q0", "d1", "1"],
        ["t1", "Q0", "d2", "2"],
    ]
    run.team = "maple"
    run.save()
    assert "the run&#x27;s team" in markup(client.get(page(run)))


def test_only_organizers_export_runs(collection, developer, outsider, owner, client_of):
    run = RunFactory(collection=collection)
    for address in (page(run), f"{page(run)}file/"):
        assert [client_of(who).get(address).status_code for who in (developer, outsider)] == [403, 404]
    stranger = RunFactory(collection=CollectionFactory())
    assert client_of(owner).get(page(stranger)).status_code == 404
