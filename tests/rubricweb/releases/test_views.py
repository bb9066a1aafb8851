"""Releases in the browser: who may make them, what is shown before, and what becomes of them."""

from __future__ import annotations

import html
import io
import re
import zipfile

import pytest
from django.test import Client

from rubricweb.campaigns.actions import close_campaign
from rubricweb.campaigns.models import Turn
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection, Run
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.releases.actions import ReleaseKind
from rubricweb.releases.models import Release
from rubricweb.releases.parts import made_up_names
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Kind, Subject
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign, rate_otherwise, world

pytestmark = pytest.mark.portable

PAGE, SHARE = "/collections/autumn/releases/", "/collections/autumn/releases/"
OPENED = f"{SHARE}?make=release"
"""With the form of a release open."""


def text(response) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def make(made, owner, client_of):
    """`make(has_runs="on")`: an organizer makes a release, and a worker writes it."""

    def make(**sent) -> Release:
        response = client_of(owner).post(SHARE, {"make": "release", "title": "Autumn 1.0", **sent})
        assert response.status_code == 302, response.context["release_form"].errors
        work_on(ReleaseKind.name, Release.objects.latest("pk").pk)
        return Release.objects.latest("pk")

    return make


def downloaded(client: Client, release: Release) -> zipfile.ZipFile:
    response = client.get(f"{PAGE}{release.pk}/file/")
    assert response["Content-Disposition"] == f'attachment; filename="{release.file_name}"'
    return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))


def test_one_click_makes_a_release(make, owner, client_of):
    release, client = make(license="CC BY 4.0"), client_of(owner)

    with downloaded(client, release) as archive:
        assert "Autumn 1.0" in archive.read("README.md").decode()
        assert "Licence of the data: CC BY 4.0" in archive.read("README.md").decode()
    said = text(client.get(f"{PAGE}{release.pk}/"))
    for words in (release.sha256, "CC BY 4.0", "qrels/judgments.qrels", "Rankings and responses of runs"):
        assert words in said
    assert f"SHA-256 {release.sha256[:16]}" in text(client.get(SHARE))


def test_a_release_opens_below_its_row_and_asks_for_itself_while_it_is_made(made, owner, client_of):
    client = client_of(owner)
    release = Release.objects.create(collection=made.collection, title="Autumn 1.0", by=owner)
    address = f"{PAGE}{release.pk}/"
    page = client.get(address)
    assert 'hx-trigger="sse:progress throttle:1s, every 3s"' in markup(page)
    assert "Relevance labels (qrels)" in text(page)
    part = client.get(address, headers={"HX-Request": "true", "HX-Target": "release"})
    assert part.text.strip().startswith("<div")
    assert "Relevance labels (qrels)" not in text(part)
    answer = client.post(f"{address}delete/", follow=True)
    assert "This release is still being made." in text(answer)
    work_on(ReleaseKind.name, release.pk)
    assert "every 3s" not in client.get(address).text


def test_the_preview_says_what_is_open_and_what_is_left_out(made, owner, client_of):
    made.collection.runs.create(run_tag="late", state=Run.State.SUBMITTED)
    item, passage = made.items["t1"][0], made.passages["d1"]
    subject = Subject(made.bank, item.topic, item, passage)
    open_flag(subject, kind=Kind.COMMENT, text="Hm.", by=owner)
    client = client_of(owner)
    said = text(client.get(f"{OPENED}&contents=1"))
    opened = client.get(SHARE, headers={"HX-Request": "true", "HX-Target": "contents"})
    assert "8 grades" in text(opened)
    assert "8 grades" not in text(client.get(SHARE))

    for words in (
        "3 topics",
        "1 rubric, 3 items",
        "8 grades",
        "1 pair with a failed grade by lexical",
        "Before you release: 2 of 7 steps are done",
        "Flags: 1 left; people rated",
        "1 submitted run left. Decide",
        "1 run: submitted",
    ):
        assert words in said


def test_home_and_share_tell_the_same_steps(collection, owner, assessor, client_of):
    campaign, client = blind_campaign(world(collection, owner, assessor), by=owner), client_of(owner)
    Turn.objects.filter(campaign=campaign).update(state=Turn.State.SUBMITTED)
    (row,) = client.get("/").context["rows"]
    checklist = client.get(OPENED).context["checklist"]
    assert checklist == row.checklist
    steps = f"{checklist.done} of 7 steps"
    assert steps in text(client.get("/"))
    assert steps in text(client.get(OPENED))
    (checked,) = (step for step in checklist.before_release if step.name == "Checked")
    assert "8 pairs are left out until their campaigns are closed" in checked.detail
    assert f"Checked: {checked.detail}. {checked.verb}" in text(client.get(OPENED))
    close_campaign(campaign, by=owner)
    assert "Campaigns: " not in text(client.get(OPENED))


def test_the_form_of_a_release_is_fetched_once_it_is_opened(made, owner, client_of):
    client = client_of(owner)
    closed = client.get(SHARE, {"measure": "ndcg_cut_10"})
    address = f"{SHARE}?measure=ndcg_cut_10&make=release"
    assert f'hx-get="{html.escape(address)}"' in markup(closed)
    assert "checklist" not in closed.context
    assert "Make the release" not in text(closed)
    part = client.get(address, headers={"HX-Request": "true", "HX-Target": "make-release"})
    assert "Make the release" in text(part)
    assert "Relevance labels (qrels)" not in text(part)
    for steps in (part, client.get(address)):
        assert "Before you release" in text(steps)
        assert f'action="{html.escape(address)}"' in markup(steps)


def test_the_page_reads_no_release_before_it_is_opened(made, owner, client_of, django_assert_max_num_queries):
    client = client_of(owner)
    client.get(SHARE)
    with django_assert_max_num_queries(21):
        client.get(SHARE)


def test_an_empty_collection_lacks_more_than_runs(collection, owner, client_of):
    said = text(client_of(owner).get(OPENED))
    for words in ("Topics: 0 topics, 0 passages. Import", "Rubric", "Grades"):
        assert words in said


def test_only_organizers_see_releases(make, developer, outsider, client_of):
    release = make()
    addresses = [f"{PAGE}{release.pk}/{page}" for page in ("", "file/", "names/")]
    for user, status in ((developer, 403), (outsider, 404)):
        client = client_of(user)
        assert {client.get(address).status_code for address in addresses} == {status}
        assert client.post(SHARE, {"make": "release", "title": "x"}).status_code == status
        assert client.post(f"{PAGE}{release.pk}/delete/").status_code == status
    assert "Make a release" not in text(client_of(developer).get(SHARE))
    assert "Make the release" not in text(client_of(developer).get(OPENED))


def test_made_up_names_are_kept_for_organizers(make, made, owner, client_of):
    release = make(is_anonymous="on", freezes_boards="on")
    names, client = made_up_names(made.collection), client_of(owner)

    kept = client.get(f"{PAGE}{release.pk}/names/").content.decode()
    assert f"run\tboth\t{names.run('both')}\n" in kept
    board = release.boards.get()
    public = text(Client().get(board.get_absolute_url()))
    assert names.run("both") in public
    assert not re.search(r"\bboth\b", public)
    made.collection.name_salt = "another"
    made.collection.save()
    assert client.get(f"{PAGE}{release.pk}/names/").content.decode() == kept


def test_a_release_is_deleted_and_its_board_stays(make, owner, client_of, django_capture_on_commit_callbacks):
    release = make(freezes_boards="on")
    assert release.path.is_file()
    with django_capture_on_commit_callbacks(execute=True):
        client_of(owner).post(f"{PAGE}{release.pk}/delete/")

    assert not release.path.exists()
    assert not Release.objects.exists()
    assert Client().get(PublicBoard.objects.get().get_absolute_url()).status_code == 200
    assert AuditEntry.objects.filter(verb__in=["release started", "release deleted"]).count() == 2


def test_a_zip_that_is_elsewhere_is_said_to_be(make, owner, client_of):
    release = make()
    release.path.unlink()

    assert "not on this server" in text(client_of(owner).get(f"{PAGE}{release.pk}/file/", follow=True))


def test_what_is_wrong_is_said(made, owner, client_of):
    response = client_of(owner).post(SHARE, {"make": "release", "title": ""})

    assert response.status_code == 422
    assert "field is required" in text(response)
    assert not Release.objects.exists()


def test_no_release_while_sums_are_refused(collection, owner, assessor, client_of):
    """An assessor has cells to rate blind, and could read a release."""
    bank = world(collection, owner, assessor)
    blind_campaign(bank, by=owner)
    refusing = Collection.BlindSums.REFUSED
    Collection.objects.update(blind_sums=refusing)
    response = client_of(owner).post(SHARE, {"make": "release", "title": "Autumn"})

    assert response.status_code == 422
    assert "are to be rated blind" in text(response)
    release = Release.objects.create(collection=collection, title="Autumn", by=owner)
    work_on(ReleaseKind.name, release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.FAILED
    assert "are to be rated" in release.error


def test_the_page_warns_of_scores_that_count_what_is_to_be_rated_blind_as_not_covered(
    made, owner, assessor, client_of
):
    address, warning = f"/collections/{made.collection.slug}/releases/", "Still to be rated blind: "
    assert warning not in text(client_of(owner).get(address))
    campaign = blind_campaign(made.bank, by=owner, assignees=[assessor])
    assert f"{warning}{campaign.cells.count()} pairs." in text(client_of(owner).get(address))
    assert warning not in text(client_of(assessor).get(address))
    close_campaign(campaign, by=owner)
    assert warning not in text(client_of(owner).get(address))


def test_cells_to_be_rated_blind_are_in_no_file(collection, owner, assessor, released, client_of):
    bank = world(collection, owner, assessor)
    campaign = blind_campaign(bank, by=owner)
    before = released(collection)
    rate_otherwise(campaign)
    assert released(collection) == before
    assert "8 pairs of open campaigns: their ratings" in before["README.md"].decode()
    asked = client_of(owner).get(OPENED).content.decode()
    assert "8 pairs are left out until their campaigns are closed;" in asked
    assert 'href="/collections/autumn/campaigns/"' in asked
