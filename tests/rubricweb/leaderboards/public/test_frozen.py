"""Frozen boards: nothing that happens to the collection changes a byte of the page."""

from __future__ import annotations

import msgspec
import pytest
from django.test import Client

from rubricweb.archives import shapes
from rubricweb.banks.actions import retire_item, revise_item
from rubricweb.corpus.actions import withdraw_run
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.models import PublicBoard
from tests import factories
from tests.rubricweb.markup import markup

PUBLISH = "/collections/autumn/releases/"


@pytest.fixture
def publish(made, owner, client_of):
    def publish(kind, query="", **sent):
        sent |= {"make": "board", "title": "The board", "kind": kind}
        assert client_of(owner).post(f"{PUBLISH}?{query}", sent).status_code == 302
        return PublicBoard.objects.latest("pk")

    return publish


def page(board):
    response = Client().get(board.get_absolute_url())
    assert response.status_code == 200
    return response


def test_it_stays_while_a_live_one_follows(publish, made, owner, monkeypatch):
    frozen, live = publish("frozen", "columns=P_2"), publish("live", "columns=P_2")
    before, followed = page(frozen), page(live)
    withdraw_run(made.collection.runs.get(run_tag="stray"), by=owner)
    first, second = made.items["t1"]
    retire_item(first, seen=first.version, by=owner)
    revise_item(second, text="When do leaves turn?", seen=second.version, by=owner)
    late = factories.RunFactory(collection=made.collection, run_tag="late")
    factories.RankingFactory(run=late, topic=made.topics["t1"], doc_ids=["d1"])
    monkeypatch.setattr(MeasureSpec, "label", "Another measure")

    after = page(frozen)
    assert after.content == before.content
    assert after["ETag"] == before["ETag"]
    assert page(live).content != followed.content


def test_it_outlives_its_bank(publish, made):
    board = publish("frozen", f"bank={made.bank.pk}")
    before = page(board).content
    made.bank.items.all().delete()
    made.bank.delete()

    assert page(board).content == before


def test_it_says_since_when_and_what_of_withdrawn_runs(publish):
    frozen = markup(page(publish("frozen")))

    assert "Frozen on" in frozen
    assert "a run that was withdrawn later is still listed" in " ".join(frozen.split())
    assert "Frozen on" not in markup(page(publish("live")))


def test_an_archive_may_have_it(publish):
    check = shapes.JSON["leaderboards.PublicBoard.frozen"]
    document = publish("frozen", "columns=P_2").frozen
    check(document)

    row, *others = document["rows"]
    for wrong in ({"rank": "1"}, {"unknown": 1}, {"run_tag": None}):
        with pytest.raises(msgspec.ValidationError):
            check(document | {"rows": [row | wrong, *others]})


def test_frozen_names_can_be_made_up(publish):
    board = publish("frozen", is_anonymous="on")

    assert not [tag for tag in ("both", "stray", "lacks") if f">{tag}<" in markup(page(board))]
    assert str(board.frozen).count("'run ") == 4


def test_it_can_be_closed(publish, owner, client_of):
    board = publish("frozen")
    client_of(owner).post(f"/collections/autumn/leaderboards/public/{board.pk}/close/")

    assert Client().get(board.get_absolute_url()).status_code == 404
