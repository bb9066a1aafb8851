"""How sure are we: its pictures, files and tables, for every role and under every option."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile

import pytest
from django.urls import reverse

from rubricweb.banks.changes import hide_item
from rubricweb.banks.models import ItemRevision
from rubricweb.core.models import new_stamp
from rubricweb.grades.human_models import Draw
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.selectors import graders_of
from rubricweb.leaderboards.sure.pictures import PICTURES
from rubricweb.leaderboards.sure.tables import TABLES
from tests import factories
from tests.factories import gradable
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign
from tests.worked import judge

pytestmark = pytest.mark.portable

SURE = "/collections/autumn/leaderboards/sure/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def picture(response, name):
    return next(drawn for drawn in response.context["pictures"] if drawn.name == name)


@pytest.fixture
def rated(made, assessor):
    """The grader's cells as an assessor rated them, one grade lower where there is room."""
    rows = Grade.objects.filter(config=made.config, outcome="numeric").select_related("revision")
    cells = {Cell(row.revision.topic_id, row.revision_id, row.passage_id): row.rating for row in rows}
    for cell, rating in cells.items():
        rate_cell(cell, rating=max(rating - 1, 0), by=assessor, seen=0)
    return cells


def test_runs_are_drawn_by_people_and_by_the_grader(made, viewer, client_of):
    judge(made)
    order = picture(client_of(viewer).get(SURE), "order")
    assert order.title == "Too few runs to compare with people's order"
    assert order.plot.body.count("<circle") == 4
    assert [(fact.label, fact.value) for fact in order.facts] == [("n", "4 runs, 2 topics")]
    both = dict(zip(order.sheet.data.columns, order.sheet.data.rows[0], strict=True))
    assert (both["run_tag"], both["grader"], both["rank"], both["their_rank"]) == ("both", 1, 1, 1)


def test_passages_are_drawn_by_grade_and_judgment(made, viewer, client_of):
    judge(made)
    judged = picture(client_of(viewer).get(SURE), "judged")
    assert judged.title == "Too few judged passages to compare: 4"
    assert "1 judged 3: 100 % of grade 5" in judged.plot.body
    assert ("\N{GREEK SMALL LETTER KAPPA}", "0.50") in [(fact.label, fact.value) for fact in judged.facts]


def test_only_cells_drawn_at_random_count_for_reliability(made, rated, owner, viewer, client_of):
    """Whoever chooses cells looks at what seems wrong."""
    response = client_of(viewer).get(SURE)
    confirmed = picture(response, "confirmed")
    assert (confirmed.plot, confirmed.title) == (None, "No randomly drawn pair has been rated")
    assert f"no card yet; people have rated {len(rated)} of its pairs" in text(response), (
        "and these are counted"
    )

    revisions = [item.revision_id for item in made.bank.items.all()]
    draw = Draw.objects.create(collection=made.collection, design=Draw.Design.CELLS, revisions=revisions)
    drawn = list(rated)[:3]
    for cell in drawn:
        rate_cell(cell, rating=max(rated[cell] - 1, 0), by=owner, seen=0, draw=draw.pk)
    confirmed = picture(client_of(viewer).get(SURE), "confirmed")
    assert confirmed.title == "Too few pairs drawn at random: 3"
    assert "hollow" in confirmed.plot.body, "fewer than ten of a grade"
    columns = confirmed.sheet.data.columns
    rows = [dict(zip(columns, row, strict=True)) for row in confirmed.sheet.data.rows]
    assert [row["cells"] for row in rows] == [
        sum(rated[cell] == grade for cell in drawn) for grade in range(6)
    ]
    assert [row["covered"] for row in rows] == [
        sum(rated[cell] == grade and grade > 4 for cell in drawn) for grade in range(6)
    ]


def test_a_check_is_offered_of_a_rubric_that_people_can_read(made, owner, client_of):
    other = made.collection.banks.create(name="Another")
    response = client_of(owner).get(SURE)
    query = {"bank": made.bank.pk, "grader": made.config.pk}
    address = reverse("campaigns:campaign-new", args=["autumn"], query=query)
    assert markup(response).count(f'href="{html.escape(address)}">Start a check') == 2
    form = client_of(owner).get(address).context["form"]
    assert form.fields["bank"].initial == str(made.bank.pk)
    form = client_of(owner).get(address.replace(f"bank={made.bank.pk}", f"bank={other.pk}")).context["form"]
    assert form.fields["bank"].initial == str(other.pk)

    ItemRevision.objects.filter(items__bank=made.bank).update(text="")
    page = client_of(owner).get(SURE)
    assert "Start a check" not in text(page)
    assert picture(page, "confirmed").title == "This rubric cannot be checked"


def test_items_are_drawn_by_what_the_board_would_be_without_them(made, viewer, client_of):
    items = picture(client_of(viewer).get(SURE), "items")
    assert items.plot.body.count("bar plus") == 3
    assert "t1  Which pigment makes leaves red?" in items.plot.body
    grid = reverse("review:topic", args=[made.bank.pk, made.topics["t1"].pk], query={"view": "grid"})
    assert f'href="{grid}"' in items.plot.body
    rows = [dict(zip(items.sheet.data.columns, row, strict=True)) for row in items.sheet.data.rows]
    red = next(row for row in rows if row["text"].startswith("Which pigment"))
    assert (red["topic"], red["share_of_runs"], red["share_of_passages"]) == ("t1", 0.5, 1 / 3)


def test_each_threshold_opens_its_board_and_changes_nothing(made, viewer, client_of):
    judge(made)
    thresholds = picture(client_of(viewer).get(SURE), "thresholds")
    links = re.findall(r'<a href="([^"]+)"', thresholds.plot.body)
    assert [re.search(r"min_grade=(\d)", link)[1] for link in links] == ["1", "2", "3", "4", "5"]
    assert all(link.startswith(reverse("leaderboards:board", args=["autumn"])) for link in links)
    assert client_of(viewer).get(html.unescape(links[0])).status_code == 200


def test_without_judgments_the_frame_says_what_fills_it(made, viewer, client_of):
    response = client_of(viewer).get(SURE)
    order = picture(response, "order")
    assert (order.plot, order.title) == (None, "Nothing to compare the order with")
    assert order.href == reverse("imports:imports", args=["autumn"])
    assert picture(response, "thresholds").plot is None


def test_other_graders_are_laid_over(made, viewer, client_of):
    judge(made)
    other = GraderConfig.objects.get(pk=made.config.pk)
    other.pk, other.llm, other.fingerprint = None, "another", "f" * 64
    other.save()
    for item in made.items["t1"]:
        factories.grade(other, item, made.passages["d1"], 5)
    assert other in graders_of(made.bank)
    client = client_of(viewer)
    plain, laid = (client.get(SURE, query) for query in ({}, {"others": "1"}))
    assert "Other graders 1" in text(plain)
    assert "series-1" not in picture(plain, "order").plot.body
    for name in ("order", "thresholds"):
        assert "series-1" in picture(laid, name).plot.body


def test_an_empty_collection_says_what_comes_first(viewer, client_of):
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    response = client_of(viewer).get(SURE.replace("autumn", "empty"))
    assert response.status_code == 200
    assert "pictures" not in response.context


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"measure": "precision"}, "no measure 'precision'"),
        ({"min_grade": "6"}, "less than or equal to 5"),
        ({"reference": "official:nobody"}, "not one of the available choices"),
        ({"topics": "kind=other"}, "kind"),
        ({"depth": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_drawn_is_explained(made, viewer, client_of, query, message):
    judge(made)
    response = client_of(viewer).get(SURE, query)
    assert response.status_code == 422
    assert message in text(response)


def test_roles_and_parts(made, viewer, outsider, participant, client_of, django_assert_max_num_queries):
    judge(made)
    for person in (outsider, participant):
        assert client_of(person).get(SURE).status_code == 404
    client = client_of(viewer)
    assert client.post(SURE).status_code == 405
    part = client.get(SURE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="sure"')
    with django_assert_max_num_queries(22):
        client.get(SURE)


@pytest.mark.parametrize("table", [*TABLES, ""])
def test_every_table_under_every_option(rich, viewer, client_of, table):
    judge(rich)
    client = client_of(viewer)
    for options in (
        {"source": "humans", "measure": "weighted_cover"},
        {"units": "subtopics", "missing": "skip"},
        {"units": "subtopics", "topic": "t1"},
        {"topic": "t1", "facet": "a", "definition": "workbench"},
        {"topic": "t3", "measure": "ndcg_cut_10"},
    ):
        response = client.get(SURE, {"table": table, **options})
        assert response.status_code == 200
        assert "nan" not in text(response).split()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_and_its_file_have_the_same_rows(made, viewer, client_of, name):
    judge(made)
    client = client_of(viewer)
    sheet = client.get(SURE, {"table": name}).context["sheet"]
    file = client.get(SURE, {"form": f"{name}.tsv"})
    assert file["Content-Disposition"] == f'attachment; filename="autumn-{name}.tsv"'
    lines = [line for line in file.content.decode().splitlines() if line and not line.startswith("# ")]
    assert len(lines) == 1 + len(sheet.data.rows) or not sheet.data.rows


def test_pictures_are_files_alone_and_together(made, viewer, client_of):
    judge(made)
    client = client_of(viewer)
    svg = client.get(SURE, {"form": "order.svg"})
    assert svg["Content-Type"] == "image/svg+xml"
    assert svg.content.startswith(b'<svg xmlns="http://www.w3.org/2000/svg"')
    assert b"# compared with: human judgments" in client.get(SURE, {"form": "order.tsv"}).content
    assert b"\\begin{tabular}" in client.get(SURE, {"form": "order.tex"}).content
    with zipfile.ZipFile(io.BytesIO(client.get(SURE, {"form": "all.zip"}).content)) as archive:
        names = set(archive.namelist())
    drawn = set(PICTURES) - {"confirmed"}
    assert names == {f"{name}.{kind}" for name in drawn for kind in ("svg", "tsv")}
    for name in ("nothing.tsv", "order.exe", "confirmed.svg", "assessors.tsv"):
        assert client.get(SURE, {"form": name}).status_code == 404, name


def test_all_graders_and_labels_are_json_too(made, viewer, client_of):
    judge(made)
    graders, labels = (
        json.loads(client_of(viewer).get(SURE, {"form": f"{name}.json"}).content)
        for name in ("graders", "labels")
    )
    assert graders["against"] == "judgments"
    assert labels["graders"][0]["binary"] == [[2, 1], [0, 1]]


def test_a_slice_of_topics_holds_for_the_order(made, viewer, client_of):
    judge(made)
    topic = made.topics["t1"]
    topic.attributes = {"kind": "what"}
    topic.save()
    response = client_of(viewer).get(SURE, {"topics": "kind=what"})
    assert picture(response, "order").facts[0].value == "3 runs, 1 topic"
    assert "kind = what" in str(picture(response, "order").sheet.data.stated)


def test_assessors_are_for_those_who_edit_banks(made, rated, owner, viewer, assessor, client_of):
    for cell, rating in list(rated.items())[:2]:
        rate_cell(cell, rating=rating, by=owner, seen=0)
    assert client_of(viewer).get(SURE).context["assessors"] is None
    client = client_of(owner)
    section = client.get(SURE).context["assessors"]
    assert (section.view.overall.raters, section.view.overall.cells) == (2, 2)
    page = text(client.get(SURE))
    assert "Too few pairs have two ratings" in page
    assert "too few (2 pairs)" in page
    assert str(assessor) not in page
    assert str(assessor) in text(client.get(SURE, {"names": "1"}))
    file = client.get(SURE, {"form": "assessors.tsv"}).content.decode()
    assert "assessor\twith\tcells\tsame" in file
    assert client_of(viewer).get(SURE, {"form": "assessors.tsv"}).status_code == 404


def test_assessors_are_shown_without_any_grader(collection, owner, assessor, client_of):
    bank = gradable(collection, topics=1, passages=2, items=1)
    item = bank.items.select_related("topic").get()
    cell = Cell.of(item, item.topic.pool.first().passage)
    for person in (owner, assessor):
        rate_cell(cell, rating=4, by=person, seen=0)
    page = client_of(owner).get(SURE)
    assert "pictures" not in page.context
    assert "Too few pairs have two ratings" in text(page)


def test_what_people_rated_is_no_number_for_those_who_still_rate_blind(
    made, owner, assessor, viewer, client_of
):
    cell = Cell.of(made.items["t1"][0], made.passages["d1"])
    rate_cell(cell, rating=4, by=owner, seen=0)
    blind_campaign(made.bank, by=owner, assignees=[assessor])
    response = client_of(assessor).get(SURE)
    assert picture(response, "confirmed").title == "Hidden until you have rated your blind pairs"
    assert response.context["checked"] == ""
    assert "people have rated" not in text(response)
    assert "people have rated 1 of its pairs" in text(client_of(viewer).get(SURE))


def test_a_table_is_in_the_page_once_its_reader_opens_it(made, rated, owner, client_of):
    judge(made)
    client = client_of(owner)
    page = markup(client.get(SURE))
    assert "tabular" not in page
    for name in ("order", "judged", "items", "thresholds"):
        address = f"?others=1&amp;table={name}"
        assert f'hx-get="{address}"' in markup(client.get(SURE, {"others": "1"}))
        opened = markup(client.get(SURE, {"others": "1", "table": name}))
        assert opened.count("<pre") == 2
        assert f'id="{name}-tex"' in opened
        assert f'hx-get="{address}"' not in opened
    assert 'id="assessors-by-tsv"' in markup(client.get(SURE, {"table": "assessors"}))


def test_a_changed_grade_is_seen_at_once(made, viewer, client_of):
    judge(made)
    client = client_of(viewer)
    before = [picture(client.get(SURE), name).plot.body for name in ("order", "judged", "items")]
    assert before == [picture(client.get(SURE), name).plot.body for name in ("order", "judged", "items")]
    Grade.objects.filter(config=made.config, passage=made.passages["d1"]).update(rating=1)
    MatrixStamp.objects.filter(config=made.config).update(number=new_stamp())
    after = [picture(client.get(SURE), name).plot.body for name in ("order", "judged", "items")]
    assert all(then != now for then, now in zip(before, after, strict=True))


def test_a_secret_item_is_drawn_for_those_who_may_see_it(made, viewer, developer, client_of):
    item = made.items["t1"][0]
    hide_item(item, seen=item.version, by=None)
    assert item.revision.text not in picture(client_of(viewer).get(SURE), "items").plot.body
    assert item.revision.text in picture(client_of(developer).get(SURE), "items").plot.body
    for person in (viewer, developer):
        assert item.revision.text not in client_of(person).get(SURE, {"form": "items.tsv"}).text
