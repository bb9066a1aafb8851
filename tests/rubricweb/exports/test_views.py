"""The export page and its downloads."""

import html
import json

import pytest

from rubricweb.banks.actions import retire_item
from rubricweb.banks.versions import name_version
from tests import factories
from tests.rubricweb.markup import markup

PAGE, QRELS, TSV = (
    "/collections/autumn/releases/",
    "/collections/autumn/exports/qrels/",
    "/collections/autumn/exports/leaderboard/",
)
HTMX = {"HX-Request": "true"}


def text(response):
    return b"".join(response.streaming_content).decode()


def test_the_page_previews_the_qrels(made, viewer, client_of):
    response = client_of(viewer).get(PAGE)
    content = markup(response)

    assert response.status_code == 200
    for shown in ("t1 0 d1 5", "autumn_lexical_LexicalBaseline_main_max.qrels", "<dt>lines</dt><dd>5</dd>"):
        assert shown in content
    assert f"{QRELS}?grader={made.config.pk}&amp;bank={made.bank.pk}" in content


def test_the_preview_follows_the_form(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"mode": "binary"}, headers=HTMX)
    content = markup(response)

    assert content.lstrip().startswith('<div id="share"')
    assert "t1 0 d3 0" in content


def test_the_page_takes_the_parameters_of_the_board(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"measure": "P_20", "min_grade": "3"})

    assert response.context["form"]["measure"].value() == "P_20"
    assert response.context["labels"].spec.measure.min_grade == 3


@pytest.mark.parametrize(
    "query", [{"mode": "mean"}, {"measure": "foo"}, {"grader": "0"}, {"min_answers": "x"}]
)
def test_what_there_is_not_is_told(made, viewer, client_of, query):
    response = client_of(viewer).get(PAGE, query)

    assert response.status_code == 422
    assert "field-error" in markup(response)


def test_without_grades_the_page_says_what_to_do(collection, viewer, client_of):
    assert "No grades yet" in markup(client_of(viewer).get(PAGE))


def test_what_the_qrels_will_not_say_is_listed_before(made, viewer, client_of):
    content = markup(client_of(viewer).get(PAGE))
    lost = "topic t1, passage d3: that its label stands on 1 of 2 items"
    assert f"<li>{lost}</li>" in content
    listed = client_of(viewer).get(f"{QRELS}losses/", {"bank": made.bank.pk})
    assert listed["Content-Disposition"].endswith('_max.qrels.losses.txt"')
    assert lost in b"".join(listed.streaming_content).decode().splitlines()
    assert client_of(viewer).get(f"{QRELS}losses/", {"mode": "mean"}).status_code == 302


def test_the_qrels_file(made, viewer, client_of):
    response = client_of(viewer).get(QRELS, {"mode": "binary", "min_grade": "4"})

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == (
        'attachment; filename="autumn_lexical_LexicalBaseline_main_binary4.qrels"'
    )
    assert text(response) == "t1 0 d1 1\nt1 0 d2 1\nt1 0 d3 0\nt2 0 e1 0\nt2 0 e2 1\n"


def test_the_leaderboard_file(made, viewer, client_of):
    response = client_of(viewer).get(TSV, {"measure": "P_2"})
    lines = text(response).splitlines()

    assert response["Content-Type"] == "text/tab-separated-values; charset=utf-8"
    assert response["Content-Disposition"].endswith('_P_2_t4.tsv"')
    assert lines[:2] == ["# verdict: With 2 topics no run can be clearly ahead.", "# collection: autumn"]
    assert [line.split("\t")[:5] for line in lines[-4:]] == [
        ["both", "1", "0.75", "0.25", "2"],
        *([tag, "2", "0.25", "0.25", "2"] for tag in ("first", "lacks", "stray")),
    ]


def test_the_leaderboard_as_json_and_latex(made, viewer, client_of):
    client, query = client_of(viewer), {"measure": "P_2", "columns": "rubric_cover"}
    document = json.loads(text(client.get(TSV, {**query, "format": "json"})))
    latex = client.get(TSV, {**query, "format": "tex"})

    assert document["rows"][0]["columns"] == {"rubric_cover": {"score": 1.0, "stderr": 0.0, "n_topics": 2}}
    assert latex["Content-Disposition"].endswith('_P_2_t4.tex"')
    assert r"1 & 1--4 & both & 0.750 & 0.250 & 1.000 & 0.000 \\" in text(latex)
    assert client.get(TSV, {**query, "format": "xml"}).status_code == 302


@pytest.mark.parametrize("address", [QRELS, TSV])
def test_a_download_that_cannot_be_leads_to_its_form(made, viewer, client_of, address):
    response = client_of(viewer).get(address, {"mode": "mean"}, follow=True)

    assert response.redirect_chain == [(f"{PAGE}?mode=mean", 302)]
    assert response.status_code == 422
    assert "mean is not one of the available choices" in html.unescape(markup(response))


@pytest.mark.parametrize("address", [PAGE, QRELS, TSV])
def test_who_may_look(made, viewer, outsider, client_of, client, address):
    assert client_of(viewer).get(address).status_code == 200
    assert client_of(viewer).head(address).status_code == 200
    assert client_of(viewer).post(address).status_code == (403 if address == PAGE else 405)
    assert client_of(outsider).get(address).status_code == 404
    assert client.get(address).status_code == 302


def test_queries_do_not_grow_with_passages(made, viewer, client_of, django_assert_max_num_queries):
    passages = [factories.PooledFactory(topic=made.topics["t2"]).passage for _ in range(20)]
    for passage in passages:
        factories.grade(made.config, made.items["t2"][0], passage, 3)
    client = client_of(viewer)
    with django_assert_max_num_queries(40):
        assert "<dd>25</dd>" in markup(client.get(PAGE))


def test_qrels_as_of_a_version(made, viewer, developer, client_of):
    """Without the item that d1 answers its label is 0; as of the version it is 5."""
    version = name_version(made.bank, name="First", by=developer)
    item = made.items["t1"][0]
    retire_item(item, seen=item.version, by=None)
    client = client_of(viewer)
    then = client.get(QRELS, {"version": version.pk})

    assert "t1 0 d1 0" in text(client.get(QRELS)).splitlines()
    assert "t1 0 d1 5" in text(then).splitlines()
    assert "_version1_max.qrels" in then["Content-Disposition"]


def test_the_leaderboard_with_a_row_for_each_topic(made, viewer, client_of):
    """A viewer sees pseudonyms, which have a hyphen where pages have a space."""
    made.collection.shows_run_tags = False
    made.collection.save()
    response = client_of(viewer).get(TSV, {"format": "ir_measures"})
    lines = [line.split("\t") for line in text(response).splitlines()]
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"].endswith('.ir_measures"')
    assert {len(columns) for columns in lines} == {4}
    assert all(columns[0].startswith("run-") for columns in lines)
    assert "all" in {columns[1] for columns in lines}
    assert client_of(viewer).get(TSV, {"format": "jsonl"})["Content-Type"].startswith("application/jsonl")
    measures = client_of(viewer).get(TSV, {"format": "eval.measures.yml"})
    assert measures["Content-Disposition"].endswith('.eval.measures.yml"')
    assert text(measures).startswith("measures:\n")
    page = markup(client_of(viewer).get("/collections/autumn/releases/"))
    assert "blanks in pseudonyms of runs: they become hyphens" in page
