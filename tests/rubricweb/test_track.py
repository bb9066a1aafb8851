"""The steps of docs/help/commands.md, done as they stand there on the files of a tiny track."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection
from rubricweb.grades.management.commands import grade as grade_command
from rubricweb.grades.models import Grade, GraderConfig, JobChunk
from rubricweb.jobs.worker import work_on
from tests.factories import UserFactory
from tests.rubricweb.markup import markup

ROOT = Path(__file__).resolve().parents[2]
WRITES_ARGUMENTS = r"""rubricweb() { printf '%s\0' "$@"; printf '\n\0'; }"""
SERVER = "https://rubric.example.org"
TOPICS = {"2024-1": "why do bees dance", "2024-2": "why do leaves turn red"}
TEXTS = {
    "msmarco_v2.1_doc_01_1#1_1": "Bees dance to tell others where food is.",
    "msmarco_v2.1_doc_01_2#1_1": "Anthocyanins make maple leaves turn red.",
}
NUGGETS = {"2024-1": "Bees dance to tell where food is", "2024-2": "Anthocyanins make leaves red"}


def steps() -> dict[str, str]:
    text = (ROOT / "docs/help/commands.md").read_text(encoding="utf-8")
    return dict(re.findall(r"```bash (\w+)\n(.*?)```", text, re.DOTALL))


def commands(step: str, **values: object) -> list[list[str]]:
    """What bash makes of the step: the arguments of each `rubricweb`."""
    given = {name: str(value) for name, value in values.items()}
    script = ["bash", "-ceu", f"{WRITES_ARGUMENTS}\n{step}"]
    written = subprocess.run(script, env=given, check=True, capture_output=True, text=True).stdout
    return [line.strip("\0").split("\0") for line in written.split("\0\n") if line.strip("\0\n")]


@pytest.fixture
def track(tmp_path) -> Path:
    folder = tmp_path / "track"
    (folder / "responses").mkdir(parents=True)
    (folder / "runs").mkdir()
    docs = list(TEXTS)
    contents = {
        "topics.tsv": [f"{topic}\t{text}" for topic, text in TOPICS.items()],
        "passages.jsonl": [json.dumps({"docid": doc, "segment": text}) for doc, text in TEXTS.items()],
        "nuggets.jsonl": [json.dumps(nuggets(topic)) for topic in TOPICS],
        "qrels.txt": [f"{topic} 0 {doc} 1" for topic, doc in zip(TOPICS, docs, strict=True)],
        "runs/bm25.txt": [
            f"{topic} Q0 {doc} {n} {9 - n} bm25" for topic in TOPICS for n, doc in enumerate(docs, 1)
        ],
        "responses/maple.jsonl": [json.dumps(response(topic, docs)) for topic in TOPICS],
    }
    for name, lines in contents.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def nuggets(topic: str) -> dict[str, object]:
    return {
        "query": TOPICS[topic],
        "qid": topic,
        "nuggets": [{"text": NUGGETS[topic], "importance": "vital"}],
    }


def response(topic: str, docs: list[str]) -> dict[str, object]:
    answer = [{"text": f"{text} So it is.", "citations": [n]} for n, text in enumerate(TEXTS.values())]
    words = sum(len(str(sentence["text"]).split()) for sentence in answer)
    named = {"run_id": "maple-1", "topic_id": topic, "topic": TOPICS[topic]}
    return named | {"references": docs, "response_length": words, "answer": answer}


def work(seconds: float) -> None:
    for chunk in JobChunk.objects.filter(state="queued"):
        work_on("chunk", chunk.pk)


@pytest.mark.django_db(transaction=True)
def test_the_steps_lead_from_files_to_a_release_and_an_archive(
    track, tmp_path, redis_server, monkeypatch, capsys
):
    for name in ("org", "ana", "lu"):
        UserFactory(username=name)
    monkeypatch.setattr(grade_command.time, "sleep", work)
    said = {}
    for name, step in steps().items():
        grader = GraderConfig.objects.values_list("pk", flat=True).first()
        for command, *arguments in commands(
            step, TRACK=track, OUT=tmp_path, SLUG="ours", SERVER=SERVER, GRADER=grader
        ):
            call_command(command, *arguments)
        said[name] = capsys.readouterr().out
    ours = Collection.objects.get(slug="ours")
    assert set(ours.memberships.values_list("role", flat=True)) == {
        Role.ORGANIZER,
        Role.ASSESSOR,
        Role.PARTICIPANT,
    }
    assert Grade.objects.filter(topic__collection=ours).count() == Grade.objects.count() / 2 > 0, "and again"
    assert {"bm25", "maple-1"} <= set(re.findall(r"bm25|maple-1", said["board"]))
    assert said["invite"].count(f"{SERVER}/accounts/join/") == 3
    assert said["campaign"].startswith(f"{SERVER}/collections/ours/campaigns/")
    assert said["call"].startswith(f"{SERVER}/collections/ours/submissions/calls/")
    public = Client().get(said["public"].strip().removeprefix(SERVER))
    assert "maple-1" in markup(public)
    assert (tmp_path / "qrels.txt").read_text().startswith("2024-1 0 ")
    assert (tmp_path / "bank.jsonl").stat().st_size
    with zipfile.ZipFile(tmp_path / "release.zip") as release:
        assert not [name for name in release.namelist() if b"maple-1" in release.read(name)]
    assert "maple-1" in (tmp_path / "names.tsv").read_text()
