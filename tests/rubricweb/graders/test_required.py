"""Collections that publish calibrated boards only."""

import pytest

from rubricweb.graders import calibration_cards as cards
from rubricweb.leaderboards.models import PublicBoard
from tests.rubricweb.graders.conftest import text

pytestmark = pytest.mark.portable

BOARD, PUBLISH = "/collections/autumn/leaderboards/", "/collections/autumn/releases/"
LACKS = "The grader is not calibrated: it has no card for these items."


def test_a_board_warns_and_is_not_published_without_a_card(rated, owner, client_of, monkeypatch):
    client, collection = client_of(owner), rated.made.collection
    assert "not calibrated" not in text(client.get(BOARD))
    collection.requires_calibration = True
    collection.save()
    assert LACKS in text(client.get(BOARD))
    for kind in ("live", "frozen"):
        refused = client.post(PUBLISH, {"make": "board", "title": "Ours", "kind": kind})
        assert (refused.status_code, PublicBoard.objects.count()) == (422, 0)
        assert f"This collection publishes calibrated boards only. {LACKS}" in text(refused)

    monkeypatch.setattr(cards, "ENOUGH_CELLS", 5)
    cards.make_card(rated.made.bank, rated.made.config, by=owner)
    shown = text(client.get(BOARD))
    assert "not calibrated" not in shown
    assert "calibration calibrated on" in shown
    assert client.post(PUBLISH, {"make": "board", "title": "Ours", "kind": "frozen"}).status_code == 302
    assert PublicBoard.objects.count() == 1
