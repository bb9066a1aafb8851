"""What the page of an import offers next: where files are refused, and where it is made."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from tests.rubricweb.import_files import RED, bank_line, passage, rated, uid
from tests.rubricweb.imports.conftest import PAGE, QUERIES, worked
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def test_all_refused_files_are_left_out_at_once(upload, client):
    batch = upload({"a.run": "t1 Q0 d3 3 bm25\n", "q.txt": "t1 0 d1 x\n", "queries.json": QUERIES})
    address = f"{PAGE}{batch.pk}/"
    assert '<button class="button" form="leave-out">Exclude all 2</button>' in markup(client.get(address))
    assert client.post(f"{address}leave-out/").status_code == 302
    batch = worked(batch)
    assert set(batch.files.filter(is_left_out=True).values_list("name", flat=True)) == {"a.run", "q.txt"}
    page = markup(client.get(address))
    assert "Import 1 file" in page
    assert "leave-out" not in re.findall(r'form="([^"]+)"', page)


def test_a_file_that_was_not_taken_is_told_above_the_files(upload, client, settings):
    settings.UPLOAD_BYTES = 100
    batch = upload({"queries.json": QUERIES, "big.run": "t1 Q0 d1 1 2.5 bm25\n" * 10})
    page = re.sub(r"\s+", " ", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert "1 file was not taken: it says why below. 1 file read. Nothing is imported yet." in page
    assert not re.search(r"\b0.bytes", page)
    settings.UPLOAD_BYTES = 2_000_000_000
    assert "At most 2,000 MB at once." in markup(client.get(PAGE))


def test_what_was_imported_leads_to_the_next_step(upload, client, started):
    batch = started(upload({"queries.json": QUERIES}))
    page = markup(client.get(f"{PAGE}{batch.pk}/"))
    assert "What comes next" in page
    assert "Draft, write or import questions" in page
    graded = json.dumps(["t1", [passage("d1", rated({uid(RED): 5}))]])
    batch = started(upload({"graded.jsonl": graded, "bank.jsonl": json.dumps(bank_line(RED))}))
    assert "What comes next" not in markup(client.get(f"{PAGE}{batch.pk}/")), "it has grades"


def test_what_was_imported_is_graded_and_leads_to_the_leaderboard(upload, client, started):
    graded = json.dumps(["t1", [passage("d1", rated({uid(RED): 5}))]])
    files = {"queries.json": QUERIES, "graded.jsonl": graded, "bank.jsonl": json.dumps(bank_line(RED))}
    batch = started(upload(files))
    page = markup(client.get(f"{PAGE}{batch.pk}/"))
    board = reverse("leaderboards:board", args=["autumn"])
    assert f'<a class="button button-primary" href="{board}">See the leaderboard</a>' in page


def test_official_scores_that_came_along_are_named(upload, client, started):
    files = {"queries.json": QUERIES, "official.tsv": "run_tag\tscore\nbm25\t0.4\ndense\t0.6\n"}
    batch = started(upload(files))
    page = markup(client.get(f"{PAGE}{batch.pk}/"))
    assert "Official scores of 2 runs were imported." in " ".join(page.split())
    assert 'href="/collections/autumn/#official-title">See them' in page
    again = started(upload({"queries.json": QUERIES}))
    assert "Official scores of" not in markup(client.get(f"{PAGE}{again.pk}/"))
