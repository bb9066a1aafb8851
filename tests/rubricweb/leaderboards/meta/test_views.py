"""The page of meta-evaluation, for every role, and the upload of official leaderboards."""

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from rubricweb.corpus.official import official_boards
from tests import factories
from tests.rubricweb.markup import markup
from tests.worked import judge

META = "/leaderboards/autumn/meta/"
HTMX = {"HX-Request": "true"}


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def upload(client, content, name="official.tsv", board="TREC"):
    file = SimpleUploadedFile(name, content.encode())
    return client.post(reverse("leaderboards:official-add", args=["autumn"]), {"name": board, "file": file})


def test_the_page_compares_with_judgments(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(META)
    assert response.status_code == 200
    said = text(response)
    assert "Correlation of the order of runs with human judgments" in said
    assert "rubric_cover against human judgments (ndcg_cut_10, gains are the judgments)" in said
    assert r"\begin{tabular}" in said
    assert "as good as the best: not clearly behind the best, by the max-T test of all pairs" in said
    assert "Upload" not in said, "only organizers change official leaderboards"


def test_what_is_compared_is_in_the_address(made, viewer, client_of):
    judge(made)
    query = {"measure": "P_2, P_2 map", "min_grade": ["4"], "show": ["tau_ap"], "detail": "map", "k": "3"}
    said = text(client_of(viewer).get(META, query))
    assert "P_2 AP map AP Wins" in said
    assert "official top 3 only" in said
    assert "map against human judgments" in said


def test_boards_are_compared_on_a_slice_of_topics(made, viewer, client_of):
    judge(made)
    topic = made.topics["t1"]
    topic.attributes = {"kind": "what"}
    topic.save()
    response = client_of(viewer).get(META, {"topics": "kind=what"})
    assert "1 of 3 topics: kind = what" in text(response)
    assert '<option value="kind=what">' in markup(response)
    assert client_of(viewer).get(META, {"topics": "kind=other"}).status_code == 422


def test_measures_have_short_names_here_too(made, viewer, client_of):
    """A threshold in the name holds in each row."""
    judge(made)
    query = {"measure": "cover-4, qrels-ndcg P_2:5", "min_grade": ["1", "4"], "show": ["kendall"]}
    response = client_of(viewer).get(META, query)
    assert response.status_code == 200
    assert response.context["measures"] == ("cover-4", "qrels-ndcg", "P_2:5")
    low, high = (cells[3:] for cells in response.context["sheet"].rows)
    assert [cell.text for cell in low[:3]] == [cell.text for cell in high[:3]]
    plain = client_of(viewer).get(META, query | {"measure": "rubric_cover ndcg_cut_20"})
    assert plain.context["sheet"].rows[1][3].text == high[0].text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"measure": "precision"}, "no measure 'precision'"),
        ({"measure": " ".join(f"P_{k}" for k in range(1, 15))}, "expected 1 to 12"),
        ({"k": "1"}, "greater than or equal to 3"),
        ({"reference": "official:nobody"}, "not one of the available choices"),
        ({"min_grade": ["9"]}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_compared_is_said(made, viewer, client_of, query, message):
    judge(made)
    response = client_of(viewer).get(META, query)
    assert response.status_code == 422
    assert message in text(response)


def test_without_grades_or_references(collection, made, viewer, client_of):
    assert "Nothing to compare with" in text(client_of(viewer).get(META))
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client_of(viewer).get("/leaderboards/empty/meta/"))


def test_htmx_gets_the_part(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(META, headers=HTMX)
    assert markup(response).lstrip().startswith('<div id="meta"')


def test_roles(made, viewer, outsider, client_of):
    assert client_of(outsider).get(META).status_code == 404
    assert client_of(viewer).post(META).status_code == 405
    assert upload(client_of(viewer), "run_tag\tscore\nboth\t1\n").status_code == 403
    assert upload(client_of(outsider), "run_tag\tscore\nboth\t1\n").status_code == 404
    assert client_of(viewer).post(reverse("leaderboards:official-remove", args=["autumn"])).status_code == 403


def test_an_organizer_uploads_and_removes(made, owner, client_of):
    client = client_of(owner)
    response = upload(client, "run_tag\trank\nboth\t1\nstray\t2.5\nfirst\t2.5\nlacks\t4\n")
    assert response.status_code == 302
    (board,) = official_boards(made.collection)
    assert (board.name, board.kind, board.values["stray"]) == ("TREC", "ranks", 2.5)
    assert "TREC: ranks of 4 runs" in text(client.get(META))
    client.post(reverse("leaderboards:official-remove", args=["autumn"]), {"name": "TREC"})
    assert official_boards(made.collection) == []


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("run_tag\tscore\nboth\t1\nfirst\thigh\n", "official.tsv", "official.tsv:3:"),
        ("run_tag\tplace\nboth\t1\n", "official.tsv", "official.tsv:1: no such header"),
        ('{"both": 1, "both": 2}', "ranks.json", "occurs twice"),
        ("", "official.tsv", "empty"),
        ("\x00\x01", "../../x.gz", "x.gz"),
    ],
)
def test_a_bad_upload_is_refused_with_its_line(made, owner, client_of, content, name, message):
    response = upload(client_of(owner), content, name)
    assert response.status_code == 422
    assert message in text(response)
    assert official_boards(made.collection) == []


def test_a_refused_upload_keeps_the_page(made, owner, client_of):
    """What was compared is still there, as the address says, and the message stands beside the control."""
    judge(made)
    address = reverse("leaderboards:official-add", args=["autumn"])
    file = SimpleUploadedFile("official.tsv", b"run_tag\tscore\nboth\thigh\n")
    response = client_of(owner).post(f"{address}?measure=P_2&min_grade=4", {"name": "TREC", "file": file})

    assert response.status_code == 422
    said = markup(response)
    assert "P_2 S" in text(response)
    assert response.context["sheet"].rows
    assert 'value="TREC"' in said
    assert said.index("official.tsv:2:") > said.index('id="id_file"')
    assert f'action="{address}?measure=P_2&amp;min_grade=4#official"' in said
    assert upload(client_of(owner), "", board="").status_code == 422


@pytest.mark.parametrize("form", ["tsv", "json"])
def test_what_is_exported_can_be_imported(made, owner, client_of, form):
    judge(made)
    query = {"measure": "P_2", "columns": "rag24,judgments/map", "format": form}
    client = client_of(owner)
    exported = client.get(reverse("exports:leaderboard", args=["autumn"]), query).getvalue().decode()
    response = upload(client, exported, name=f"board.{form}", board="Ours")

    assert response.status_code == 302
    (board,) = official_boards(made.collection)
    assert (board.kind, board.values) == (
        "scores",
        {"both": 0.75, "first": 0.25, "lacks": 0.25, "stray": 0.25},
    )


def test_a_summary_of_trec_eval_is_an_official_board(made, owner, client_of):
    lines = [
        f"runid\tall\t{tag}\nmap\tall\t0.{n}\nP_5\tall\t0.1\n" for n, tag in enumerate(("both", "first"), 1)
    ]
    response = upload(client_of(owner), "".join(lines), name="summary.txt")
    assert response.status_code == 302
    (board,) = official_boards(made.collection)
    assert board.values == {"both": 0.1, "first": 0.2}
    said = text(client_of(owner).get(META))
    assert "TREC: scores of 2 runs" in said


@pytest.mark.parametrize(
    "content", ['{"ranks": [1, 2]}', '{"scores": [[]]}', '{"rows": [[1]]}', '{"ranks": [{}]}']
)
def test_json_of_another_shape_is_refused(made, owner, client_of, content):
    response = upload(client_of(owner), content, name="official.json")
    assert response.status_code == 422
    assert "official.json:1:" in text(response)


def test_few_queries(made, viewer, client_of, django_assert_max_num_queries):
    judge(made)
    client = client_of(viewer)
    client.get(META)
    with django_assert_max_num_queries(100):
        client.get(META)


def test_choices_are_chips(made, viewer, client_of):
    judge(made)
    client = client_of(viewer)
    at_first = text(client.get(META))
    assert "Threshold 3 of 5" in at_first
    assert "Reset" not in at_first
    fewer = client.get(META, {"min_grade": ["4", "5"], "k": "3"})
    assert "Threshold 2 of 5" in text(fewer)
    assert 'href="?k=3">Reset</a>' in markup(fewer)
    assert "Without: Top runs only 3" in text(fewer)


def test_a_choice_as_at_first_is_no_filter(made, viewer, client_of):
    judge(made)
    assert "Reset" not in text(client_of(viewer).get(META, {"min_grade": ["5", "4", "3"]}))
