"""A dear grader is asked only where cheap ones are unsure: priced, capped and planned like any job."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from grading.statistics.panel import PanelRule
from rubricweb.grades import actions
from rubricweb.grades.configs import active_configs, config_for
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.gaps import Doubt, doubt_by, doubtful_cells
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.panels import PanelChoice, panel_config
from rubricweb.grades.store import GradeRow, save_grades
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.markup import markup

SPLIT = {0: (5, 5, 1), 1: (0, 4, 0), 2: (0, 4, 5)}
"""Votes on the first pairs; on all others the three agree."""
DEAR = ["--backend", "scripted", "--llm", "dear", "--prompt-class", "LexicalBaseline"]


@pytest.fixture
def cheap(collection, script, settings, redis_server) -> list[GraderConfig]:
    """Three graders of 12 pairs."""
    settings.PRICES = {"dear": 1_000_000.0}
    gradable(collection, topics=2, passages=3, items=2)
    collection.grader_backend, collection.grader_llm = "scripted", "dear"
    collection.save()
    graders = [config_for("scripted", name, "LexicalBaseline") for name in "abc"]
    for number, cell in enumerate(cells(collection)):
        for place, grader in enumerate(graders):
            rating = SPLIT.get(number, (5, 5, 4) if number % 2 else (0, 0, 1))[place]
            save_grades(grader, [GradeRow(*cell, rating, "numeric", confidence=0.5 if number < 2 else 0.9)])
    return graders


@pytest.fixture
def panel(collection, cheap, run) -> GraderConfig:
    config = panel_config(cheap, PanelChoice(PanelRule.MEDIAN))
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    run(job)
    return config


def cells(collection):
    for topic in collection.topics.order_by("pk"):
        for item in topic.items.order_by("pk"):
            for pooled in topic.pool.order_by("pk"):
                yield topic.pk, item.revision_id, pooled.passage_id


def pairs_of(gaps):
    return {pair for gap in gaps for row in gap.pairs_by_passage() for pair in row}


def test_only_pairs_on_which_the_members_disagree_are_planned_priced_and_graded(
    collection, cheap, panel, script, run, client_of, owner, assessor
):
    split = {cell[1:] for cell, _ in zip(cells(collection), SPLIT, strict=False)}
    assert pairs_of(doubtful_cells(collection, Doubt((panel,)))) == split
    whole, scope = (monitor.Scope(None, None, doubt) for doubt in (None, doubt_by(collection, panel.pk)))
    every, some = (monitor.gap(collection, each) for each in (whole, scope))
    assert (every.cells, some.cells) == (12, 3)
    assert some.price.dollars < every.price.dollars / 3.5
    page = markup(client_of(owner).get(f"/collections/autumn/grades/jobs/?missing=1&unsure={panel.pk}"))
    assert "Only pairs on which the members of Panel of a, b and c disagree." in " ".join(page.split())
    start = "/collections/autumn/grades/jobs/start/"
    collection.assessors_grade_up_to = round(some.price.dollars * 0.9)
    collection.save()
    client_of(assessor).post(start, {"unsure": panel.pk})
    assert not collection.jobs.filter(config__llm="dear").exists()
    collection.assessors_grade_up_to = round(some.price.dollars * 1.1)
    collection.save()
    client_of(assessor).post(start, {"unsure": panel.pk})
    job = collection.jobs.get(config__llm="dear")
    assert job.total == 3
    script(lambda number, pair: iter([scripted.rated(pair, 3)]))
    run(job)
    (dear,) = active_configs(collection)
    assert set(Grade.objects.by(dear).values_list("revision", "passage")) == split
    assert monitor.gap(collection, scope).cells == 0
    both = panel_config([dear, *cheap], PanelChoice(PanelRule.FIRST))
    run(actions.start_grading(collection, by=None, configs=[both])[0])
    rated = list(Grade.objects.by(both).order_by("revision", "passage").values_list("reply", "rating"))
    assert [rating for reply, rating in rated if reply[0] != "-"] == [3, 3, 3]
    assert len(rated) == 12


def test_a_grader_that_is_no_panel_is_unsure_below_a_confidence_or_where_it_failed(collection, cheap):
    first, second, third, *_ = (cell[1:] for cell in cells(collection))
    doubt = doubt_by(collection, cheap[0].pk)
    assert pairs_of(doubtful_cells(collection, doubt)) == {first, second}
    assert len(pairs_of(doubtful_cells(collection, doubt_by(collection, cheap[0].pk, 0.95)))) == 12
    Grade.objects.by(cheap[0]).filter(revision=third[0], passage=third[1]).update(
        outcome="failed", rating=None, confidence=None
    )
    assert pairs_of(doubtful_cells(collection, doubt)) == {first, second, third}


def test_the_command_and_the_api_take_the_same_doubt(collection, cheap, panel, client_of, owner):
    out = StringIO()
    asked = ["grade", "autumn", *DEAR, "--where-unsure", str(panel.pk), "--dry-run", "--json"]
    call_command(*asked, stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["dry_run"]["cells"] == 3
    with pytest.raises(CommandError, match="no grader 77"):
        call_command("grade", "autumn", *DEAR, "--where-unsure", "77")
    with pytest.raises(CommandError, match="--below says"):
        call_command("grade", "autumn", *DEAR, "--below", "0.5")
    client = client_of(owner)
    plan = client.post(
        "/api/v1/collections/autumn/jobs/plan/", {"unsure": cheap[0].pk, "below": 0.6}, "application/json"
    )
    assert plan.json()["cells"] == 2
    assert (
        client.post("/api/v1/collections/autumn/jobs/plan/", {"unsure": 77}, "application/json").status_code
        == 404
    )
    call_command("grade", "autumn", *DEAR, "--where-unsure", str(panel.pk), stderr=StringIO())
    assert collection.jobs.get(config__llm="dear").total == 3
