"""A grader beside people: made, stale by itself, shown to those who may see it, kept in no other hands."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from django.urls import reverse

from grading.statistics.calibration import RatedCells
from rubricweb.banks import actions as banks
from rubricweb.core.models import AuditEntry
from rubricweb.graders import calibration_cards, calibration_cards as cards
from rubricweb.graders.models import CalibrationCard
from rubricweb.graders.rated_cells import RatedSample, sample
from rubricweb.grades.human_ratings import rate_cell
from tests.rubricweb.graders.conftest import text

pytestmark = pytest.mark.portable

PAGE = "/collections/autumn/graders/calibration/"


def test_the_sample_has_all_that_both_rated(rated):
    found = sample(rated.made.bank, rated.made.config)
    topics = {cell.topic_id for cell in rated.graded}
    assert len(found) == len(rated.graded)
    assert set(found.cells.topics.tolist()) == topics
    assert sorted(found.cells.grader.tolist()) == sorted(rated.graded.values())
    assert not found.is_drawn.any()
    assert (found.cells.human == (found.cells.grader - 1).clip(0)).all()


def test_a_card_goes_stale_when_an_item_is_reworded_and_current_when_it_is_back(
    rated, developer, monkeypatch
):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 5)
    assert cards.status(rated.made.bank, rated.made.config).text.startswith("not calibrated")
    card = cards.make_card(rated.made.bank, rated.made.config, by=developer)
    assert AuditEntry.objects.filter(verb="grader calibrated", collection=rated.made.collection).exists()
    now = cards.status(rated.made.bank, rated.made.config)
    assert (now.is_current, now.card) == (True, card)
    assert f"on {len(rated.graded)} pairs of 2 topics" in now.text

    item = rated.made.items["t1"][0]
    before = item.revision.text
    banks.revise_item(item, text="What makes leaves red?", seen=item.version, by=developer)
    assert cards.status(rated.made.bank, rated.made.config).text.startswith(
        "stale: 2 items changed since the card of"
    )
    item.refresh_from_db()
    banks.revise_item(item, text=before, seen=item.version, by=developer)
    assert cards.status(rated.made.bank, rated.made.config).is_current


def test_too_few_cells_make_no_card(made, developer, client_of):
    with pytest.raises(cards.TooFewCells, match="0 pairs; a card needs 10"):
        cards.make_card(made.bank, made.config, by=developer)
    sent = {"bank": made.bank.pk, "config": made.config.pk}
    answer = client_of(developer).post(f"{PAGE}make/", sent, follow=True)
    assert "People and the grader rated 0 pairs; a card needs 10." in text(answer)
    assert not CalibrationCard.objects.exists()
    refused = client_of(developer).post(f"{PAGE}make/", sent | {"config": 999}, follow=True)
    assert "This grader has not graded that rubric." in text(refused)


def sure_at(card):
    """The address of the card, on the page that shows it."""
    return reverse("leaderboards:sure", args=["autumn"], query={"bank": card.bank_id, "card": card.pk})


@pytest.fixture
def card(rated, developer, monkeypatch):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 5)
    return cards.make_card(rated.made.bank, rated.made.config, by=developer)


def test_the_page_states_what_was_found_and_on_what(card, rated, viewer, client_of):
    shown = text(client_of(viewer).get(sure_at(card)))
    cells = len(rated.graded)
    on = f"On {cells} pairs of 2 topics, rated by 1 person. 0 of the pairs were rated before the grader"
    assert on in shown
    assert "People chose the pairs" in shown
    assert "Drift: fewer than 10 pairs were rated since" in shown
    assert "Bias by family of runs" in shown
    assert "No group has enough topics to be called clear: that takes 6." in shown
    listed = text(client_of(viewer).get("/collections/autumn/leaderboards/sure/"))
    assert "calibrated on" in listed
    assert "Make a card" not in listed, "a viewer may not"


def test_card_calls_groups_clear_by_one_rule_for_all(rated, monkeypatch):
    """Eight topics; people agree but for the passages of one family, which the grader rates 2 more."""
    sample = made_up_sample(8, more=2)
    families = {"own": sample.cells.grader > sample.cells.human, "even": sample.cells.human == 1}
    monkeypatch.setattr(calibration_cards, "by_length", lambda _: {})
    monkeypatch.setattr(calibration_cards, "by_family", lambda *_: families)
    found = calibration_cards.document_of(rated.made.bank, rated.made.config, sample, is_random=True)
    assert found["groups"] == {"compared": 2, "rule": calibration_cards.RULE, "alpha": 0.05}
    own, even = found["by_runs"]
    assert (own["is_clear"], own["p"]) == (True, 2 / 2**8)
    assert (even["is_clear"], even["p"] > 0.05) == (False, True)


@pytest.mark.parametrize(("topics", "note"), [(8, "2 groups of this card"), (5, "that takes 6")])
def test_card_page_says_how_many_groups_were_compared_and_by_which_rule(
    card, rated, viewer, client_of, monkeypatch, topics, note
):
    sample = made_up_sample(topics, more=2)
    high = sample.cells.grader > sample.cells.human
    monkeypatch.setattr(calibration_cards, "by_length", lambda _: {"short": high, "long": ~high})
    monkeypatch.setattr(calibration_cards, "by_family", lambda *_: {})
    result = calibration_cards.document_of(rated.made.bank, rated.made.config, sample, is_random=True)
    CalibrationCard.objects.filter(pk=card.pk).update(result=result)

    page = text(client_of(viewer).get(sure_at(card)))
    assert note in page
    assert ("clearly higher" in page, "clearly lower" in page) == (topics == 8,) * 2
    assert json.loads(client_of(viewer).get(f"{PAGE}{card.pk}/file/").content)["groups"] == result["groups"]


def made_up_sample(topics, *, more):
    """Six cells a topic: the grader rates people's 1 and 2 as they do, and every third cell higher."""
    topic = np.repeat(np.arange(topics), 6)
    people = np.tile([1, 1, 2, 2, 1, 2], topics)
    grader = people + more * np.tile([1, 0, 0, 1, 0, 0], topics) + (topic == 0) * (people == 1)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    n = len(topic)
    return RatedSample(
        RatedCells(grader, people, topic),
        [(int(one), "uid", place) for place, one in enumerate(topic)],
        np.ones(n, dtype=bool),
        np.ones(n, dtype=bool),
        [at] * n,
        [frozenset({1})] * n,
    )


def test_the_file_leaves_runs_out_where_their_names_are_hidden(card, rated, viewer, developer, client_of):
    def document(person):
        return json.loads(client_of(person).get(f"{PAGE}{card.pk}/file/").content)

    assert document(viewer)["by_runs"]
    rated.made.collection.shows_run_tags = False
    rated.made.collection.save()
    assert "by_runs" not in document(viewer)
    assert "Bias by family" not in text(client_of(viewer).get(sure_at(card)))
    known = document(developer)
    assert known["by_runs"]
    assert known["grader"]["fingerprint"] == rated.made.config.fingerprint
    assert (known["is_current"], known["items"]) == (True, len(card.items))


def test_the_badge_says_whether_it_is_current(card, rated, viewer, developer, client_of):
    badge = client_of(viewer).get(f"{PAGE}{card.pk}/badge/")
    assert badge["Content-Type"] == "image/svg+xml"
    assert f"kappa {card.result['kappa']['value']:.2f}" in badge.content.decode()
    banks.retire_item(rated.made.items["t1"][0], seen=rated.made.items["t1"][0].version, by=developer)
    assert "\n      stale\n" in client_of(viewer).get(f"{PAGE}{card.pk}/badge/").content.decode()


def test_what_was_rated_since_stands_beside_it(card, rated, owner, monkeypatch):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 3)
    assert cards.since(card) is None
    for cell, rating in list(rated.graded.items())[:4]:
        rate_cell(cell, rating=rating, by=owner, seen=0)
    assert cards.since(card).cells == 4


def test_roles(card, outsider, participant, viewer, client_of):
    for person in (outsider, participant):
        for place in (f"{PAGE}{card.pk}/file/", f"{PAGE}{card.pk}/badge/", sure_at(card)):
            assert client_of(person).get(place).status_code == 404
    assert client_of(viewer).post(f"{PAGE}make/").status_code == 403
