"""The graded file by itself: by command, on the page and by the API."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from grading.formats.graded import read_graded
from rubricweb.corpus.models import Run

PAGE, API = "/collections/autumn/exports/graded/", "/api/v1/collections/autumn/graded/"


def output(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("export_graded", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_writes_what_is_read_again(made, tmp_path):
    out, err = output("autumn")
    query_ids = [json.loads(line)[0] for line in out.splitlines()]
    assert query_ids == list(made.collection.topics.values_list("query_id", flat=True))
    assert "lost: the rankings of the runs" in err
    path = tmp_path / "graded.jsonl.gz"
    output("autumn", "--rankings", "--out", path)
    passages = [passage for line in read_graded(path) for passage in line.passages]
    assert {rank.run_tag for passage in passages for rank in passage.rankings} <= set(
        Run.objects.values_list("run_tag", flat=True)
    )
    assert any(passage.grades for passage in passages)


def test_an_unknown_collection_is_refused(db):
    with pytest.raises(CommandError):
        output("none")


def test_the_page_and_the_api_have_the_file_of_the_command(made, owner, client_of):
    expected, _ = output("autumn")
    response = client_of(owner).get(PAGE)
    assert response["Content-Disposition"] == 'attachment; filename="autumn_graded.jsonl"'
    assert response.getvalue().decode() == expected
    assert client_of(owner).get(API).getvalue().decode() == expected
    ranked, _ = output("autumn", "--rankings")
    assert client_of(owner).get(PAGE, {"rankings": "1"}).getvalue().decode() == ranked != expected


@pytest.mark.parametrize("address", [PAGE, API])
def test_it_is_for_those_who_see_the_names_of_runs(made, viewer, outsider, client_of, address):
    assert client_of(viewer).get(address).status_code == 403
    assert client_of(outsider).get(address).status_code == 404
