"""Win rates of runs beside their Rubric-Cover, with how a run was made for those who may know."""

from __future__ import annotations

import pytest
from django.urls import reverse

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.arena import actions
from rubricweb.arena.models import Arena
from rubricweb.systems.models import SystemJob, spec_as_json
from tests.rubricweb.arena.conftest import voted

pytestmark = pytest.mark.django_db
MADE = "BM25, RIFER over the first 5, by llama3"


@pytest.fixture
def made(collection, runs):
    """Alpha was made here."""
    spec = SystemSpec(Answering.RIFER, backend="hf_causal", llm="llama3")
    return SystemJob.objects.create(
        collection=collection, run=runs[0], spec=spec_as_json(spec), most_calls=1, total=1, state="done"
    )


def test_win_rates_stand_beside_cover(owner, viewer, topics, runs, bank, made, client_of):
    """Alpha covers both items and wins twice, beta one and wins once, gamma none and wins none."""
    alpha, beta, gamma = runs
    for left, right in ((alpha, beta), (alpha, gamma), (beta, gamma)):
        voted(owner, topics[0], left, right, "left")
    at = reverse("arena:board", args=[topics[0].collection.slug])
    page = client_of(owner).get(at)
    rows = page.context["win_rates"].rows
    assert [(row.run_tag, row.votes, row.rate, row.cover, row.modules) for row in rows] == [
        ("secretalpha", 2, 1.0, 1.0, MADE),
        ("secretbeta", 2, 0.5, 0.5, ""),
        ("secretgamma", 2, 0.0, 0.0, ""),
    ]
    assert page.context["win_rates"].tau.value == 1
    assert MADE in page.content.decode()
    actions.change_arena(topics[0].collection, drawing=Arena.Drawing.RANDOM, is_board_open=True, by=owner)
    seen = client_of(viewer).get(at).content.decode()
    assert "Win rates and Rubric-Cover" in seen
    assert not [name for name in (MADE, "secretalpha") if name in seen]


def test_how_a_run_was_made_shows_after_the_vote_to_those_who_see_its_name(
    owner, assessor, collection, topics, runs, bank, made, client_of
):
    for person, sees in ((owner, True), (assessor, False)):
        battle = voted(person, topics[0], runs[0], runs[1], "left")
        page = client_of(person).get(battle.get_absolute_url()).content.decode()
        assert (MADE in page, "Voted, pseudonyms shown" in page) == (sees, not sees)
        document = client_of(person).get(f"{battle.get_absolute_url()}json/").json()
        assert document["modules"] == {"left": MADE if sees else None, "right": None}
        answer = document["left"]
        assert {"references", "response_length", "answer"} < {*answer}
        assert (answer["run_id"] == "secretalpha", answer["topic_id"]) == (sees, "t1")
    collection.shows_run_tags = True
    collection.save()
    page = client_of(assessor).get(battle.get_absolute_url()).content.decode()
    assert MADE in page
