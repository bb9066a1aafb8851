"""Questions of the arena in the list of jobs: who sees them, who steers them, and what they do not tell."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.accounts.roles import Role
from rubricweb.arena import battles
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.core.models import AuditEntry
from rubricweb.systems.models import spec_as_json
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db

REASON = "It has asked the model 44 times, as often as it may."


@pytest.fixture
def battle(collection, assessor) -> Battle:
    """NewQuestion by the assessor; its two systems have asked their model 44 times."""
    question = Question.objects.create(
        collection=collection, text="Why is the sea salty?", is_drawn=True, most_calls=50, calls=44, total=2
    )
    Question.objects.filter(pk=question.pk).update(by=assessor)
    for number, system in enumerate((Answering.RIFER, Answering.RAGNAROK)):
        spec = spec_as_json(SystemSpec(system, backend="hf_causal", llm="tiny"))
        FreshAnswer.objects.create(job=question, number=number, size=1, system=system.value, spec=spec)
    return Battle.objects.create(
        collection=collection,
        person=assessor,
        number=battles.next_number(collection, assessor),
        question=question,
        drawn=Battle.Drawn.ASKED,
    )


def listed(client, battle) -> str:
    response = client.get(reverse("grades:jobs", args=[battle.collection.slug]))
    page = " ".join(response.content.decode().split())
    return page.partition('id="job-questions-')[2].partition("</li>")[0]


def steer(client, battle, act):
    kept = (battle.collection.slug, "questions", battle.question_id, act)
    return client.post(reverse("grades:steer", args=kept))


def test_who_asked_and_who_sees_runs_find_it_and_only_the_first_can_open_it(
    battle, assessor, developer, viewer, client_of
):
    asked = listed(client_of(assessor), battle)
    assert "Why is the sea salty?" in asked
    assert "0 of 2 answers" in asked
    assert battle.get_absolute_url() in asked
    others = listed(client_of(developer), battle)
    assert "Why is the sea salty?" in others
    assert "/battles/" not in others
    assert not listed(client_of(viewer), battle)
    other = MembershipFactory(collection=battle.collection, role=Role.ASSESSOR).user
    assert not listed(client_of(other), battle)


def test_nothing_tells_before_the_vote_which_systems_answer(battle, assessor, developer, client_of):
    for person in (assessor, developer):
        blind = listed(client_of(person), battle)
        assert "calls" not in blind
        assert "RIFER" not in blind
    battle.names_shown_at = battle.at
    battle.save()
    assert "44 of at most 50 calls" in listed(client_of(assessor), battle)
    pending = client_of(assessor).get(reverse("arena:pending", args=[battle.collection.slug, battle.pk]))
    assert not re.search(r"\b44\b|calls", pending.content.decode())  # keys of rows have these digits, too


def test_an_organizer_pauses_resumes_and_cancels_it(battle, owner, developer, client_of):
    assert steer(client_of(developer), battle, "cancel").status_code == 403
    states = []
    for act in ("pause", "resume", "cancel", "pause"):
        steer(client_of(owner), battle, act)
        states.append(Question.objects.get().state)
    assert states == ["paused", "queued", "cancelled", "cancelled"]
    told = AuditEntry.objects.filter(verb__startswith="question's answering").order_by("pk")
    assert [entry.verb.rpartition(" ")[2] for entry in told] == ["paused", "resumed", "cancelled"]


def test_only_who_asked_is_led_to_the_limits(battle, assessor, owner, client_of):
    Question.objects.update(state="paused", pause_reason=REASON)
    assert ">Limits</a>" in listed(client_of(assessor), battle)
    others = listed(client_of(owner), battle)
    assert REASON in others
    assert ">Limits</a>" not in others
