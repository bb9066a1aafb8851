"""Panels on the graders' page: made, worth so many judges, combined again, beside its members on a board."""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from grading.graders import WEIGHTS
from grading.statistics import panel as science
from grading.types import ItemKind
from rubricweb.campaigns import population
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades import panel_making
from rubricweb.grades.configs import config_for
from rubricweb.grades.models import Grade, GraderConfig, JobChunk
from rubricweb.grades.panel_making import panels_of, rated_votes
from rubricweb.grades.raters import raters
from rubricweb.grades.store import GradeRow, remove_grades, save_grades
from rubricweb.jobs.worker import work_on
from tests.factories import BankFactory
from tests.rubricweb.graders.conftest import text

PAGE = "/collections/autumn/graders/"
FORM = f"{PAGE}panels/form/"


@pytest.fixture
def members(rated, redis_server) -> list[GraderConfig]:
    """The worked grader, one that agrees with people, and one that repeats the first."""
    others = [config_for("hf_causal", name, "LexicalBaseline") for name in ("as-people", "as-first")]
    for other, less in zip(others, (1, 0), strict=True):
        rows = [
            GradeRow(*cell_of(cell), max(rating - less, 0), "numeric")
            for cell, rating in rated.graded.items()
        ]
        save_grades(other, rows)
    return [rated.made.config, *others]


def cell_of(cell):
    return cell.topic_id, cell.revision_id, cell.passage_id


def combine():
    for pk in JobChunk.objects.exclude(state="done").values_list("pk", flat=True):
        work_on("chunk", pk)


def formed(client, members, **fields):
    sent = {"members": [str(member.pk) for member in members], "rule": "majority", **fields}
    return client.post(FORM, sent, follow=True)


def test_a_panel_is_made_combined_and_measured(client_of, owner, rated, members):
    client = client_of(owner)
    page = formed(client, members)
    cells = len(rated.graded)
    assert f"Combining the ratings of {cells} pairs." in text(page)
    combine()
    (panel,) = panels_of(rated.made.collection)
    grades = Grade.objects.by(panel)
    assert grades.count() == cells
    first = Grade.objects.by(members[0]).values_list("revision", "passage", "rating")
    assert set(grades.values_list("revision", "passage", "rating")) <= set(first)  # two of three repeat it
    words = text(client.get(PAGE))
    measured = rated_votes(rated.made.collection, members).effective
    assert f"Worth {measured.effective:.1f} independent judges" in words
    assert ", not 3:" in words
    assert f"on {cells} pairs that people and all members rated" in words
    assert "as-people · LexicalBaseline 100% 1.00" in words
    address = re.search(r'href="([^"]+columns=grader-[^"]+)"', client.get(PAGE).content.decode())
    board = client.get(address[1].replace("&amp;", "&"))
    assert board.status_code == 200
    for member in members:
        assert f"by {member}" in text(board)


def test_weights_are_learned_cross_fitted_and_frozen(client_of, owner, rated, members, monkeypatch):
    client = client_of(owner)
    page = formed(client, members, rule="weights")
    refusal = "Weights need 30 pairs that people and all members have rated"
    assert f"{refusal}; there are {len(rated.graded)}." in text(page)
    assert not panels_of(rated.made.collection)
    monkeypatch.setattr(panel_making, "LEAST_CELLS", 5)
    formed(client, members, rule="weights")
    (panel,) = panels_of(rated.made.collection)
    weights = json.loads(panel.options[WEIGHTS])
    assert len(weights) == science.FOLDS
    assert all(row[1] >= max(row) for row in weights)  # it never errs
    combine()
    assert "Weight" in text(client.get(PAGE))


def test_refusals_say_why(client_of, owner, assessor, rated, members):
    client = client_of(owner)
    assert "2 to 20 different graders" in text(formed(client, members[:1]))
    assert "must be ticked" in text(formed(client, members[:2], rule="first", first=str(members[2].pk)))
    assert client_of(assessor).post(FORM, {}).status_code == 403
    assert client.post(f"{PAGE}panels/{members[0].pk}/combine/").status_code == 404


def test_the_one_who_decides_is_the_first_member_and_late_grades_are_combined_again(
    client_of, owner, rated, members
):
    client = client_of(owner)
    formed(client, members, rule="first", first=str(members[2].pk), panel_name="Escalated")
    (panel,) = panels_of(rated.made.collection)
    assert panel.llm == "Escalated"
    combine()
    row = Grade.objects.by(members[2]).first()
    panel_grade = Grade.objects.by(panel).get(revision=row.revision_id, passage=row.passage_id)
    assert (panel_grade.rating, panel_grade.reply.split()[0]) == (row.rating, str(row.rating))
    remove_grades(members[2], row.topic_id, Grade.objects.filter(pk=row.pk))
    assert "Combine 1 pair" in text(client.get(PAGE))
    client.post(f"{PAGE}panels/{panel.pk}/combine/")
    combine()
    again = Grade.objects.by(panel).get(revision=row.revision_id, passage=row.passage_id)
    assert again.reply.split()[0] == "-"


def test_the_command_makes_a_panel_by_ids(rated, members):
    out = StringIO()
    ids = [str(member.pk) for member in members]
    call_command("graders", "autumn", "--panel", *ids, "--rule", "median", "--name", "Three", stdout=out)
    (panel,) = panels_of(rated.made.collection)
    assert (panel.llm, panel.options["rule"]) == ("Three", "median")
    assert f"{panel.pk}" in out.getvalue()
    combine()
    out = StringIO()
    call_command("graders", "autumn", "--json", stdout=out)
    listed = {row["id"]: row for row in json.loads(out.getvalue())["graders"]}
    assert listed[panel.pk]["members"] == [member.pk for member in members]
    with pytest.raises(CommandError, match="no grader 99"):
        call_command("graders", "autumn", "--panel", "99", ids[0])


def test_pairs_on_which_members_disagree_are_a_queue(client_of, owner, rated, members):
    client = client_of(owner)
    bank, collection = rated.made.bank, rated.made.collection
    split = [cell for cell, rating in rated.graded.items() if rating == 4]  # 4 covers, and one less does not
    others = config_for("hf_causal", "no-member", "LexicalBaseline")
    save_grades(others, [GradeRow(*cell_of(cell), 0, "numeric") for cell in rated.graded])
    formed(client, members)
    combine()
    (panel,) = panels_of(collection)
    rater = next(each for each in raters(bank) if panel in each.configs)
    choice = CellChoice(
        bank,
        tuple(collection.topics.all()),
        frozenset({ItemKind.QUESTION}),
        rater,
        cells=Campaign.Cells.DISAGREEING,
        order=Campaign.Order.DISAGREEMENT,
    )
    chosen = population.chosen(choice, seed=1).cells
    assert {(each.revision, each.passage) for each in chosen} == {
        (cell.revision_id, cell.passage_id) for cell in split
    }
    address = re.search(r'href="([^"]+cells=disagreeing[^"]+)"', client.get(PAGE).content.decode())
    page = client.get(address[1].replace("&amp;", "&")).content.decode()
    assert f'<option value="{rater.pk}" selected>' in page
    assert page.count('<option value="disagreeing" selected>') == 1
    assert page.count('<option value="disagreement" selected>') == 1


def test_a_check_begins_with_the_panel_and_a_rubric_that_it_graded(client_of, owner, rated, members):
    BankFactory(collection=rated.made.collection, name="another")
    formed(client_of(owner), members)
    combine()
    (panel,) = client_of(owner).get(PAGE).context["panels"]
    begins = f"/collections/autumn/campaigns/new/?bank={rated.made.bank.pk}&grader={panel.config.pk}"
    assert panel.check == begins
    assert panel.check_disagreeing == f"{begins}&cells=disagreeing&order=disagreement"


def test_a_check_of_the_grader_in_use_names_it_and_its_rubric(client_of, owner, made):
    page = client_of(owner).get(PAGE).text
    assert f"/collections/autumn/campaigns/new/?bank={made.bank.pk}&amp;grader={made.config.pk}" in page
