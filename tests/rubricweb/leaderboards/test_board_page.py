"""What the page of a board adds to the scores: columns, order, ranks, pauses, what it says in words."""

import html
import re
from urllib.parse import parse_qsl

import pytest
from django.urls import reverse

from rubricweb.banks.versions import name_version
from rubricweb.grades.humans import Cell, rate_cell
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.leaderboards import score_axis, sorting
from tests import factories
from tests.rubricweb.leaderboards.test_views import BOARD, HTMX, hidden, shown
from tests.rubricweb.markup import markup
from tests.worked import judge


def text_of(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_further_columns_stand_beside_the_score(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4,judgments/P_1"})

    of_each = "1.0000 ± 0.0000"
    assert shown(response)[0] == ["1-4", "both", "1.0000", "0.0000", of_each, of_each, "100 %", "2"]
    assert "P_1 by judgments 2 topics" in text_of(response)
    title = response.context["heads"][1].title
    assert "mean over all 2 topics with judgments; 1 without are left out" in title
    assert "P_1 by judgments" in text_of(response)
    assert response.context["query"].endswith("columns=P_1%3A4%2Cjudgments%2FP_1")


def test_columns_that_are_none_are_told_beside_their_control(made, viewer, client_of):
    response = client_of(viewer).get(BOARD, {"columns": "P_1,foo"})

    assert response.status_code == 422
    assert "no measure 'foo'; known are" in text_of(response)


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        ("", "both", "lacks"),
        ("score", "first", "both"),
        ("-score", "both", "lacks"),
        ("judged", "stray", "lacks"),
        ("topics", "lacks", "first"),
        ("P_1:4", "stray", "both"),
        ("-P_1:4", "both", "lacks"),
        ("x", "both", "lacks"),
    ],
)
def test_any_column_sorts(made, viewer, client_of, sort, first, last):
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4", "sort": sort})
    tags = [row[1] for row in shown(response)]

    assert (tags[0], tags[-1]) == (first, last)
    assert dict(parse_qsl(response.context["query"])).get("sort", "") == sort


def test_heads_sort_and_rank(made, viewer, client_of):
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4"})
    head, *_ = response.context["heads"]

    assert (head.order, sorting.changed("a=1&b=2", a="", c="3")) == ("", "b=2&c=3")
    ranked = client_of(viewer).get(f"{BOARD}?{head.ranks}")
    assert ranked.context["measure_name"] == "P_1"
    assert [column.token for column in ranked.context["board"].spec.columns] == ["rubric_cover"]
    falling = client_of(viewer).get(f"{BOARD}?{head.sorts}").context["heads"][0]
    assert (falling.order, "sort=P_1" in falling.sorts) == ("descending", True)


def test_the_rag24_measures_in_one_click(made, viewer, client_of):
    ((label, address),) = client_of(viewer).get(BOARD, {"kind": "question"}).context["sets"]
    board = client_of(viewer).get(f"{BOARD}?{address}").context["board"]

    assert label == "RAG'24 measures"
    assert (board.spec.measure.name, board.spec.measure.min_grade) == ("rubric_cover", 4)
    assert len(board.spec.columns) == 6
    assert "Nugget scores" in dict(client_of(viewer).get(BOARD, {"kind": "nugget"}).context["sets"])


def test_too_few_topics_are_no_finding(made, viewer, client_of):
    """With two topics the smallest p-value is .5: that nothing differs is no finding."""
    said = text_of(client_of(viewer).get(BOARD, {"test": "studentised"}))

    assert "With 2 topics no run can be clearly ahead." in said
    assert "apart with" not in said
    assert "clearly behind" not in said
    assert "least 0.2500, median 0.3750, best 1.0000" in said
    assert "a studentised max-T test over 2 topics leaves open, 5 % for all 6 pairs together" in said
    assert "it takes 6 topics" in said
    assert "main (questions and nuggets, 3 items" in said
    assert "as of now" in said


@pytest.fixture
def clear(collection):
    """Of 12 topics `good` covers all, `near` all but one, `bad` none."""
    bank = factories.gradable(collection, topics=12, passages=2, items=1)
    config = factories.lexical_config()
    runs = {tag: factories.RunFactory(collection=collection, run_tag=tag) for tag in ("good", "near", "bad")}
    for place, item in enumerate(bank.items.order_by("pk")):
        first, second = (pooled.passage for pooled in item.topic.pool.all())
        factories.grade(config, item, first, 5)
        factories.grade(config, item, second, 0)
        found = {"good": first, "near": first if place else second, "bad": second}
        for tag, run in runs.items():
            factories.RankingFactory(run=run, topic=item.topic, doc_ids=[found[tag].doc_id])
    return collection


def test_bands_part_who_is_clearly_behind(clear, developer, client_of):
    client = client_of(developer)
    said = text_of(client.get(BOARD))

    assert "good is first; 1 more is not clearly behind." in said
    assert "12 topics tell differences of" in said
    assert said.index("not clearly behind the first") < said.index(" near ") < said.index(" bad ")
    assert "clearly behind" in said[said.index(" near ") : said.index(" bad ")]
    by_name = client.get(BOARD, {"sort": "judged"})
    assert "board-band" not in markup(by_name), "in another order there are no bands"


def test_one_topic_says_nothing_of_others(made, viewer, client_of):
    response = client_of(viewer).get(BOARD, {"topic": "t1"})

    assert "One topic says nothing about others. So there are no ranks and no intervals." in text_of(response)
    assert [row[0] for row in shown(response)] == ["-"] * 4
    assert "only topic t1" in text_of(response)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"topic": "t9"}, "autumn has no topic t9"),
        ({"facet": "a"}, "name the topic of the subtopic a"),
        ({"topic": "t1", "facet": "a"}, "topic t1 has no items of subtopic a; there are none"),
        ({"version": "99"}, "not one of the available choices"),
        ({"source": "x"}, "not one of the available choices"),
        ({"relevant": "0"}, "greater than or equal to 1"),
        ({"definition": "workbench", "measure": "alpha_ndcg"}, "the Workbench does not define alpha_ndcg"),
    ],
)
def test_options_that_cannot_be(made, viewer, client_of, query, told):
    response = client_of(viewer).get(BOARD, query)

    assert response.status_code == 422
    assert told in text_of(response)


@pytest.mark.parametrize(
    ("name", "test"),
    [("t", "studentised"), ("randomisation", "sign_flips"), ("sign_flips", "sign_flips"), ("", "sign_flips")],
)
def test_paired_test_may_have_the_name_of_earlier_versions(made, viewer, client_of, name, test):
    """Addresses that people kept, and boards that were published, have it."""
    client = client_of(viewer)
    page = client.get(BOARD, {"test": name})
    assert (page.status_code, page.context["board"].test) == (200, test)
    assert (page.context["form"]["test"].value() or "sign_flips") == test
    assert client.get(reverse("api:leaderboard", args=["autumn"]), {"test": name}).json()["test"] == test


def test_a_version_of_another_bank_is_refused(made, viewer, client_of):
    other = factories.BankFactory(collection=made.collection, name="other")
    version = name_version(other, name="Old", by=viewer)
    mine = name_version(made.bank, name="Mine", by=viewer)

    assert "is no version of the bank main" in text_of(client_of(viewer).get(BOARD, {"version": version.pk}))
    board = client_of(viewer).get(BOARD, {"version": mine.pk})
    assert "version 1: Mine" in text_of(board)


def test_verified_cells_have_a_column(made, viewer, assessor, client_of):
    cell = Cell.of(made.items["t1"][0], made.passages["d1"])
    rate_cell(cell, rating=5, by=assessor, seen=0)
    response = client_of(viewer).get(BOARD)

    assert "People have rated or verified 1 of 8 cells." in text_of(response)
    assert "The board cannot tell: no campaign drew cells for it." in text_of(response)
    assert shown(response)[0] == ["1-4", "both", "1.0000", "0.0000", "100 %", "20 %", "2"]
    humans = client_of(viewer).get(BOARD, {"source": "humans"})
    assert "ratings people only" in text_of(humans)


def test_rows_that_a_job_will_change_are_greyed(made, viewer, client_of):
    made.items["t1"][0].revision.grades.all().delete()
    from rubricweb.grades.store import recount

    recount(made.config, made.topics["t1"].pk)
    job = GradingJob.objects.create(
        collection=made.collection, config=made.config, scope="x", total=3, state="running"
    )
    JobChunk.objects.create(job=job, number=1, topic=made.topics["t1"], cells=[], size=3)
    content = markup(client_of(viewer).get(BOARD))

    assert content.count(" data-current>") == 4
    assert "60\u202f% current" in content
    assert "A job is grading" in content


def test_updates_can_be_paused(made, viewer, client_of):
    client = client_of(viewer)
    live = client.get(BOARD)
    paused = client.get(f"{BOARD}?{live.context['pause']}")

    assert 'id="leaderboard-live"' in markup(live)
    assert 'id="leaderboard-live"' not in markup(paused)
    assert "Resume updates" in text_of(paused)
    again = client.get(f"{BOARD}?{paused.context['pause']}")
    assert 'id="leaderboard-live"' in markup(again)


def test_the_live_part_keeps_columns_and_order(made, viewer, client_of):
    client = client_of(viewer)
    page = client.get(BOARD, {"columns": "P_1:4", "sort": "score"})
    address = f"{BOARD}?{page.context['query']}"
    sent = hidden(page)
    made.bank.items.filter(topic=made.topics["t2"]).delete()
    part = client.get(address, {name: sent[name] for name in ("seen", "before", "digest")}, headers=HTMX)

    assert part.status_code == 200
    assert shown(client.get(address))[0][1] == "stray"


def test_dots_and_whiskers_share_an_axis():
    axis = score_axis.Axis(0.2, 0.7)
    assert (axis.at(0.2), axis.at(0.7)) == (score_axis.EDGE, score_axis.WIDTH - score_axis.EDGE)
    assert score_axis.Axis(0.5, 0.5).at(0.5) == score_axis.WIDTH / 2


def test_the_axis_ends_at_round_numbers(made, viewer, client_of):
    axis = client_of(viewer).get(BOARD).context["axis"]

    assert axis.ticks == [(12.0, "0.2"), (61.0, "0.4"), (110.0, "0.6"), (159.0, "0.8"), (208.0, "1.0")]


def test_the_leaders_are_compared_by_topic(made, viewer, client_of):
    """Runs `both` 1 and 1, `stray` 0 and 1, `first` and `lacks` 0.5 and 0 on the topics t1 and t2."""
    response = client_of(viewer).get(BOARD)
    table = response.context["leaders"]

    assert [(topic.query_id, grid) for topic, grid in table.topics] == [
        (
            name,
            reverse("editor:topic", args=[made.bank.pk, made.topics[name].pk])
            + f"?view=grid&grader={made.config.pk}",
        )
        for name in ("t1", "t2")
    ]
    assert [(tag, [cell.score for cell in cells]) for tag, cells in table.rows][:2] == [
        ("both", [1.0, 1.0]),
        ("stray", [0.0, 1.0]),
    ]
    assert [cell.shade for cell in table.rows[1][1]] == [0, 5]
    assert "Where the leaders differ" in text_of(response)
    assert "Where the leaders differ" not in text_of(client_of(viewer).get(BOARD, {"topic": "t1"}))


def test_a_chip_says_what_is_chosen_and_takes_it_back(made, viewer, client_of):
    form = (
        client_of(viewer).get(BOARD, {"min_grade": "3", "source": "humans", "sort": "score"}).context["form"]
    )
    chips = {chip.field.name: chip for chip in form.chips if chip.is_on}

    assert {name: chip.shown for name, chip in chips.items()} == {"min_grade": "3", "source": "people only"}
    assert chips["min_grade"].address_without == "source=humans&sort=score"
    assert [chip.field.name for chip in client_of(viewer).get(BOARD).context["form"].chips] == [
        *("measure", "min_grade", "cutoff")
    ]


@pytest.mark.parametrize("sort", ["score", "-score", "judgments/P_1", "-judgments/P_1"])
def test_rows_without_a_score_stand_last_whichever_way_a_column_is_sorted(made, viewer, client_of, sort):
    """`silent` answers only t3, which has neither items nor judgments."""
    judge(made)
    silent = factories.RunFactory(collection=made.collection, run_tag="silent")
    factories.RankingFactory(run=silent, topic=made.topics["t3"], doc_ids=["f1"])
    asked = {"missing": "skip", "columns": "judgments/P_1", "sort": sort}
    lines = client_of(viewer).get(BOARD, asked).context["lines"]
    tags = [line.row.run_tag for line in lines]
    assert tags[-1] == "silent"
    assert (tags[0] == "both") is sort.startswith("-")


@pytest.mark.parametrize(
    ("more", "marked"),
    [
        ({"both1": ["d1", "d2"], "both2": ["d1", "d2"], "both3": ["d1", "d2"]}, {}),
        ({"none": ["zz"]}, {"both": "85"}),
    ],
)
def test_only_runs_above_a_percentile_are_marked(made, viewer, client_of, more, marked):
    """Where four of seven runs share the best score, it is that of both percentiles: none is above."""
    for tag, doc_ids in more.items():
        run = factories.RunFactory(collection=made.collection, run_tag=tag)
        factories.RankingFactory(run=run, topic=made.topics["t1"], doc_ids=doc_ids)
        if tag != "none":
            factories.RankingFactory(run=run, topic=made.topics["t2"], doc_ids=["e2"])
    lines = client_of(viewer).get(BOARD).context["lines"]
    assert len(lines) == 4 + len(more)
    assert {line.row.run_tag: line.mark for line in lines if line.mark} == marked
