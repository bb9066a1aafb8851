"""The organizers' page of runs: withdraw, bring back, describe."""

import pytest
from django.utils import timezone

from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Run
from tests.factories import RankingFactory, RunFactory, TopicFactory
from tests.rubricweb.markup import markup

PAGE = "/collections/autumn/runs/"
DESCRIBED = {
    "team": "maple",
    "task": "generation",
    "type": "manual",
    "priority": "2",
    "description": "BM25 <b>and</b> a reader.",
    "tags": "late,  long  answers , late",
    "seen": "1",
}


@pytest.fixture
def run(collection) -> Run:
    row = RunFactory(collection=collection, run_tag="bm25")
    for topic in TopicFactory.create_batch(3, collection=collection)[:2]:
        RankingFactory(run=row, topic=topic, doc_ids=["d1"])
    return row


def change(run: Run, verb: str) -> str:
    return f"{PAGE}{run.pk}/{verb}/"


def test_it_lists_every_run_with_its_state(owner, collection, run, client_of):
    RunFactory(collection=collection, run_tag="gone", state="withdrawn", team="oak")
    RunFactory(
        collection=collection,
        run_tag="new",
        state="submitted",
        submitted_at=timezone.now(),
        submitted_by=owner,
    )
    rows = client_of(owner).get(PAGE).context["runs"].rows
    listed = [(row.run.run_tag, row.run.state, row.topics) for row in rows]
    assert listed == [("bm25", "accepted", 2), ("new", "submitted", 0), ("gone", "withdrawn", 0)]


def test_an_unfinished_run_of_our_own_is_withdrawn_and_not_accepted(owner, collection, client_of):
    own = RunFactory(collection=collection, run_tag="own", state="submitted", is_made_here=True)
    client = client_of(owner)
    page = markup(client.get(PAGE))
    assert ("unfinished" in page, "made here" in page) == (True, True)
    assert ("Withdraw own" in page, "Accept own" in page) == (True, False)
    page = markup(client.post(change(own, "withdraw"), follow=True))
    assert (change(own, "accept") in page.partition("<main")[0], "Remove own" in page) == (False, True)
    page = markup(client.post(change(own, "accept"), follow=True))
    own.refresh_from_db()
    assert (own.state, "own was not finished. Make it again." in page) == ("withdrawn", True)


def test_withdraw_and_bring_back(owner, collection, run, client_of):
    client, stamps = client_of(owner), [collection.stamp]
    for verb, state, offered in (("withdraw", "withdrawn", "Restore"), ("accept", "accepted", "Withdraw")):
        response = client.post(change(run, verb), follow=True)
        run.refresh_from_db()
        collection.refresh_from_db()
        stamps.append(collection.stamp)
        assert (run.state, offered in markup(response)) == (state, True)
    assert len(set(stamps)) == 3, "the cached arrays are read anew"
    told = AuditEntry.objects.order_by("pk").values_list("verb", "detail", "by")
    assert list(told) == [("run withdrawn", "bm25", owner.pk), ("run accepted", "bm25", owner.pk)]


def test_doing_it_twice_changes_nothing(owner, collection, run, client_of):
    client_of(owner).post(change(run, "accept"))
    stamp = collection.stamp
    collection.refresh_from_db()
    assert (collection.stamp, AuditEntry.objects.count()) == (stamp, 0)


def test_htmx_gets_the_list(owner, run, client_of):
    response = client_of(owner).post(change(run, "withdraw"), headers={"HX-Request": "true"})
    assert response.status_code == 200
    assert markup(response).lstrip().startswith('<section id="runs"')


def test_an_organizer_describes_a_run(owner, run, client_of):
    assert client_of(owner).post(change(run, "edit"), DESCRIBED).status_code == 302
    run.refresh_from_db()
    assert (run.team, run.task, run.type, run.priority) == ("maple", "generation", "manual", 2)
    assert (run.tags, run.version) == (["late", "long answers"], 2)
    entry = AuditEntry.objects.get(verb="run described")
    assert (entry.by, entry.detail) == (owner, "bm25: team, task, type, priority, tags, description")
    page = markup(client_of(owner).get(PAGE))
    assert "BM25 &lt;b&gt;and&lt;/b&gt; a reader." in page
    assert 'priority 2</span> <span class="badge">late</span> <span class="badge">long answers</span>' in page


def test_the_form_of_a_run_opens_below_its_row(owner, run, client_of):
    client = client_of(owner)
    for headers in ({}, {"HX-Request": "true"}):
        page = client.get(PAGE, {"edit": run.pk}, headers=headers)
        assert page.context["form"]["team"].value() == ""
        assert f'action="{change(run, "edit")}"' in markup(page).partition(f'id="run-{run.pk}"')[2]
    assert "form" not in client.get(PAGE, {"edit": RunFactory().pk}).context, "of another collection"


def test_a_description_is_saved_in_place(owner, run, client_of):
    htmx = {"HX-Request": "true"}
    refused = client_of(owner).post(change(run, "edit"), DESCRIBED | {"priority": "0"}, headers=htmx)
    assert (refused.status_code, "greater than or equal to 1" in refused.text) == (422, True)
    saved = client_of(owner).post(change(run, "edit"), DESCRIBED, headers=htmx)
    assert markup(saved).lstrip().startswith('<section id="runs"')
    assert "run-form" not in markup(saved)


def test_a_description_that_nobody_has_seen_is_not_overwritten(owner, run, client_of):
    client = client_of(owner)
    client.post(change(run, "edit"), DESCRIBED)
    response = client.post(change(run, "edit"), DESCRIBED | {"team": "oak"})
    run.refresh_from_db()
    assert (response.status_code, run.team) == (409, "maple")
    theirs = " ".join(response.content.decode().split())
    assert "It now has: team <bdi>maple</bdi> · task <bdi>generation</bdi> · type <bdi>manual" in theirs
    assert response.context["form"]["team"].value() == "oak"
    assert response.context["form"]["seen"].value() == 2
    assert client.post(change(run, "edit"), DESCRIBED | {"team": "oak", "seen": "2"}).status_code == 302


@pytest.mark.parametrize(
    "wrong", [{"priority": "0"}, {"type": "guess"}, {"tags": "x" * 41}, {"team": "t" * 101}, {"seen": ""}]
)
def test_what_does_not_fit_changes_nothing(owner, run, client_of, wrong):
    assert client_of(owner).post(change(run, "edit"), DESCRIBED | wrong).status_code == 422
    run.refresh_from_db()
    assert (run.team, run.version) == ("", 1)


@pytest.mark.parametrize("verb", ["", "edit", "withdraw", "accept"])
def test_roles_and_methods(owner, developer, viewer, outsider, run, client_of, verb):
    address, is_post = change(run, verb) if verb else PAGE, bool(verb)
    statuses = {}
    for person in (owner, developer, viewer, outsider):
        ask = client_of(person).post if is_post else client_of(person).get
        statuses[person.username] = ask(address, DESCRIBED).status_code
    works = 302 if is_post else 200
    assert statuses == {"owner": works, "developer": 403, "viewer": 403, "outsider": 404}
    other = client_of(owner).get if is_post else client_of(owner).put
    assert other(address).status_code == 405


def test_runs_of_other_collections_are_not_found(owner, client_of):
    assert client_of(owner).post(change(RunFactory(), "withdraw")).status_code == 404


def test_the_list_asks_few_queries(owner, collection, run, client_of, django_assert_max_num_queries):
    RunFactory.create_batch(20, collection=collection, submitted_by=owner)
    client = client_of(owner)
    with django_assert_max_num_queries(10):
        client.get(PAGE)
