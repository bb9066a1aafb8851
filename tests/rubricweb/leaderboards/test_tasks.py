"""Boards of one task, or of runs by name, equal those of a collection of these runs alone."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.run_slices import find_runs, pool_of
from rubricweb.leaderboards.actions import freeze_board
from rubricweb.leaderboards.board import files, lookup, selectors
from rubricweb.leaderboards.forms import BoardForm
from tests.rubricweb.tracks import DEPTH, RANKED, TASKS, track

COLUMNS = "ndcg_cut_10,map,cover-5,judgments/map,judgments/recall_5"
OF_COLLECTION = ("collection", "made", "runs", "bank")


def document(collection: Collection, **address: str) -> dict:
    form = BoardForm({"columns": COLUMNS, **address}, collection=collection)
    assert form.is_valid(), form.errors
    found = files.board_document(selectors.board(form.spec))
    return {name: value for name, value in found.items() if name not in OF_COLLECTION}


@pytest.fixture
def mixed(db) -> Collection:
    return track("mixed", tuple(TASKS))


@pytest.mark.portable
@pytest.mark.parametrize("has_rule", [True, False])
def test_the_board_of_a_task_equals_that_of_its_runs_alone(db, has_rule):
    """Scores, ranks, intervals, tests, correlations, marks, and further columns, as JSON."""
    mixed = track("mixed", tuple(TASKS), has_rule=has_rule)
    boards = {}
    for task in TASKS:
        alone = document(track(f"only-{task.lower()}", (task,), has_rule=has_rule))
        boards[task] = document(mixed, task=task.lower() or "none")
        assert boards[task] == alone
    everything = document(mixed)
    assert len(everything["rows"]) == sum(TASKS.values())
    scores = {row["run_tag"]: row["columns"]["map"]["score"] for row in everything["rows"]}
    own = {row["run_tag"]: row["columns"]["map"]["score"] for row in boards["R"]["rows"]}
    assert any(scores[tag] != score for tag, score in own.items()), "the pool is another"


def test_runs_by_name_have_a_pool_of_their_own(mixed):
    of_names = document(mixed, runs="r0, r1,rag*")
    assert {row["run_tag"] for row in of_names["rows"]} == {"r0", "r1", "rag0", "rag1", "rag2", "rag3"}
    assert document(mixed, task="R", runs="r*") == document(mixed, task="r")
    pool = pool_of(mixed, find_runs(mixed, "", "r0"))
    topic = pool.topics[0]
    judged = set(topic.judgments)
    brought = {doc_id for ids in topic.ranked for doc_id in ids[:DEPTH]}
    assert set(topic.doc_ids) == judged | brought
    assert [len(ids) for ids in topic.ranked] == [RANKED]


@pytest.mark.parametrize(
    ("address", "field", "problem"),
    [
        ({"task": "ir"}, "task", "ir is not one of the available choices"),
        ({"runs": "r0,r9"}, "runs", "no run named r9 here; there are ag0, ag1, ag2, free0, free1, "),
        ({"task": "ag", "runs": "r0"}, "runs", "no run of AG named r0 here; there are ag0, ag1, ag2"),
    ],
)  # fmt: skip
def test_runs_that_are_not_there_are_refused(mixed, address, field, problem):
    form = BoardForm(address, collection=mixed)
    assert not form.is_valid()
    assert problem in form.errors[field][0]


def printed(command: str, *args: str) -> str:
    out = StringIO()
    call_command(command, *args, stdout=out)
    return out.getvalue()


NAMES = ("--prompt-class", "LexicalBaseline", "--llm", "lexical")


@pytest.mark.portable
def test_every_command_takes_the_task(mixed):
    """The numbers of each command are those of the collection of that task alone."""
    track("alone", ("AG",))
    for command, args in (
        ("leaderboard", (*NAMES, "--columns", COLUMNS)),
        ("compare_runs", (*NAMES, "ag0", "ag1", "--json")),
        ("meta_evaluate", ("--format", "json")),
        ("agreement", ("--format", "json")),
    ):
        parts = [
            json.loads(printed(command, slug, *args, *options))
            for slug, options in (("mixed", ("--task", "ag")), ("alone", ()))
        ]
        for part in parts:
            for found in part if isinstance(part, list) else [part]:
                for name in OF_COLLECTION:
                    found.pop(name, None)
        assert parts[0] == parts[1], command
    assert "5 of 13 runs: chosen by name" in printed("leaderboard", "mixed", *NAMES, "--runs", "ag*,free*")
    lines = [
        sorted(printed("export_qrels", *args, *NAMES).split("\n"))
        for args in (("mixed", "--task", "AG"), ("alone",))
    ]
    assert lines[0] == lines[1]


def test_pages_and_files_follow_the_address(mixed, owner, client_of):
    Membership.objects.create(user=owner, collection=mixed, role=Role.ORGANIZER)
    client = client_of(owner)
    for route in ("leaderboards:board", "leaderboards:sure", "leaderboards:plot", "exports:leaderboard"):
        response = client.get(reverse(route, args=["mixed"]), {"task": "ag"})
        body = b"".join(response.streaming_content) if response.streaming else response.content
        assert b"ag1" in body, route
        assert b"rag1" not in body, route
    page = client.get(reverse("leaderboards:board", args=["mixed"]), {"task": "ag"}).content.decode()
    assert 'name="task"' in page
    compare = reverse("leaderboards:compare", args=["mixed"])
    assert b"rag1" not in client.get(compare, {"task": "ag"}).content
    other = Run.objects.get(collection=mixed, run_tag="rag1").pk
    assert client.get(compare, {"task": "ag", "a": other}).status_code == 422


def test_frozen_boards_keep_the_choice(mixed):
    board = freeze_board(mixed, title="AG", query="task=ag", is_anonymous=True, by=None)
    assert len(board.frozen["rows"]) == 3
    assert {"name": "runs", "value": "3 of 13 runs: of task AG"} in board.frozen["statements"]
    Run.objects.filter(collection=mixed).update(task="RAG")
    page = Client().get(board.get_absolute_url()).content.decode()
    assert "3 of 13 runs: of task AG" in page


def test_readers_with_pseudonyms_choose_by_these_and_see_no_task(mixed, viewer, client_of):
    Membership.objects.create(user=viewer, collection=mixed, role=Role.VIEWER)
    client, board = client_of(viewer), reverse("leaderboards:board", args=["mixed"])
    page = client.get(board).content.decode()
    assert 'name="task"' not in page
    assert client.get(board, {"task": "ag"}).status_code == 422
    assert client.get(board, {"runs": "ag0"}).status_code == 422
    name = lookup.run_slices.pseudonyms.run_pseudonym(mixed.name_salt, "ag0")
    response = client.get(board, {"runs": name})
    assert response.status_code == 200
    assert len(response.context["lines"]) == 1
