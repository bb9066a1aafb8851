"""What a pool costs before it is built, on the command line and in the browser."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from rubricweb.corpus.models import Collection, Pooled
from rubricweb.corpus.pooling import PoolRule, apply_pool, stored_rule
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import actions
from rubricweb.grades.pool import preview_pool
from tests.factories import PassageFactory, gradable, grade, lexical_config, ranked
from tests.rubricweb.markup import markup

PAGE = "/collections/autumn/grades/pool/"


@pytest.fixture
def bank(collection):
    """One topic with two questions; its run ranks d1 and d2, which have texts and are not pooled."""
    bank = gradable(collection, topics=1, passages=1, items=2)
    for number in (1, 2):
        PassageFactory(collection=collection, doc_id=f"new{number}", text="Leaves turn red in autumn.")
    ranked(collection.topics.get(), {"alpha": ["new1", "new2", "textless"]})
    return bank


def run_command(*arguments: str) -> dict:
    out = io.StringIO()
    call_command("pool", "autumn", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_only_new_cells_are_counted(bank, collection):
    assert preview_pool(collection, PoolRule(2), []).price.cells == 4
    passage = collection.passages.get(doc_id="new1")
    grade(lexical_config(), bank.items.first(), passage, 3)
    assert preview_pool(collection, PoolRule(2), []).price.cells == 3, "graded before"


def test_the_preview_is_what_regrade_then_grades(bank, collection):
    for pooled in collection.topics.get().pool.all():
        for item in bank.items.all():
            grade(lexical_config(), item, pooled.passage, 0)
    expected = preview_pool(collection, PoolRule(2), []).price.cells
    assert actions.start_grading(collection, by=None) == []
    apply_pool(collection, PoolRule(2), by=None)
    (job,) = actions.start_grading(Collection.objects.get(), by=None)
    assert job.total == expected == 4


def test_a_preview_leaves_the_cached_ratings_alone(bank, collection):
    from rubricweb.grades.matrices import matrices

    before = matrices(lexical_config(), collection_pool(collection))
    preview_pool(collection, PoolRule(2), [])
    after = matrices(lexical_config(), collection_pool(collection))
    assert [grades.matrix.ratings.shape for grades in after.values()] == [
        grades.matrix.ratings.shape for grades in before.values()
    ]


def test_the_command_previews_then_builds(bank, collection):
    told = run_command("--top", "3", "--dry-run")
    assert (told["built"], told["passages"], told["without_text"], told["cost"]["cells"]) == (False, 2, 1, 4)
    assert told["runs"] == [{"run_tag": "alpha", "depth": 3, "ranked": 3, "before": 3, "after": 1}]
    assert (Pooled.objects.count(), stored_rule(collection)) == (1, None)
    assert run_command("--top", "1", "--runs", "alpha", "--top-of", "manual=5")["built"] is True
    assert stored_rule(Collection.objects.get()) == PoolRule(1, {"manual": 5}, ("alpha",))
    assert Pooled.objects.count() == 2
    assert run_command()["passages"] == 0, "without --top, as before"


def test_the_command_in_words(bank, capsys):
    call_command("pool", "autumn", "--top", "3", "--dry-run")
    said = capsys.readouterr().out
    assert "Would add 2 passages to the pools of 1 topics (top 3)." in said
    assert "1 more have no text" in said
    assert "alpha: 3 passages in its top 3; in no pool: 3 before, 1 after" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "how deep"),
        (["--top", "-1"], "expected at least 1"),
        (["--top", "0"], "expected at least 1"),
        (["--top", "1", "--runs", "beta"], "no accepted run beta"),
        (["--top", "1", "--top-of", "guessed=3"], "expected automatic or manual"),
        (["--top", "1", "--top-of", "manual=x"], "expected automatic or manual"),
    ],
)
def test_a_rule_that_does_not_fit_is_refused(bank, arguments, words):
    with pytest.raises(CommandError, match=words):
        run_command(*arguments)
    assert Pooled.objects.count() == 1


def test_an_organizer_previews_and_builds_in_the_browser(owner, bank, collection, client_of):
    client = client_of(owner)
    at_first = client.get(PAGE)
    assert at_first.context["preview"].plan.rule.depth == 20, "the usual pool needs no preview of its own"
    assert "Build this pool" in markup(at_first)
    response = client.get(PAGE, {"depth": 2, "manual": 9, "runs": ["alpha"]})
    assert (response.status_code, response.context["preview"].plan.added) == (200, 2)
    page = markup(response)
    assert 'name="manual" value="9"' in page
    assert "Build this pool" in page
    assert '<h2 id="preview" tabindex="-1" autofocus>' in page
    assert Pooled.objects.count() == 1
    built = client.post(PAGE, {"depth": 2, "manual": 9, "runs": ["alpha"]})
    assert built.url == "/collections/autumn/grades/jobs/missing/", "what grading takes is the next page"
    assert Pooled.objects.count() == 3
    assert "top 2, manual runs 9, of 1 run" in markup(client.get(PAGE))


@pytest.mark.parametrize("wrong", [{"depth": ""}, {"depth": "-1"}, {"depth": 2, "runs": ["beta"]}])
def test_a_wrong_form_says_so_and_builds_nothing(owner, bank, client_of, wrong):
    client = client_of(owner)
    assert client.get(PAGE, wrong).status_code == 422
    assert client.post(PAGE, wrong).status_code == 422
    assert Pooled.objects.count() == 1


def test_roles(owner, developer, viewer, outsider, bank, client_of):
    people = {owner: 200, developer: 403, viewer: 403, outsider: 404}
    assert {person: client_of(person).get(PAGE).status_code for person in people} == people
    assert client_of(developer).post(PAGE, {"depth": 2}).status_code == 403
    assert client_of(owner).put(PAGE).status_code == 405


def test_without_runs_the_next_step_is_to_bring_some(owner, collection, client_of):
    page = markup(client_of(owner).get(PAGE, {"depth": 2}))
    assert "No run is accepted yet." in page
    assert "/collections/autumn/imports/" in page
