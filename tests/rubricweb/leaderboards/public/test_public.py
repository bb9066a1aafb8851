"""Published boards: who may publish, and that the public page gives nothing away."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Passage, Topic
from rubricweb.leaderboards.actions import made_up_name
from rubricweb.leaderboards.models import PublicBoard
from tests import factories
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

PUBLISH = "/collections/autumn/releases/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


@pytest.fixture
def publish(made, owner, client_of):
    def publish(query="", **sent):
        response = client_of(owner).post(
            f"{PUBLISH}?{query}", {"make": "board", "title": "The board", **sent}
        )
        assert response.status_code == 302
        return PublicBoard.objects.latest("pk")

    return publish


def test_everybody_with_the_link_reads_it(publish):
    board = publish("min_grade=4&columns=P_2")
    response = Client().get(board.get_absolute_url())
    assert response.status_code == 200
    said = text(response)
    assert "The board" in said
    assert "4 runs, 2 topics, 3 questions and nuggets · graded by " in said
    assert "Ranks Run 0.2 0.4 0.6 0.8 1.0 Rubric-Cover@20" in said
    assert "1\N{EN DASH}4 both both: 1.0000, no interval 1.0000" in said, "no rank is more certain than it is"
    assert "With 2 topics no run can be clearly ahead." in said
    assert "rubric main (questions and nuggets, 3 items" in said
    assert "P_2 2 topics" in said
    assert "P_2 labels: highest rating; relevant: label >= 4; mean over all 2 topics" in said
    assert len(board.token) == 32


def test_a_new_link_stands_above_the_choices(made, owner, client_of):
    client = client_of(owner)
    page = client.post(f"{PUBLISH}?min_grade=4", {"make": "board", "title": "The board"}, follow=True)
    board = PublicBoard.objects.get()
    assert page.redirect_chain == [(f"{PUBLISH}?min_grade=4&new={board.pk}", 302)]
    said = markup(page)
    link = f"http://testserver{board.get_absolute_url()}</a>"
    assert said.index(link) < said.index('data-copies="new-link"') < said.index("Relevance labels")
    assert 'aria-describedby="new-link" autofocus' in said
    assert [str(message) for message in page.context["messages"]] == [
        "Published. Anybody with the link can read it."
    ]
    for address in (PUBLISH, f"{PUBLISH}?new=x", f"{PUBLISH}?new={board.pk + 1}"):
        assert "new-link" not in markup(client.get(address))
    client.post(f"/collections/autumn/leaderboards/public/{board.pk}/close/")
    assert "new-link" not in markup(client.get(f"{PUBLISH}?new={board.pk}"))


def test_the_form_is_open_for_whoever_comes_from_a_board(publish, owner, client_of):
    board = publish()
    opened = re.compile(r'<details class="card"\s+open>\s*<summary>Publish the board')
    client = client_of(owner)
    assert opened.search(markup(client.get(f"{PUBLISH}?min_grade=4")))
    assert not opened.search(markup(client.get(PUBLISH)))
    assert not opened.search(markup(client.get(f"{PUBLISH}?min_grade=4&new={board.pk}")))


def test_one_topic_has_neither_ranks_nor_intervals(publish):
    said = text(Client().get(publish("topic=t1").get_absolute_url()))

    assert "\N{EN DASH} both both: 1.0000, no interval 1.0000 100" in said


def test_it_shows_no_word_of_rubric_topics_or_passages(publish, made):
    board = publish()
    said = markup(Client().get(board.get_absolute_url()))
    texts = [item.revision.text for items in made.items.values() for item in items]
    texts += [*Passage.objects.values_list("text", flat=True), *Topic.objects.values_list("text", flat=True)]
    assert len(texts) > 10
    assert not [words for words in texts if words in html.unescape(said)]
    assert "<form" not in said
    assert "<script" not in said


def test_it_is_cached_politely_and_not_indexed(publish):
    board = publish()
    response = Client().get(board.get_absolute_url())
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert '<meta name="robots" content="noindex, nofollow">' in markup(response)
    assert response["Cache-Control"] == "public, max-age=60"
    assert "Cookie" not in response.get("Vary", "")
    assert not response.cookies
    again = Client().get(board.get_absolute_url(), headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_it_says_above_the_scores_which_cells_they_leave_out(publish, made, owner, assessor):
    board = publish()
    complete = Client().get(board.get_absolute_url())
    assert "leave out" not in text(complete)
    campaign = blind_campaign(made.bank, by=owner, assignees=[assessor])

    response = Client().get(board.get_absolute_url(), headers={"If-None-Match": complete["ETag"]})
    above, _ = text(response).split("Ranks Run", 1)
    cells = campaign.cells.count()
    stated = f"These scores leave out {cells} pairs that are still to be rated blind. They count as not"
    assert stated in above


def test_cells_of_another_bank_are_not_left_out(publish, made, owner, assessor):
    board = publish(f"bank={made.bank.pk}")
    other = factories.BankFactory(collection=made.collection, name="other")
    item = factories.ItemFactory(bank=other, topic=made.topics["t1"])
    factories.grade(made.config, item, made.passages["d1"], 3)
    assert blind_campaign(other, by=owner, assignees=[assessor]).cells.exists()

    assert "leave out" not in text(Client().get(board.get_absolute_url()))


@pytest.mark.parametrize("kind", ["live", "frozen"])
@pytest.mark.parametrize("sent", [{}, {"is_anonymous": "on"}])
def test_public_board_says_how_many_topics_a_run_answered(publish, client_of, owner, kind, sent):
    """The run "lacks" answers one of two topics; the other counts 0, as the collection's page says."""
    board = publish(kind=kind, **sent)
    name = made_up_name(board, "lacks") if sent else "lacks"
    public = text(Client().get(board.get_absolute_url()))
    assert re.search(rf" {name} {name}: 0.2500, [^%]*100 % 1 of 2\b", public)
    assert public.count(" 1 of 2 ") == 1, "others answered both"
    assert "lacks 1 of 2 topics" in text(client_of(owner).get("/collections/autumn/leaderboards/"))


def test_frozen_board_of_before_shows_topics_without_those_answered(publish):
    board = publish(kind="frozen")
    for row in board.frozen["rows"]:
        for name in ("n_answered", "rank", "is_behind", "by_topic"):
            del row[name]
    for name in ("collection", "resolution", "graded_by", "checked", "n_topics", "n_items", "made", "topics"):
        del board.frozen[name]
    board.save()
    shown = text(Client().get(board.get_absolute_url()))
    assert "lacks lacks: 0.2500" in shown
    assert "lacks\t" in Client().get(f"{board.get_absolute_url()}leaderboard.tsv").text
    assert "1 of 2" not in shown


def test_topics_are_a_heat_map_with_ids_and_no_text(publish, made):
    page = markup(Client().get(publish().get_absolute_url()))
    assert re.findall(r'title="stray, (\w+: [\d.]+)"', page) == ["t1: 0.00", "t2: 1.00"]
    assert page.count("data-grade=") == 8


def test_public_board_is_sorted_by_link(publish):
    address = publish().get_absolute_url()
    pages = {sort: Client().get(address, {"sort": sort}) for sort in ("", "score", "run", "x")}
    tags = re.compile(r'<th scope="row" class="board-run">(.*?)</th>')
    rows = {sort: tags.findall(markup(page)) for sort, page in pages.items()}
    assert rows[""] == rows["x"] == ["both", "stray", "first", "lacks"]
    assert rows["score"] == rows[""][::-1]
    assert rows["run"] == ["both", "first", "lacks", "stray"]
    assert len({page["ETag"] for page in pages.values()}) == 3


def test_public_board_is_downloaded_and_cited(publish):
    board = publish(is_anonymous="on")
    page = markup(Client().get(board.get_absolute_url()))
    assert f"url{{http://testserver{board.get_absolute_url()}}}" in page
    assert "@misc{leaderboard-" in page
    response = Client().get(reverse("leaderboards:public-file", args=[board.token]))
    assert response["Cache-Control"] == "public, max-age=60"
    *comments, head, first, _, _, _ = response.text.strip().split("\n")
    assert all(line.startswith("#") for line in comments)
    assert head.split("\t")[:3] == ["run_tag", "interval", "score"]
    assert head.endswith("topic t1\ttopic t2")
    assert first.startswith(f"{made_up_name(board, 'both')}\t")
    assert not re.search(r"^(both|stray|lacks)\b", response.text, re.MULTILINE)
    assert Client().get(f"/leaderboards/public/{'x' * 32}/leaderboard.tsv").status_code == 404


def test_made_up_names(publish):
    board = publish(is_anonymous="on")
    said = text(Client().get(board.get_absolute_url()))
    assert "4 runs with pseudonyms" in said
    shown = said.split("Ranks Run")[1].split("what this board is based on")[0]
    assert not [tag for tag in ("both", "stray", "first", "lacks") if re.search(rf"\b{tag}\b", shown)]
    names = [made_up_name(board, run_tag) for run_tag in ("both", "stray", "first", "lacks")]
    assert len(set(names)) == 4
    assert all(name in said for name in names)
    other = publish(is_anonymous="on")
    assert made_up_name(other, "both") != names[0]


@pytest.mark.parametrize("kind", ["live", "frozen"])
def test_public_page_of_made_up_names_has_no_other_in_its_headline_and_statements(
    collection, owner, client_of, kind
):
    bank = factories.gradable(collection, topics=8, passages=2, items=1)
    config = factories.lexical_config()
    best, worst = (factories.RunFactory(collection=collection, run_tag=tag) for tag in ("aspen", "birch"))
    for item in bank.items.all():
        first, second = (pooled.passage for pooled in item.topic.pool.all())
        factories.grade(config, item, first, 5)
        factories.grade(config, item, second, 0)
        factories.RankingFactory(run=best, topic=item.topic, doc_ids=[first.doc_id])
        factories.RankingFactory(run=worst, topic=item.topic, doc_ids=[second.doc_id])
    collection.runs.filter(run_tag="birch").update(is_closed_book=True)
    sent = {"make": "board", "title": "The board", "kind": kind, "is_anonymous": "on"}
    client_of(owner).post(PUBLISH, sent)
    board = PublicBoard.objects.get()
    page = text(Client().get(board.get_absolute_url()))
    assert f"{made_up_name(board, 'aspen')} is clearly ahead of all others." in page
    assert not re.search(r"\b(aspen|birch)\b", page)


def test_a_closed_or_wrong_link_is_not_found(publish, owner, client_of):
    board = publish()
    client = client_of(owner)
    assert "Copy link" in text(client.get(PUBLISH))
    client.post(reverse("leaderboards:public-close", args=["autumn", board.pk]))
    assert Client().get(board.get_absolute_url()).status_code == 404
    assert client.get(board.get_absolute_url()).status_code == 404
    assert "closed" in text(client.get(PUBLISH))
    assert Client().get("/leaderboards/public/" + "x" * 32 + "/").status_code == 404
    assert AuditEntry.objects.filter(verb__in=["board published", "board closed"]).count() == 2


def test_a_board_whose_bank_is_gone_is_not_found(publish, made):
    board = publish(f"bank={made.bank.pk}")
    made.bank.items.all().delete()
    made.bank.delete()
    assert Client().get(board.get_absolute_url()).status_code == 404


def test_only_organizers_publish(made, developer, outsider, client_of, owner):
    sent = {"make": "board", "title": "The board"}
    assert "Public leaderboard" not in text(client_of(developer).get(PUBLISH))
    for user, status in ((developer, 403), (outsider, 404)):
        assert client_of(user).post(PUBLISH, sent).status_code == status
        assert (
            client_of(user).post(reverse("leaderboards:public-close", args=["autumn", 1])).status_code
            == status
        )
    assert not PublicBoard.objects.exists()
    assert client_of(owner).get(reverse("leaderboards:public-close", args=["autumn", 1])).status_code == 405
    assert "Publish" not in text(client_of(developer).get("/leaderboards/autumn/"))


def test_what_is_wrong_is_said(made, owner, client_of):
    client = client_of(owner)
    assert client.post(PUBLISH, {"make": "board", "title": ""}).status_code == 422
    response = client.post(f"{PUBLISH}?min_grade=9", {"make": "board", "title": "The board"})
    assert response.status_code == 422
    assert "less than or equal to 5" in text(response)
    assert not PublicBoard.objects.exists()


def test_another_collection_s_board_cannot_be_closed(publish, owner, client_of):
    board = publish()
    other = factories.CollectionFactory(slug="other")
    factories.MembershipFactory(user=owner, collection=other, role="organizer")
    assert (
        client_of(owner).post(reverse("leaderboards:public-close", args=["other", board.pk])).status_code
        == 404
    )
    board.refresh_from_db()
    assert board.is_open


def test_made_up_names_come_from_the_database_and_not_from_the_secret_key(publish, settings):
    board = publish(is_anonymous="on")
    before = made_up_name(board, "both")
    settings.SECRET_KEY = "published with the source"
    assert made_up_name(board, "both") == before
    board.collection.name_salt = "another"
    assert made_up_name(board, "both") != before
