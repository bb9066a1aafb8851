"""A grader beside people: made, stale by itself, shown to those who may see it, kept in no other hands."""

import json

import pytest

from rubricweb.banks import actions as banks
from rubricweb.calibration import cards
from rubricweb.calibration.models import CalibrationCard
from rubricweb.calibration.samples import sample
from rubricweb.core.models import AuditEntry
from rubricweb.grades.humans import rate_cell
from tests.rubricweb.calibration.conftest import text

pytestmark = pytest.mark.portable

PAGE = "/calibration/autumn/"


def test_the_sample_has_all_that_both_rated(rated):
    found = sample(rated.made.bank, rated.made.config)
    topics = {cell.topic_id for cell in rated.graded}
    assert len(found) == len(rated.graded)
    assert set(found.cells.topics.tolist()) == topics
    assert sorted(found.cells.grader.tolist()) == sorted(rated.graded.values())
    assert not found.is_drawn.any()
    assert (found.cells.people == (found.cells.grader - 1).clip(0)).all()


def test_a_card_goes_stale_when_an_item_is_reworded_and_current_when_it_is_back(
    rated, developer, monkeypatch
):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 5)
    assert cards.status(rated.made.bank, rated.made.config).words.startswith("not calibrated")
    card = cards.make_card(rated.made.bank, rated.made.config, by=developer)
    assert AuditEntry.objects.filter(verb="grader calibrated", collection=rated.made.collection).exists()
    now = cards.status(rated.made.bank, rated.made.config)
    assert (now.is_current, now.card) == (True, card)
    assert f"on {len(rated.graded)} cells of 2 topics" in now.words

    item = rated.made.items["t1"][0]
    before = item.revision.text
    banks.revise_item(item, text="What makes leaves red?", seen=item.version, by=developer)
    assert cards.status(rated.made.bank, rated.made.config).words.startswith(
        "stale: 2 items changed since the card of"
    )
    item.refresh_from_db()
    banks.revise_item(item, text=before, seen=item.version, by=developer)
    assert cards.status(rated.made.bank, rated.made.config).is_current


def test_too_few_cells_make_no_card(made, developer, client_of):
    with pytest.raises(cards.TooFewCells, match="0 cells; a card needs 10"):
        cards.make_card(made.bank, made.config, by=developer)
    sent = {"bank": made.bank.pk, "config": made.config.pk}
    answer = client_of(developer).post(f"{PAGE}make/", sent, follow=True)
    assert "People and the grader rated 0 cells; a card needs 10." in text(answer)
    assert not CalibrationCard.objects.exists()
    refused = client_of(developer).post(f"{PAGE}make/", sent | {"config": 999}, follow=True)
    assert "This grader has not graded that bank." in text(refused)


@pytest.fixture
def card(rated, developer, monkeypatch):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 5)
    return cards.make_card(rated.made.bank, rated.made.config, by=developer)


def test_the_page_states_what_was_found_and_on_what(card, rated, viewer, client_of):
    shown = text(client_of(viewer).get(f"{PAGE}cards/{card.pk}/"))
    cells = len(rated.graded)
    on = f"On {cells} cells of 2 topics, rated by 1 person. 0 of the cells were rated before the grader"
    assert on in shown
    assert "People chose the cells" in shown
    assert "Drift: fewer than 10 cells were rated since" in shown
    assert "Bias by family of runs" in shown
    assert "Current" not in text(client_of(viewer).get(PAGE))
    assert "Make a new card" not in text(client_of(viewer).get(PAGE)), "a viewer may not"


def test_the_file_leaves_runs_out_where_their_names_are_hidden(card, rated, viewer, developer, client_of):
    def document(person):
        return json.loads(client_of(person).get(f"{PAGE}cards/{card.pk}/file/").content)

    assert document(viewer)["by_runs"]
    rated.made.collection.shows_run_tags = False
    rated.made.collection.save()
    assert "by_runs" not in document(viewer)
    assert "Bias by family" not in text(client_of(viewer).get(f"{PAGE}cards/{card.pk}/"))
    known = document(developer)
    assert known["by_runs"]
    assert known["grader"]["fingerprint"] == rated.made.config.fingerprint
    assert (known["is_current"], known["items"]) == (True, len(card.items))


def test_the_badge_says_whether_it_is_current(card, rated, viewer, developer, client_of):
    badge = client_of(viewer).get(f"{PAGE}cards/{card.pk}/badge/")
    assert badge["Content-Type"] == "image/svg+xml"
    assert f"kappa {card.found['kappa']['value']:.2f}" in badge.content.decode()
    banks.retire_item(rated.made.items["t1"][0], seen=rated.made.items["t1"][0].version, by=developer)
    assert "\n      stale\n" in client_of(viewer).get(f"{PAGE}cards/{card.pk}/badge/").content.decode()


def test_what_was_rated_since_stands_beside_it(card, rated, owner, monkeypatch):
    monkeypatch.setattr(cards, "ENOUGH_CELLS", 3)
    assert cards.since(card) is None
    for cell, rating in list(rated.graded.items())[:4]:
        rate_cell(cell, rating=rating, by=owner, seen=0)
    assert cards.since(card).cells == 4


def test_roles(card, outsider, participant, viewer, client_of):
    for person in (outsider, participant):
        for place in ("", f"cards/{card.pk}/", f"cards/{card.pk}/file/", f"cards/{card.pk}/badge/"):
            assert client_of(person).get(f"{PAGE}{place}").status_code == 404
    assert client_of(viewer).post(f"{PAGE}make/").status_code == 403
