"""Boards of a cold collection come from files, and are those that were computed."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.utils import timezone

from grading.types import ItemKind
from rubricweb.accounts.roles import Role
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.models import OfficialScore
from rubricweb.grades.cold import folder_of
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, kept, selectors
from rubricweb.leaderboards.board.lookup import with_columns
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.leaderboards.options import OPTIONS
from tests.worked import judge

QUESTIONS = frozenset({ItemKind.QUESTION})


@pytest.fixture
def spec(rich, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    judge(rich)
    OfficialScore.objects.create(collection=rich.collection, run_tag="both", value=0.5, is_rank=False)
    folder_of(rich.collection.pk).mkdir(parents=True)
    rich.collection.cold_at = timezone.now()
    spec = BoardSpec(rich.collection, rich.config, rich.bank, QUESTIONS, MeasureSpec())
    return with_columns(spec, "P_2,judgments/AP,cover-5")


def files(spec):
    return sorted((folder_of(spec.collection.pk) / "boards").iterdir())


@pytest.fixture
def computed(monkeypatch):
    """The specs that were computed."""
    specs, compute = [], selectors._computed
    monkeypatch.setattr(selectors, "_computed", lambda spec: specs.append(spec) or compute(spec))
    return specs


@pytest.mark.parametrize("option", OPTIONS)
def test_the_board_is_the_one_that_was_computed(option, spec, computed):
    of_option = replace(spec, **OPTIONS[option])
    first, again = selectors.board(of_option), selectors.board(of_option)

    assert first == again
    assert first.rows[0].others
    assert first.correlations
    assert (len(computed), len(files(spec))) == (1, 1)


def test_readers_share_what_is_hidden_from_none_of_them(spec, computed):
    secret = spec.bank.items.first().revision
    type(secret).objects.filter(pk=secret.pk).update(is_secret=True)

    boards = [seen_by(role, spec) for role in (Role.ORGANIZER, Role.VIEWER)]

    assert boards[0] == boards[1]
    assert len(computed) == 1
    assert spec.collection.shows_run_tags


def test_who_knows_runs_by_pseudonyms_has_a_file_of_their_own(spec):
    spec.collection.shows_run_tags = False
    spec.collection.save()

    named, other = (seen_by(role, spec) for role in (Role.ORGANIZER, Role.VIEWER))

    assert {row.run_tag for row in named.rows} == {"both", "first", "lacks", "stray"}
    assert all(row.run_tag.startswith("run ") for row in other.rows)
    assert len(files(spec)) == 2


def seen_by(role, spec):
    user = MembershipFactory(collection=spec.collection, user=UserFactory(), role=role).user
    with reading_as(Reader(SimpleNamespace(user=user))):
        return selectors.board(spec)


def test_grades_that_came_back_meanwhile_outdate_the_file(spec, computed):
    selectors.board(spec)
    spec.collection.cold_at = timezone.now()
    selectors.board(spec)

    assert len(computed) == 2


def test_a_damaged_file_is_written_again(spec, computed):
    before = selectors.board(spec)
    for damage in (b"", b"\x80", files(spec)[0].read_bytes()[:-9]):
        files(spec)[0].write_bytes(damage)
        assert selectors.board(spec) == before
    assert selectors.board(spec) == before
    assert len(computed) == 4


def test_the_files_that_were_written_first_go(spec, monkeypatch):
    monkeypatch.setattr(kept, "MOST", 2)
    for second, cutoff in enumerate((1, 2, 3)):
        selectors.board(replace(spec, measure=MeasureSpec(cutoff=cutoff)))
        for file in files(spec):
            os.utime(file, ns=(0, file.stat().st_mtime_ns if second else 0))
    assert len(files(spec)) == 2


def test_a_board_without_a_folder_is_computed(spec, computed):
    folder_of(spec.collection.pk).rmdir()

    assert selectors.board(spec).rows
    assert not folder_of(spec.collection.pk).exists()


def test_a_collection_that_is_not_cold_keeps_nothing(spec):
    spec.collection.cold_at = None
    assert selectors.board(spec).rows
    assert not (folder_of(spec.collection.pk) / "boards").exists()
