"""What the page of a board adds to the scores: columns, order, ranks, pauses, what it says in words."""

import html
import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qsl
from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.banks.actions import retire_item
from rubricweb.banks.versions import name_version
from rubricweb.corpus.official import put_official_board
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.leaderboards import board_page, plots, rank_changes
from rubricweb.leaderboards.board import columns, selectors
from tests import factories
from tests.rubricweb.leaderboards.test_views import BOARD, HTMX, hidden, shown
from tests.rubricweb.markup import markup
from tests.worked import judge


def text_of(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_further_columns_stand_beside_the_score(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4,judgments/P_1"})

    assert shown(response)[0] == ["1-4", "both", "1.0000", "1.0000", "1.0000"], "no error of 0 is written"
    assert shown(response)[1][3:] == ["0.5000 ± 0.5000", "0.5000 ± 0.5000"]
    assert "P_1 by judgments 2 topics" in text_of(response)
    title = response.context["heads"][2].title
    assert "mean over all 2 topics with judgments; 1 without are left out" in title
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
        ("P_1:4", "stray", "both"),
        ("-P_1:4", "both", "lacks"),
        ("x", "both", "lacks"),
    ],
)
def test_any_column_sorts(made, viewer, client_of, sort, first, last):
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4", "sort": sort})
    tags = [row[1].split()[0] for row in shown(response)]

    assert (tags[0], tags[-1]) == (first, last)
    assert dict(parse_qsl(response.context["query"])).get("sort", "") == sort


def test_heads_sort_and_rank(made, viewer, client_of):
    response = client_of(viewer).get(BOARD, {"columns": "P_1:4"})
    _, head = response.context["heads"]

    assert (head.order, columns.changed("a=1&b=2", a="", c="3")) == ("", "b=2&c=3")
    ranked = client_of(viewer).get(f"{BOARD}?{head.ranks}")
    assert ranked.context["measure_name"] == "P_1"
    assert [column.token for column in ranked.context["board"].spec.columns] == ["rubric_cover"]
    falling = client_of(viewer).get(f"{BOARD}?{head.sorts}").context["heads"][1]
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

    assert "4 runs. " in said
    assert "With 2 topics no run can be clearly ahead." in said
    assert "apart with" not in said
    assert "clearly behind" not in said
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
    lines = client.get(BOARD).context["lines"]
    assert [(line.row.run_tag, line.band, line.band_rows) for line in lines] == [
        ("good", "not clearly behind", 2),
        ("near", "not clearly behind", 0),
        ("bad", "clearly behind", 1),
    ]
    rising = client.get(BOARD, {"sort": "score"}).context["lines"]
    assert [(line.row.run_tag, line.band_rows) for line in rising] == [("bad", 1), ("near", 2), ("good", 0)]


def test_bands_are_whole_although_a_run_that_is_behind_scores_higher(
    clear, developer, client_of, monkeypatch
):
    """`near` stands for a run whose scores vary so much that nothing is clear of it."""
    board = selectors.board

    def mixed(spec):
        shown = board(spec)
        good, near, bad = shown.rows
        return replace(shown, rows=(good, replace(near, is_behind=True), replace(bad, is_behind=False)))

    monkeypatch.setattr(board_page.selectors, "board", mixed)
    client = client_of(developer)
    page = client.get(BOARD)
    bands = [(line.row.run_tag, line.band_rows) for line in page.context["lines"]]
    assert bands == [("good", 2), ("bad", 0), ("near", 1)]
    assert "score higher than runs that are not" in text_of(page)
    by_score = client.get(BOARD, {"sort": "-score"}).context["lines"]
    assert [(line.row.run_tag, line.band_rows) for line in by_score] == [("good", 1), ("near", 1), ("bad", 1)]


def test_one_topic_has_neither_ranks_nor_intervals(made, viewer, client_of):
    response = client_of(viewer).get(BOARD, {"topic": "t1"})

    assert "With one topic there are neither ranks nor intervals." in text_of(response)
    assert [row[0] for row in shown(response)] == ["-"] * 4
    assert "only topic t1" in text_of(response)


def test_topics_that_nobody_asked_about_are_named(made, viewer, developer, client_of):
    made.bank.items.filter(topic=made.topics["t2"]).delete()
    page = client_of(developer).get(BOARD)

    assert "Only 1 of 3 topics has questions. Write questions for" in text_of(page)
    assert reverse("review:topic", args=[made.bank.pk, made.topics["t2"].pk]) in markup(page)
    assert "Write questions for" not in text_of(client_of(viewer).get(BOARD))
    assert "topics have questions" not in text_of(client_of(developer).get(BOARD, {"topic": "t1"}))


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

    assert "is no version of the rubric main" in text_of(
        client_of(viewer).get(BOARD, {"version": version.pk})
    )
    board = client_of(viewer).get(BOARD, {"version": mine.pk})
    assert "version 1: Mine" in text_of(board)


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
    assert shown(client.get(address))[0][1].startswith("stray")


def test_the_axis_ends_at_round_numbers(made, viewer, client_of):
    axis = client_of(viewer).get(BOARD).context["axis"]

    assert axis.ticks == ((2.0, "0.2"), (26.0, "0.4"), (50.0, "0.6"), (74.0, "0.8"), (98.0, "1.0"))


def test_axis_is_cut_to_the_runs_that_lie_together():
    spreads = [plots.Spread(0.5 + place / 100, 0.45, 0.6) for place in range(8)]
    far = plots.Spread(0.04)
    axis = plots.dot_axis([far, *spreads])

    assert axis.start >= 0.4
    assert (axis.dot(far).is_off, axis.dot(spreads[0]).is_off) == (True, False)
    assert plots.dot_axis([*spreads[:3], far]).start < 0.04, "a few runs all stand on it"
    assert plots.dot_axis([]) is None


def test_dot_of_before_is_drawn_where_it_can_be_told_apart():
    axis = plots.DotAxis(0, 1, ())

    assert axis.dot(plots.Spread(0.5, before=0.4)).before == axis.at(0.4)
    assert axis.dot(plots.Spread(0.5, before=0.499)).before is None
    assert axis.dot(plots.Spread(0.5)).before is None


def test_strip_has_each_topic_the_easiest_first(made, viewer, client_of):
    """Runs `both` 1 and 1, `stray` 0 and 1, `first` and `lacks` 0.5 and 0 on the topics t1 and t2."""
    response = client_of(viewer).get(BOARD)
    both, stray, *_ = response.context["lines"]

    mark = r'<i data-grade="(\d)" data-tip="(\w+) · (t\d) [^"]* · ([^"]+)"></i>'
    strip = [("0", "stray", "t1", "0.00"), ("5", "stray", "t2", "1.00")]
    assert re.findall(mark, stray.topics) == strip
    assert [score for *_, score in re.findall(mark, both.topics)] == ["1.00", "1.00"]
    assert stray.topics in response.text
    assert [one.topic.name for one in response.context["parting"]] == ["t2", "t1"]


def test_change_since_the_last_look_is_drawn(made, viewer, client_of, time_machine_look):
    client = client_of(viewer)
    client.get(BOARD)
    item = made.items["t2"][0]
    retire_item(item, seen=item.version, by=None)
    time_machine_look(client)
    page = client.get(BOARD)
    changes = {line.row.run_tag: line.change for line in page.context["lines"] if line.change}

    assert {tag: (change.rose, change.difference) for tag, change in changes.items()} == {
        "first": (1, 0.25),
        "lacks": (1, 0.25),
        "stray": (-2, -0.5),
    }
    assert "3 runs moved. stray from 2 to 4, first from 3 to 2, lacks from 3 to 2." in text_of(page)
    assert markup(page).count('class="ghost"') == 3
    assert client.get(BOARD).context["lines"][1].change, "it stays for the visit"


@pytest.fixture
def time_machine_look():
    """Make the session's looks at boards a day older."""

    def age(client):
        session = client.session
        for look in session[rank_changes.LOOKS].values():
            look[0] = (timezone.now() - timedelta(days=1)).isoformat()
        session.save()

    return age


def test_official_scores_are_seen_before_there_is_a_bank(collection, viewer, client_of, tmp_path):
    path = tmp_path / "official.txt"
    path.write_text("aspen all NDCG 0.5\nbirch all NDCG 0.75\n", encoding="utf-8")
    put_official_board(collection, path, name="Track", by=None)
    collection.shows_run_tags = True
    collection.save()
    said = text_of(client_of(viewer).get(BOARD))

    assert "Official leaderboard: Track" in said
    assert said.index("0.7500") < said.index("0.5000")
    collection.shows_run_tags = False
    collection.save()
    hidden = text_of(client_of(viewer).get(BOARD))
    assert "birch" not in hidden
    assert "0.7500" not in hidden


def test_runs_that_a_track_lacks_stand_beside_the_board(made, viewer, client_of, tmp_path):
    path = tmp_path / "track.tsv"
    path.write_text("run_tag\trank\nboth\t3\nfirst\t27\nlacks\t34\n", encoding="utf-8")
    put_official_board(made.collection, path, name="Track", by=None)
    said = " ".join(text_of(client_of(viewer).get(BOARD)).split())

    assert "Where 1 other run would rank stray ≈ 3 The rank of the official run just above" in said
    assert "Source: track.tsv" in said


def test_task_and_team_are_told_to_who_sees_names(made, viewer, owner, client_of):
    made.collection.runs.update(task="generation", team="lantern")
    assert "generation · lantern" in text_of(client_of(viewer).get(BOARD))
    made.collection.shows_run_tags = False
    made.collection.save()
    assert "lantern" not in markup(client_of(viewer).get(BOARD))
    assert "generation · lantern" in text_of(client_of(owner).get(BOARD))


def test_plot_is_a_file_of_its_own(made, viewer, outsider, client_of):
    address = reverse("leaderboards:plot", args=["autumn"])
    response = client_of(viewer).get(address)

    assert response["Content-Type"] == "image/svg+xml"
    assert ET.fromstring(response.content).tag == "{http://www.w3.org/2000/svg}svg"
    assert response.content.count(b"<circle") == 4
    assert client_of(viewer).get(address, {"measure": "foo"}).status_code == 404
    assert client_of(outsider).get(address).status_code == 404


def test_a_chip_says_what_is_chosen_and_takes_it_back(made, viewer, client_of):
    form = (
        client_of(viewer).get(BOARD, {"min_grade": "3", "source": "humans", "sort": "score"}).context["form"]
    )
    chips = {chip.field.name: chip for chip in form.chips if chip.is_on}

    assert {name: chip.chosen for name, chip in chips.items()} == {"min_grade": "3", "source": "people only"}
    assert chips["min_grade"].address_without == "source=humans&sort=score"
    assert [chip.field.name for chip in client_of(viewer).get(BOARD).context["form"].chips] == [
        *("measure", "min_grade")
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
