"""The upload of official leaderboards, which a board is compared with."""

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from rubricweb.corpus.official import official_boards
from tests.factories import RunFactory
from tests.rubricweb.markup import markup
from tests.worked import judge

SURE = "/collections/autumn/leaderboards/sure/"
OPENED = {"table": "official"}


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def upload(client, content, name="official.tsv", board="TREC"):
    file = SimpleUploadedFile(name, content.encode())
    return client.post(reverse("leaderboards:official-add", args=["autumn"]), {"name": board, "file": file})


def test_the_section_is_in_the_page_once_its_reader_opens_it(made, owner, viewer, client_of):
    client = client_of(owner)
    upload(client, "run_tag\trank\nboth\t1\nfirst\t2\n")
    page = client.get(SURE, {"min_grade": "4"})
    assert "Official leaderboards (1)" in text(page)
    assert 'name="file"' not in markup(page)
    assert 'hx-get="?min_grade=4&amp;table=official"' in markup(page)
    opened = markup(client.get(SURE, OPENED))
    assert opened.count('name="file"') == opened.count("Remove TREC") == 1
    assert "TREC: ranks of 2 runs" in text(client_of(viewer).get(SURE, OPENED))
    assert 'name="file"' not in markup(client_of(viewer).get(SURE, OPENED))


def test_roles(made, viewer, outsider, client_of):
    assert client_of(outsider).get(SURE).status_code == 404
    assert client_of(viewer).post(SURE).status_code == 405
    assert upload(client_of(viewer), "run_tag\tscore\nboth\t1\n").status_code == 403
    assert upload(client_of(outsider), "run_tag\tscore\nboth\t1\n").status_code == 404
    assert client_of(viewer).post(reverse("leaderboards:official-remove", args=["autumn"])).status_code == 403


def test_an_organizer_uploads_and_removes(made, owner, client_of):
    client = client_of(owner)
    response = upload(client, "run_tag\trank\nboth\t1\nstray\t2.5\nfirst\t2.5\nlacks\t4\n")
    assert response.status_code == 302
    (board,) = official_boards(made.collection)
    assert (board.name, board.kind, board.values["stray"]) == ("TREC", "ranks", 2.5)
    assert "TREC: ranks of 4 runs" in text(client.get(SURE, OPENED))
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
    assert response.context["pictures"][0].plot
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
    said = text(client_of(owner).get(SURE, OPENED))
    assert "TREC: scores of 2 runs" in said


@pytest.mark.parametrize(
    "content", ['{"ranks": [1, 2]}', '{"scores": [[]]}', '{"rows": [[1]]}', '{"ranks": [{}]}']
)
def test_json_of_another_shape_is_refused(made, owner, client_of, content):
    response = upload(client_of(owner), content, name="official.json")
    assert response.status_code == 422
    assert "official.json:1:" in text(response)


def test_an_organizer_takes_a_board_that_comes_along(made, owner, viewer, client_of):
    """It is offered with how many of its runs are here, and keeps its measure and its source."""
    address = reverse("leaderboards:official-add", args=["autumn"])
    RunFactory(collection=made.collection, run_tag="pash_f3")
    client = client_of(owner)
    assert "TREC DL 2020, passages: NDCG@10 (1 of 59 runs here)" in text(client.get(SURE, OPENED))
    assert "59 runs here" not in text(client_of(viewer).get(SURE, OPENED))
    assert client_of(viewer).post(address, {"board": "dl20-passages"}).status_code == 403
    assert client.post(address, {"board": "dl18"}).status_code == 404
    assert official_boards(made.collection) == []

    assert client.post(address, {"board": "dl20-passages"}).status_code == 302
    (board,) = official_boards(made.collection)
    assert (board.name, board.measure) == ("TREC DL 2020, passages: NDCG@10", "ndcg_cut_10")
    assert (len(board.values), board.values["pash_f3"], board.kind) == (59, 0.8005, "scores")
    assert board.source.startswith("NIST, results of TREC 2020")
