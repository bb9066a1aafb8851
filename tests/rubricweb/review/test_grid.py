"""The grid: what it shows of the hand-worked topic, its filters, its window and its limits."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.banks.actions import retire_item
from tests.factories import (
    ItemFactory,
    PassageFactory,
    PooledFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    grade,
)
from tests.rubricweb.markup import markup


def shown(client, autumn, **address):
    """The doc ids of the rows, in order."""
    return [row.doc_id for row in client.get(autumn.grid, {"view": "grid", **address}).context["grid"].rows]


def columns(client, autumn, **address):
    return [
        column.name for column in client.get(autumn.grid, {"view": "grid", **address}).context["grid"].columns
    ]


def states(response):
    return {row.doc_id: [cell.state for cell in row.cells] for row in response.context["grid"].rows}


def test_failed_and_missing_are_never_zero(autumn, viewer, client_of):
    response = client_of(viewer).get(autumn.grid)
    assert states(response) == {
        "d1": ["5", "0", "0"],
        "d2": ["1", "0", "failed"],
        "d3": ["4", "0", "missing"],
        "d4": ["0", "0", "2"],
        "<b>d5": ["missing"] * 3,
        "d6": ["missing"] * 3,
    }
    html = markup(response)
    assert 'aria-label="passage d2, nugget 1, grading failed">✕<' in html
    assert 'aria-label="passage d3, nugget 1, not graded">\N{EN DASH}<' in html
    assert 'aria-label="passage d1, question 2, grade 0">0<' in html
    assert 'aria-label="passage d4, question 2, grade 0, defaulted" data-mark>0<' in html
    assert html.count("data-mark>") == 1


def test_rows_say_judgment_label_and_runs(autumn, viewer, client_of):
    grid = client_of(viewer).get(autumn.grid, {"view": "grid", "rows": "roomy"}).context["grid"]
    rows = {row.doc_id: row for row in grid.rows}
    assert [(r.judgment, r.label, r.covered) for r in rows.values()] == [
        (3, 5, 1), (2, 1, 0), (2, -1, 0), (1, 4, 1), (0, 2, 0), (None, -1, 0),
    ]  # fmt: skip
    assert [(run.run_tag, run.rank) for run in rows["d1"].runs] == [("bm25", 1), ("dense", 2)]
    assert [(run.run_tag, run.rank) for run in rows["d3"].runs] == [("dense", 1), ("bm25", 3)]
    assert rows["d6"].runs == ()


def test_rows_begin_with_the_first_words(autumn, viewer, client_of):
    rows = client_of(viewer).get(autumn.grid).context["grid"].rows
    texts = dict(autumn.collection.passages.values_list("doc_id", "text"))
    assert all(row.excerpt == " ".join(texts[row.doc_id][:120].split()) for row in rows)


def test_the_toolbar_offers_what_is_worth_a_look(autumn, viewer, client_of):
    client = client_of(viewer)
    offers = client.get(autumn.grid).context["grid"].offers
    assert [(offer.name, offer.passages) for offer in offers] == [
        ("uncovered", 1), ("disagree", 2), ("failed", 1),
    ]  # fmt: skip
    taken = client.get(autumn.grid, {"view": "grid", "show": "failed"}).context["grid"].offers
    assert [offer.name for offer in taken] == ["uncovered", "disagree"]


def test_what_filters_can_be_taken_back(autumn, viewer, client_of):
    address = {"show": "failed", "min_grade": 3, "order": "bank", "page": 2, "rows": "compact"}
    form = client_of(viewer).get(autumn.grid, {"view": "grid", **address}).context["form"]
    chips = {chip.field.name: chip for chip in form.chips if chip.is_on}
    assert not form.errors
    assert {name: chip.chosen for name, chip in chips.items()} == {
        "show": "with failed grades",
        "min_grade": "3",
    }
    assert chips["show"].address_without == "view=grid&min_grade=3&order=bank&rows=compact"
    assert not any(chip.is_on for chip in client_of(viewer).get(autumn.grid).context["form"].chips)


def test_heads_say_coverage_and_spurious_rate(autumn, viewer, client_of):
    first, second, nugget = client_of(viewer).get(autumn.grid).context["grid"].columns
    assert (first.name, second.name, nugget.name) == ("question 1", "question 2", "nugget 1")
    # Q1: d1 and d3 of four rated passages; of the two not relevant ones d3.
    assert (first.covered, first.spurious, first.is_spurious) == (0.5, 0.5, True)
    assert (second.covered, second.is_covering_nobody) == (0.0, True)
    # N1: d1 and d4 are rated, d2 failed and does not count.
    assert (nugget.covered, nugget.spurious) == (0.0, 0.0)
    assert [column.mean_grade for column in (first, second, nugget)] == ["2.50", "0.00", "1.00"]


@pytest.mark.parametrize(
    ("show", "doc_ids"),
    [
        ("all", ["d1", "d2", "d6", "d3", "d4", "<b>d5"]),
        ("uncovered", ["d2"]),
        ("disagree", ["d2", "d3"]),
        ("failed", ["d2"]),
        ("missing", ["d6", "d3", "<b>d5"]),
        ("ungraded-relevant", ["d6"]),
    ],
)
def test_filters(autumn, viewer, client_of, show, doc_ids):
    assert shown(client_of(viewer), autumn, show=show) == doc_ids


def test_passages_that_cover_at_least_so_many_items(autumn, viewer, client_of):
    client = client_of(viewer)
    assert shown(client, autumn, covers=1) == ["d1", "d3"]
    assert shown(client, autumn, covers=2) == []
    assert set(shown(client, autumn, covers=1, min_grade=1)) == {"d1", "d2", "d3", "d4"}


@pytest.mark.parametrize(
    ("sort", "doc_ids"),
    [
        ("pool", ["d1", "d2", "d3", "d4", "<b>d5", "d6"]),
        ("label", ["d1", "d3", "d4", "d2", "<b>d5", "d6"]),
        # |judgment/3 - label/5|: d3 7/15, d2 7/15, d4 6/15, d1 0; the others lack one of the two.
        ("disagreement", ["d2", "d3", "d4", "d1", "<b>d5", "d6"]),
        ("covered", ["d1", "d3", "d2", "d4", "<b>d5", "d6"]),
    ],
)
def test_sorts(autumn, viewer, client_of, sort, doc_ids):
    assert shown(client_of(viewer), autumn, sort=sort, groups="none") == doc_ids


def test_passages_of_one_judgment_stand_together_and_are_sorted_among_themselves(autumn, viewer, client_of):
    response = client_of(viewer).get(autumn.grid, {"view": "grid", "sort": "label"})
    rows = response.context["grid"].rows
    assert [row.doc_id for row in rows] == ["d1", "d2", "d6", "d3", "d4", "<b>d5"]
    groups = [(row.doc_id, row.group) for row in rows if row.group]
    assert [(doc_id, group.judgment, group.is_relevant, group.passages) for doc_id, group in groups] == [
        ("d1", 3, True, 1), ("d2", 2, True, 2), ("d3", 1, False, 1), ("d4", 0, False, 1),
        ("<b>d5", None, False, 1),
    ]  # fmt: skip
    assert "Judged 2" in markup(response)
    assert "Not judged" in markup(response)
    alone = client_of(viewer).get(autumn.grid, {"view": "grid", "show": "failed"}).context["grid"].rows
    assert [row.group for row in alone] == [None], "one group needs no line"


def test_a_run_shows_its_passages_in_its_order(autumn, viewer, client_of):
    assert shown(client_of(viewer), autumn, run="dense", groups="none") == ["d3", "d1"]


def test_min_grade_moves_what_covers(autumn, viewer, client_of):
    assert shown(client_of(viewer), autumn, show="uncovered", min_grade=1) == []
    assert shown(client_of(viewer), autumn, show="disagree", min_grade=5) == ["d2"]


def test_items_are_chosen_by_kind_and_by_what_is_wrong(autumn, viewer, client_of):
    client = client_of(viewer)
    assert columns(client, autumn, kind="nugget") == ["nugget 1"]
    assert columns(client, autumn, items="nobody") == ["question 2", "nugget 1"]
    assert columns(client, autumn, items="spurious") == ["question 1"]
    assert columns(client, autumn, items="unknown") == []


def test_retired_items_leave_the_grid(autumn, owner, client_of):
    retire_item(autumn.items[0], seen=autumn.items[0].version, by=owner)
    assert columns(client_of(owner), autumn) == ["question 1", "nugget 1"]
    assert shown(client_of(owner), autumn, show="uncovered") == ["d1", "d2"]


def test_wrong_values_are_named_and_the_default_stands(autumn, viewer, client_of):
    response = client_of(viewer).get(
        autumn.grid, {"view": "grid", "show": "everything", "min_grade": "9", "page": "x"}
    )
    assert response.status_code == 200
    assert len(response.context["grid"].rows) == 6
    html = markup(response)
    assert "everything is not one of the available choices" in html
    assert "less than or equal to 5" in html


def test_words_of_others_are_escaped(autumn, viewer, client_of):
    html = markup(client_of(viewer).get(autumn.grid))
    assert "What does &lt;script&gt; do to a leaf?" in html
    assert "&lt;b&gt;d5" in html
    assert "<b>d5" not in html
    assert not re.search(r'<script(?! id="texts")(?![^>]*\bsrc=)', html)


def test_of_a_passage_only_the_first_words_travel_with_the_grid(autumn, viewer, client_of):
    autumn.collection.passages.filter(doc_id="d2").update(text="Maples are planted. " * 20)
    html = markup(client_of(viewer).get(autumn.grid))
    assert html.count("Maples are planted") == 6


def test_aria(autumn, viewer, client_of):
    html = markup(client_of(viewer).get(autumn.grid, {"view": "grid", "show": "failed"}))
    assert re.search(r'<table id="grid"[^>]*role="grid"[^>]*aria-rowcount="2" aria-colcount="4"', html)
    assert '<tr aria-rowindex="2">' in html
    cells = re.findall(r'<td aria-colindex="(\d+)" data-item="(\w+)"', html)
    assert cells == [("2", "Q1"), ("3", "Q2"), ("4", "N1")]


def test_windows(autumn, viewer, client_of):
    for n in range(60):
        PooledFactory(
            topic=autumn.topic, passage=PassageFactory(collection=autumn.collection), position=100 + n
        )
    for n in range(35):
        ItemFactory(bank=autumn.bank, topic=autumn.topic, kind="nugget", text=f"fact {n}")
    client = client_of(viewer)
    first, second = (
        client.get(autumn.grid, {"view": "grid", "page": page}).context["grid"] for page in (1, 2)
    )
    assert (len(first.rows), len(second.rows), second.rows[0].number) == (36, 30, 37)
    assert len(first.columns) == 30
    response = client.get(autumn.grid, {"view": "grid", "columns": 2})
    assert len(response.context["grid"].columns) == 8
    assert 'aria-colindex="32"' in markup(response)
    assert len(client.get(autumn.grid).content) < 300_000


def test_more_passages_and_runs_take_no_more_queries(autumn, viewer, client_of):
    client, roomy = client_of(viewer), {"view": "grid", "rows": "roomy"}
    client.get(autumn.grid, roomy)
    with CaptureQueriesContext(connection) as few:
        client.get(autumn.grid, roomy)
    for n in range(30):
        passage = PassageFactory(collection=autumn.collection)
        PooledFactory(topic=autumn.topic, passage=passage, position=100 + n)
        grade(autumn.config, autumn.items[0], passage, 3)
    for run in RunFactory.create_batch(5, collection=autumn.collection):
        RankingFactory(run=run, topic=autumn.topic, doc_ids=["d1"])
    autumn.collection.stamp += 1
    autumn.collection.save()
    client.get(autumn.grid, roomy)
    with CaptureQueriesContext(connection) as many:
        grid = client.get(autumn.grid, roomy).context["grid"]
    assert (len(grid.rows), grid.rows[0].run_count, len(grid.rows[0].runs)) == (36, 7, 3)
    assert len(many) == len(few) <= 23


def test_htmx_gets_the_table_and_the_counts(autumn, viewer, client_of):
    html = markup(client_of(viewer).get(autumn.grid, headers={"HX-Request": "true"}))
    assert html.strip().startswith('<table id="grid"')
    assert html.count("hx-swap-oob") == 1
    assert "7 grades missing" in html
    assert "<html" not in html


def test_access(autumn, viewer, outsider, client_of, client):
    assert client_of(outsider).get(autumn.grid).status_code == 404
    assert client_of(viewer).post(autumn.grid).status_code == 405
    assert client.get(autumn.grid).status_code == 302
    elsewhere = TopicFactory()
    wrong = f"/review/banks/{autumn.bank.pk}/topics/{elsewhere.pk}/?view=grid"
    assert client_of(viewer).get(wrong).status_code == 404
