"""The command that keeps items of a bank secret."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from rubricweb.banks.models import Item
from tests.factories import gradable

pytestmark = pytest.mark.django_db


@pytest.fixture
def ids(collection) -> list[str]:
    bank = gradable(collection, topics=1, passages=1, items=3)
    return list(bank.items.order_by("position").values_list("revision__uid", flat=True))


def _secret() -> set[str]:
    hidden = Item.including_secret.filter(revision__is_secret=True)
    return set(hidden.values_list("revision__uid", flat=True))


def test_items_are_hidden_listed_and_shown(ids, tmp_path, capsys):
    listed = tmp_path / "ids.txt"
    listed.write_text(f"{ids[1]}\n\n", encoding="utf-8")
    call_command("secret_items", "autumn", "main", "--hide", ids[0], f"@{listed}")
    said = capsys.readouterr()
    assert said.out.split() == ids[:2]
    assert said.err == "--hide: 2 of 2 items changed.\n2 of 3 items of main are secret.\n"
    assert _secret() == set(ids[:2])
    call_command("secret_items", "autumn", "main", "--show", ids[0], "--json")
    assert json.loads(capsys.readouterr().out) == {"secret": [ids[1]]}
    assert _secret() == {ids[1]}
    call_command("secret_items", "autumn", "main", "--hide", "all")
    assert _secret() == set(ids)
    call_command("secret_items", "autumn", "main", "--show", "all")
    assert _secret() == set()


def test_an_id_that_no_item_has_changes_nothing(ids):
    with pytest.raises(CommandError, match="main has no item t/unknown"):
        call_command("secret_items", "autumn", "main", "--hide", ids[0], "t/unknown")
    with pytest.raises(CommandError, match="cannot be opened"):
        call_command("secret_items", "autumn", "main", "--hide", ids[0], "@/no/such/file")
    assert _secret() == set()
