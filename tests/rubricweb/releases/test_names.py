"""Made-up names: no byte of the bundle has a run's tag or a team, and organizers keep the mapping."""

from __future__ import annotations

import gzip
import json

import pytest

from rubricweb.banks.models import BankTopic, Item
from rubricweb.corpus.models import OfficialScore, Passage, Response, Run, Topic
from rubricweb.releases.bundle import write_release
from rubricweb.releases.parts import ReleaseOptions, contents_of, made_up_names

TAGS = {"both": "Zeppelin-dense.v2", "first": "quokka_bm25", "lacks": "wombatRUN", "stray": "xylophone"}
TEAMS = {"both": "Universidad-Quux", "first": "lab<&>7"}


@pytest.fixture
def tagged(made):
    """Distinctive names, in every place that may hold one."""
    for run in Run.objects.filter(collection=made.collection):
        run.team = TEAMS.get(run.run_tag, "")
        run.run_tag = TAGS[run.run_tag]
        run.save()
        foreign = {
            "metadata": {"run_id": run.run_tag, "team_id": run.team, "note": f"by {run.team}"},
            "responses": [],
        }
        sentences = [{"text": "Leaves turn red.", "citations": None}]
        Response.objects.create(
            run=run, topic=made.topics["t1"], sentences=sentences, foreign=foreign, passages_of="sentence"
        )
    by_all = {"creator": " ".join([*TAGS.values(), *TEAMS.values()])}
    for item in Item.objects.select_related("revision"):
        item.foreign = {"v3": {"question": item.revision.text, **by_all}}
        item.save()
    BankTopic.objects.create(bank=made.bank, topic=made.topics["t1"], foreign={"v3": [by_all]})
    Topic.objects.update(foreign={"request_id": "t1", "title": "x", **by_all})
    for tag in [*TAGS.values(), "only-official"]:
        OfficialScore.objects.create(collection=made.collection, run_tag=tag, value=1.0, is_rank=False)
    return made


def test_no_byte_names_a_run_or_a_team(tagged, released):
    named = released(tagged.collection, has_runs=True)
    hidden = released(tagged.collection, has_runs=True, is_anonymous=True)
    words = [*TAGS.values(), *TEAMS.values(), "only-official"]

    def places(files, word):
        contents = {
            name: gzip.decompress(one) if name.endswith(".gz") else one for name, one in files.items()
        }
        needles = {word.encode(), json.dumps(word)[1:-1].encode(), word.replace("<", "&lt;").encode()}
        return [
            name for name, one in contents.items() if any(n in one or n in name.encode() for n in needles)
        ]

    assert all(places(named, tag) for tag in TAGS.values()), "the test would find them"
    assert {word: places(hidden, word) for word in words} == {word: [] for word in words}


def test_the_same_names_are_in_every_file_and_stay(tagged, released):
    names = made_up_names(tagged.collection)
    files = released(tagged.collection, has_runs=True, is_anonymous=True)
    board = json.loads(
        next(files[name] for name in files if name.startswith("boards/") and name.endswith(".json"))
    )

    assert {row["run_tag"] for row in board["rows"]} == {names.run(tag) for tag in TAGS.values()}
    assert {f"runs/{names.run(tag)}.run" for tag in TAGS.values()} < files.keys()
    listed = [line.split("\t")[:2] for line in files["runs/runs.tsv"].decode().splitlines()[1:]]
    assert listed == sorted(listed), "no order tells of the tags"
    assert [names.run(TAGS["both"]), names.team(TEAMS["both"])] in listed
    response = json.loads(files[f"responses/{names.run(TAGS['both'])}.jsonl"])
    assert response["metadata"] == {
        "topic_id": "t1",
        "run_id": names.run(TAGS["both"]),
        "team_id": names.team(TEAMS["both"]),
    }
    assert made_up_names(tagged.collection) == names


def test_names_cannot_be_tried_without_the_secret_salt(tagged):
    before = made_up_names(tagged.collection)
    tagged.collection.name_salt = "another"

    assert not set(before.runs.values()) & set(made_up_names(tagged.collection).runs.values())


def test_organizers_learn_where_a_text_still_has_a_name(tagged, tmp_path):
    Passage.objects.filter(pk=tagged.passages["d1"].pk).update(
        text="We ran xylophone; xylophones are others."
    )
    contents = contents_of(tagged.collection, ReleaseOptions(is_anonymous=True))
    written = write_release(contents, tmp_path / "release.zip")

    assert written.still_named == ("xylophone in grades/graded.jsonl.gz",)
