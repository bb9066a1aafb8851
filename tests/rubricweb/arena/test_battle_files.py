"""Battles of other arenas in and out: votes of named voters, and the strengths that arena-rank gives them."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from rubricweb.accounts.models import User
from rubricweb.arena.answers import CountedVerdict
from rubricweb.arena.board import vote_board
from rubricweb.arena.models import Battle, Vote
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.import_collection import ImportFiles, import_collection
from tests.grading.formats.samples import FOLDER
from tests.rubricweb.arena.conftest import voted
from tests.rubricweb.markup import markup

ROWS = """\
model_a,model_b,winner,question_id,judge,comment
ann-1,ann-2,model_a,t1,the-judge,short
ann-2,ann-1,model_a,t1,the-judge,
ann-2,ann-3,tie (bothbad),t2,the-judge,
ann-3,ann-1,model_b,t2,other,
ann-3,ann-2,model_a,t3,other,
ann-1,ann-3,tie,t3,other,
ann-1,ann-2,model_a,t3,other,
"""
"""By hand: of 3 battles ann-1 won 2 against ann-2; 1.5 of 2 against ann-3; ann-2 half of 2 against ann-3."""


def imported(tmp_path, text=ROWS, slug="arena", name="battles.csv", voter=""):
    path = tmp_path / name
    path.write_text(text)
    return import_collection(slug, files=ImportFiles(battles=(path,), authors={path: voter}), by=None)


def output(*arguments):
    out = io.StringIO()
    call_command("export_battles", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return list(csv.DictReader(io.StringIO(out.getvalue())))


@pytest.mark.django_db
def test_a_line_is_a_vote_of_a_named_voter_with_its_sides(tmp_path):
    summary = imported(tmp_path)
    counts = {kind: counted.new for kind, counted in summary.counts.items() if counted.new}
    assert counts == {"collections": 1, "topics": 3, "runs": 3, "battles": 7, "votes": 7}
    assert "battles.csv: 7 votes by the-judge (3), other (4)" in summary.notes
    first = Battle.objects.order_by("pk")[1]
    assert (first.left.run_tag, first.right.run_tag, first.votes.get().answer) == ("ann-2", "ann-1", "left")
    assert first.columns == {"question_id": "t1", "judge": "the-judge", "comment": ""}
    assert not User.objects.filter(is_active=True).exists()
    assert User.objects.get(first_name="the-judge").username == "arena.the-judge"
    assert set(Vote.objects.values_list("answer", flat=True)) == {"left", "right", "tie", "both_bad"}


@pytest.mark.django_db
def test_the_same_file_again_changes_nothing(tmp_path):
    repeated = ROWS + "ann-1,ann-2,model_a,t3,other,\n"
    assert imported(tmp_path, repeated).counts["votes"].new == 8
    again = imported(tmp_path, repeated)
    assert (again.has_changed, again.counts["votes"].unchanged) == (False, 8)


@pytest.mark.django_db
def test_strengths_are_those_of_bradley_and_terry(tmp_path):
    """Worked by hand: the wins that the strengths expect are those that there are."""
    imported(tmp_path)
    board = vote_board(Collection.objects.get())
    rated = {row.run_tag: row.bradley_terry for row in board.rows}
    assert sum(rated.values()) == pytest.approx(0, abs=1e-9)

    def chance(first, second):
        return 1 / (1 + 10 ** ((rating[second] - rating[first]) / 400))

    rating = {row.run_tag: row.rating for row in board.rows}
    assert 3 * chance("ann-1", "ann-2") + 2 * chance("ann-1", "ann-3") == pytest.approx(3.5)
    assert 3 * chance("ann-2", "ann-1") + 2 * chance("ann-2", "ann-3") == pytest.approx(1.5)
    assert sum(rating.values()) / 3 == pytest.approx(1000)
    assert board.from_files == (("other", 4), ("the-judge", 3))
    assert (board.votes, board.both_bad, board.outdated) == (7, 1, 0)


@pytest.mark.django_db
def test_a_run_that_won_all_has_no_rating(tmp_path):
    imported(tmp_path, "model_a,model_b,winner,judge\na,b,model_a,j\n")
    assert [row.has_rating for row in vote_board(Collection.objects.get()).rows] == [False, False]


@pytest.mark.django_db
def test_battles_go_out_as_they_came_in(tmp_path, client_of):
    imported(tmp_path)
    rows = list(csv.DictReader(io.StringIO(ROWS.replace("tie (bothbad)", "both_bad"))))
    assert output("arena") == rows
    call_command("export_battles", "arena", "--out", tmp_path / "b.jsonl", stderr=io.StringIO())
    written = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert written == rows
    assert output("arena", "--on", "evidence") == []


def test_our_votes_go_out_as_battles(collection, topics, runs, assessor, owner, client_of):
    voted(assessor, topics[0], runs[1], runs[0], "right", "left")
    voted(assessor, topics[1], runs[0], runs[2], "both_bad", "tie")
    answers, evidence = output("autumn", "--names"), output("autumn", "--on", "evidence")
    assert [list(row.values())[:5] for row in answers] == [
        ["secretbeta", "secretalpha", "model_b", "t1", assessor.username],
        ["secretalpha", "secretgamma", "both_bad", "t2", assessor.username],
    ]
    assert [(row["winner"], row["aspect"]) for row in evidence] == [
        ("model_a", "evidence"),
        ("tie", "evidence"),
    ]
    page = client_of(owner).get("/collections/autumn/arena/events/battles/?verdict=evidence")
    assert page["Content-Disposition"] == 'attachment; filename="autumn-battles-evidence.csv"'
    assert page.content.decode().startswith("model_a,model_b,winner,question_id,judge,timestamp,aspect\n")
    assert f",{assessor.username}," not in page.content.decode()


def test_file_votes_count_beside_those_on_answers_and_say_where_they_are_from(
    collection, topics, runs, assessor, owner, client_of, tmp_path
):
    voted(assessor, topics[0], runs[0], runs[1], "left")
    text = "model_a,model_b,winner,question_id\nsecretalpha,secretbeta,tie,t1\nsecretgamma,new,tie,t1\n"
    imported(tmp_path, text, "autumn", voter="gpt-judge")
    board = vote_board(collection)
    assert (board.votes, board.voters, board.from_files) == (3, 2, (("gpt-judge", 2),))
    assert (board.outdated, vote_board(collection, CountedVerdict.EVIDENCE).votes) == (0, 1)
    long = vote_board(collection, at_equal_length=True)
    assert (long.votes, long.unknown_lengths) == (2, 1)
    client = client_of(owner)
    page = " ".join(markup(client.get("/collections/autumn/arena/")).split())
    assert "From files of battles: 2 by gpt-judge." in page
    document = client.get("/collections/autumn/arena/file/json/").json()
    assert document["votes_from_files"] == {"gpt-judge": 2}
    votes = client.get("/collections/autumn/arena/events/json/").json()
    words = {vote["right"]: vote["right_words"] for vote in votes}
    assert words == {"secretbeta": 3, "new": None}


def test_our_votes_on_evidence_come_in_again_beside_those_on_answers(
    collection, topics, runs, assessor, tmp_path
):
    voted(assessor, topics[0], runs[0], runs[1], "left", "right")
    voted(assessor, topics[1], runs[0], runs[1], "tie", "both_bad")
    paths = [tmp_path / f"{verdict}.csv" for verdict in CountedVerdict]
    for verdict, path in zip(CountedVerdict, paths, strict=True):
        call_command("export_battles", "autumn", "--on", verdict, "--out", path, stderr=io.StringIO())
    summary = import_collection("other", files=ImportFiles(battles=tuple(paths)), by=None)
    assert (summary.counts["votes"].new, summary.counts["topics"].new) == (4, 2)
    other = Collection.objects.get(slug="other")
    for verdict, path in zip(CountedVerdict, paths, strict=True):
        before, after = (vote_board(each, verdict) for each in (collection, other))
        assert (after.votes, after.both_bad) == (before.votes, before.both_bad)
        assert [row.bradley_terry for row in after.rows] == [row.bradley_terry for row in before.rows]
        assert output("other", "--on", verdict) == list(csv.DictReader(path.read_text().splitlines()))
    assert not import_collection("other", files=ImportFiles(battles=tuple(paths)), by=None).has_changed


@pytest.mark.django_db
def test_judgments_of_ragdoll_are_votes_of_their_model(tmp_path):
    files = ImportFiles(battles=(FOLDER / "arena_judgments.jsonl",))
    summary = import_collection("arena", files=files, by=None)
    assert {kind: summary.counts[kind].new for kind in ("topics", "runs", "votes")} == {
        "topics": 2,
        "runs": 3,
        "votes": 3,
    }
    assert "arena_judgments.jsonl: 3 votes by made-judge (low) (3)" in summary.notes
    assert "arena_judgments.jsonl: lines without a verdict, which are no votes: 1" in summary.notes
    assert Topic.objects.get(query_id="q2").text == "When is low water?"
    assert output("arena") == [], "these are no people"
    rows = output("arena", "--voters", "made-judge (low)")
    assert [(row["model_a"], row["winner"], row["judge"]) for row in rows] == [
        ("tide-2", "model_a", "made-judge (low)"),
        ("tide-1", "model_b", "made-judge (low)"),
        ("tide-1", "tie", "made-judge (low)"),
    ]
    assert next((row["question_id"], row["raw_output"]) for row in rows) == ("q1", "[[A]]")
    assert not import_collection("arena", files=files, by=None).has_changed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model_a,model_b,winner\na,b,tie\n", "battles.csv:2: no author: no column judge or voter"),
        ("model_a,model_b,winner,judge,aspect\na,b,tie,j,style\n", "battles.csv:2: aspect is 'style'"),
        ("model_a,model_b,winner,judge\na,b,tie,j\na,b c,tie,j\n", "battles.csv:3: model_b is 'b c'"),
        ("model_a,model_b,winner,judge\na,b,tie,j\na,b,A,j\n", "battles.csv:3: winner is 'A'"),
    ],
)
@pytest.mark.django_db
def test_what_is_refused_leaves_nothing(tmp_path, text, problem):
    (tmp_path / "battles.csv").write_text(text)
    with pytest.raises(CommandError) as caught:
        call_command("import_collection", "arena", "--battles", tmp_path / "battles.csv")
    assert problem in str(caught.value)
    assert not Collection.objects.exists()


@pytest.mark.django_db
def test_the_command_takes_the_voter_and_names_what_lacks_a_topic(tmp_path, capsys):
    (tmp_path / "battles.csv").write_text("model_a,model_b,winner,tstamp\na,b,tie,1700000000\n")
    call_command("import_collection", "arena", "--battles", tmp_path / "battles.csv", "--by", "ann b")
    assert "1 name no question_id and count as votes on one topic, no-question-id" in capsys.readouterr().out
    assert Vote.objects.get().at.year == 2023
