"""A measure that is added to the registry, and nowhere else, is everywhere."""

import html
import io
import json
import re

import numpy as np
import pytest
from django.core.management import call_command

from grading.measures import ItemMeasure, LabelMeasure, ShortName, Threshold, registry
from rubricweb.corpus.models import Run
from rubricweb.editor.trial import WeightTrialForm
from tests.rubricweb.markup import markup
from tests.worked import judge

BOARD = "/collections/autumn/leaderboards/"
SURE = "/collections/autumn/leaderboards/sure/"
HALF_COVER = ItemMeasure(
    name="half_cover",
    label="Half cover",
    denominator="covered items / twice the items of the topic, from grade {min_grade} on",
    citation="this test",
    scores=lambda topic: registry.RUBRIC_COVER.scores(topic) / 2,
    worths=lambda topic: registry.RUBRIC_COVER.worths(topic) / 2,
    short_names={"half-5": ShortName("half_cover", min_grade=5)},
    suggested=("half_cover",),
)
FIRST_LABEL = LabelMeasure(
    name="first_label",
    label="first label",
    denominator="label of the first passage / 5",
    citation="this test",
    scores=lambda topic: np.maximum(topic.ranked[:, 0], 0) / 5,
    threshold=Threshold.NONE,
    suggested=("first_label",),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "MEASURES", (*registry.MEASURES, HALF_COVER, FIRST_LABEL))
    registry.find.cache_clear()
    yield
    registry.find.cache_clear()


@pytest.fixture
def shown_on(made, viewer, client_of):
    """The text of a page."""

    def text(address, query):
        response = client_of(viewer).get(address, query)
        assert response.status_code == 200
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())

    return text


def printed(command, *arguments):
    out = io.StringIO()
    call_command(command, "autumn", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("address", [BOARD, SURE, "/collections/autumn/releases/"])
def test_forms_suggest_it(made, owner, client_of, address):
    content = markup(client_of(owner).get(address))
    assert all(f'<option value="{name}">' in content for name in ("half_cover", "first_label"))


def test_it_ranks_a_board_that_states_it(shown_on):
    shown = shown_on(BOARD, {"measure": "half_cover", "columns": "half-5 first_label rubric_cover"})
    assert "Half cover@20" in shown
    assert "covered items / twice the items of the topic, from grade 4 on; mean over all 2 topics" in shown
    assert "covered items / twice the items of the topic, from grade 5 on; mean over all 2 topics" in shown
    assert "95 % bootstrap-t intervals of scores" in shown


def test_commands_and_files_have_it(made):
    judge(made)
    found = json.loads(
        printed("leaderboard", "--measure", "half_cover", "--columns", "half-5,first_label", *made.names)
    )
    assert [(row["run_tag"], row["score"]) for row in found["rows"]] == [
        ("both", 0.5),
        ("stray", 0.25),
        ("first", 0.125),
        ("lacks", 0.125),
    ]
    assert [(column["token"], column["label"]) for column in found["columns"]] == [
        ("half-5", "Half cover@20 \N{GREATER-THAN OR EQUAL TO} 5"),
        ("first_label", "first_label"),
    ]
    tsv = printed(
        "leaderboard",
        "--measure",
        "first_label",
        "--columns",
        "judgments/first_label",
        "--format",
        "tsv",
        *made.names,
    )
    assert "# gains: the labels" in tsv
    assert "judgments/first_label_stderr" in tsv


def test_the_command_s_help_names_it(capsys):
    with pytest.raises(SystemExit):
        call_command("leaderboard", "--help")
    told = capsys.readouterr().out
    assert "half_cover" in told
    assert "first_label" in told


def test_pictures_draw_it(made, shown_on):
    judge(made)
    assert "4 runs, 2 topics" in shown_on(SURE, {"measure": "half_cover"})
    assert "half_cover" in shown_on(SURE, {"measure": "half_cover"})


def test_what_moved_is_explained_by_items(shown_on):
    run = Run.objects.get(run_tag="both").pk
    shown = shown_on(f"{BOARD}compare/", {"measure": "half_cover", "then_min_grade": "5", "run": run})
    assert "The items below add up to the difference." in shown
    assert "+0.2500" in shown


def test_influence_leaves_items_out_of_it(shown_on):
    assert "n 3 items" in shown_on(SURE, {"measure": "half_cover"})


def test_a_trial_of_weights_offers_it(rf):
    assert ("half_cover", "Half cover") in WeightTrialForm(rf.get("/").GET, []).fields["measure"].choices


def test_one_that_cannot_resample_topics_has_no_intervals(made, shown_on, monkeypatch):
    whole = ItemMeasure(
        name="whole_cover",
        label="Whole cover",
        denominator="covered items / all items",
        citation="this test",
        scores=registry.RUBRIC_COVER.scores,
        bootstraps_by_topic=False,
    )
    monkeypatch.setattr(registry, "MEASURES", (*registry.MEASURES, whole))
    found = json.loads(printed("leaderboard", "--measure", "whole_cover", *made.names))
    assert {(row["rank_first"], row["low"]) for row in found["rows"]} == {(None, None)}
    assert found["uncertainty"] == "none: topics cannot be resampled for this measure"
    assert "not defined" not in shown_on(SURE, {"measure": "whole_cover"})
