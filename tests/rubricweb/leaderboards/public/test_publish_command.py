"""`rubricweb publish_board`."""

import pytest
from django.core.management import CommandError, call_command
from django.http import QueryDict
from django.test import Client

from grading.statistics.max_t import PairedTest
from rubricweb.banks.versions import name_version
from rubricweb.corpus.actions import withdraw_run
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.leaderboards.board import MissingTopic
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.leaderboards.models import PublicBoard
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable


@pytest.fixture
def publish(made, capsys):
    def publish(*arguments):
        call_command("publish_board", "autumn", *made.names, "--server", "https://x.org", *arguments)
        return capsys.readouterr().out.strip().removeprefix("https://x.org")

    return publish


def test_a_frozen_board_stays_and_a_live_one_follows(publish, made, owner):
    frozen, live = publish("--frozen", "--title", "Autumn 2026"), publish()
    withdraw_run(made.collection.runs.get(run_tag="stray"), by=owner)
    kept, current = markup(Client().get(frozen)), markup(Client().get(live))
    assert "Autumn 2026" in kept
    assert "stray" in kept
    assert f"Leaderboard of {made.collection}" in current
    assert "both" in current
    assert "stray" not in current


def test_an_anonymous_one_has_no_run_tag(publish):
    assert "stray" not in markup(Client().get(publish("--anonymous")))


def test_it_is_the_board_that_the_options_name(publish, made, owner):
    version = name_version(made.bank, name="first", by=owner)
    publish(
        *("--bank", "main", "--bank-version", str(version.number), "--kind", "question", "--min-grade", "3"),
        *(
            "--measure",
            "P_2",
            "--columns",
            "cover-5",
            "--relevant",
            "2",
            "--mode",
            "count",
            "--test",
            "studentised",
        ),
        *("--topic", "t1", "--missing", "skip", "--ratings", "corrected", "--cutoff", "7"),
    )
    form = BoardForm(QueryDict(PublicBoard.objects.get().query), collection=made.collection)
    assert form.is_valid()
    spec = form.spec
    assert (spec.bank, spec.version, spec.topic) == (made.bank, version, "t1")
    assert (spec.source, spec.missing, spec.test) == (
        RatingSource.CORRECTED,
        MissingTopic.SKIP,
        PairedTest.STUDENTISED,
    )
    measure = spec.measure
    assert (measure.name, measure.min_grade, measure.relevant, measure.mode) == ("P_2", 3, 2, "count")
    assert [column.token for column in spec.columns] == ["cover-5"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--topic", "t9"), "has no topic t9"), (("--measure", "cover-9"), "9"), (("--cutoff", "0"), "1")],
)
def test_a_board_that_cannot_be_is_refused(publish, arguments, said):
    with pytest.raises(CommandError, match=said):
        publish(*arguments)
    assert not PublicBoard.objects.exists()
