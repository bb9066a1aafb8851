"""Making a run on its pages: the choice, the preview with its limits, the job, and each step."""

import pytest
from django.urls import reverse

from grading.systems import SystemStep
from grading.systems.pipeline import Answering
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from rubricweb.jobs.models import Job
from rubricweb.systems import made
from rubricweb.systems.make import METHODS, PRESETS
from rubricweb.systems.models import SystemJob
from tests import factories
from tests.rubricweb.markup import markup
from tests.rubricweb.systems.conftest import MOON, start, work

HTMX = {"HTTP_HX_REQUEST": "true"}
MAKE = "/collections/autumn/systems/"
MODEL = {"backend": "openai_compatible", "llm": "m"}
FIELDS = {
    "bm25": {"depth": 100},
    "fusion": {"depth": 100, "runs": ["a", "b"]},
    "rerank": {"depth": 100, "rerank_passes": 1, **MODEL},
    "rate": {"depth": 100, "rating_prompt": "UmbrelaStyle", **MODEL},
    "sentences": {"depth": 100, "sources": 20, "max_words": 400},
    "ragnarok": {"depth": 100, "sources": 20, "max_words": 400, "rerank_passes": 0, **MODEL},
    "spans": {"depth": 100, "sources": 20, "max_words": 400, "rerank_passes": 0, **MODEL},
    "rifer": {"depth": 100, "sources": 5, "max_words": 400, **MODEL},
    "eifrp": {"depth": 100, "sources": 5, "max_words": 400, **MODEL},
    "prompted": {"style": "web", **MODEL},
}


def made_address(job, name="made"):
    return reverse(f"systems:{name}", args=[job.collection.slug, job.run_id])


def limits_address(job):
    return reverse("grades:limits", args=[job.collection.slug, "runs", job.pk])


def topic_address(job):
    """Where the first topic is open below its row."""
    return f"{made_address(job)}?topic={job.chunks.first().topic_id}"


def fields(method, **more):
    return {"method": method, "run_tag": "own", **FIELDS[method], **more}


def test_every_method_is_offered_in_plain_words(sea, owner, client_of):
    page = markup(client_of(owner).get(MAKE))
    for method in METHODS.values():
        assert f'href="?method={method.name}"' in page
    assert "about 43 per topic" in page
    assert "none: it costs nothing" in page


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_previewed_and_started(sea, owner, client_of, method):
    for tag in ("a", "b"):
        factories.RunFactory(collection=sea, run_tag=tag)
    client = client_of(owner)
    assert client.get(MAKE, {"method": method}).status_code == 200
    preview = client.get(MAKE, fields(method))
    assert preview.status_code == 200
    assert '<h2 id="preview" tabindex="-1" autofocus>' in markup(preview)
    assert "autofocus" not in markup(client.get(MAKE, {"method": method}))
    assert ("nothing, because no model is asked" in markup(preview)) == (not METHODS[method].needs_model)
    assert not SystemJob.objects.exists()
    response = client.post(MAKE, fields(method, most_calls=50))
    job = SystemJob.objects.get()
    assert response["Location"] == made_address(job)
    assert (job.system.answering in METHODS[method].answerings, job.total, job.by) == (True, 2, owner)


def test_without_a_run_there_is_nothing_to_start_from_but_bm25(sea, owner, client_of):
    client = client_of(owner)
    assert 'name="runs"' not in markup(client.get(MAKE, {"method": "ragnarok"}))
    assert 'name="runs"' in markup(client.get(MAKE, {"method": "fusion"}))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.label)
def test_a_preset_fills_in_the_form(sea, owner, client_of, preset):
    response = client_of(owner).get(f"{MAKE}?{preset.query}")
    form = response.context["form"]
    assert response.status_code == 200
    assert {name: form[name].value() for name in preset.settings} == {
        name: str(value) for name, value in preset.settings.items()
    }


def test_without_a_price_the_limit_on_calls_is_demanded(sea, owner, client_of):
    client = client_of(owner)
    page = markup(client.get(MAKE, fields("ragnarok")))
    assert "unknown, because no price is set for this model" in page
    assert "No price is set for this model. Expected: 2." in page
    response = client.post(MAKE, fields("ragnarok"))
    assert response.status_code == 422
    assert "most_calls" in response.context["limits"].errors
    assert not SystemJob.objects.exists()


def test_a_price_gives_a_limit_on_money(sea, owner, client_of, settings):
    settings.PRICES = {"m": 1000}
    preview = client_of(owner).get(MAKE, fields("ragnarok"))
    assert preview.context["expected"].price.dollars == pytest.approx(1.5, abs=0.3)
    assert preview.context["limits"].initial["most_calls"] == 4
    client_of(owner).post(MAKE, fields("ragnarok", most_calls=4, most_dollars="2.5"))
    assert SystemJob.objects.get().most_dollars == 2.5


def test_on_own_machines_a_model_costs_only_time(sea, owner, client_of):
    page = markup(client_of(owner).get(MAKE, fields("rifer", backend="hf_causal")))
    assert "the model runs on the workers' own machines" in page


def test_a_measured_system_tells_its_time(sea, owner, client_of, redis_server):
    job = work(start(sea, owner, run_tag="before", answering=Answering.SENTENCES))
    job.chunks.update(seconds=10.0)
    assert "14 to 30 s" in markup(client_of(owner).get(MAKE, fields("sentences")))


@pytest.mark.parametrize(
    ("method", "wrong", "field"),
    [
        ("bm25", {"run_tag": "two words"}, "run_tag"),
        ("bm25", {"run_tag": "taken"}, "run_tag"),
        ("bm25", {"depth": 0}, "depth"),
        ("bm25", {"topics": ["999999"]}, "topics"),
        ("fusion", {"runs": ["taken"]}, "runs"),
        ("rerank", {"rerank_passes": 0}, "rerank_passes"),
        ("prompted", {"style": "poem"}, "style"),
    ],
)
def test_what_does_not_fit_is_refused_beside_its_field(sea, owner, client_of, method, wrong, field):
    factories.RunFactory(collection=sea, run_tag="taken")
    for ask in ("get", "post"):
        response = getattr(client_of(owner), ask)(MAKE, fields(method, **wrong))
        assert (response.status_code, list(response.context["form"].errors)) == (422, [field])


def test_only_organizers_make_runs_and_developers_see_how(sea, owner, client_of, viewer, outsider):
    developer = factories.MembershipFactory(collection=sea, role=Role.DEVELOPER).user
    job = start(sea, owner, answering=Answering.NONE)
    pages = (made_address(job), topic_address(job))
    asked = {
        who: [client_of(who).get(page).status_code for page in (MAKE, *pages)]
        for who in (owner, developer, viewer, outsider)
    }
    assert asked == {
        owner: [200, 200, 200],
        developer: [403, 200, 200],
        viewer: [403, 403, 403],
        outsider: [404, 404, 404],
    }
    page = markup(client_of(developer).get(made_address(job)))
    assert job.run.run_tag in page
    assert 'href="?method=' not in page
    assert f'href="{MAKE}"' not in page
    posts = [made_address(job, "make-rest"), limits_address(job)]
    assert {client_of(developer).post(post).status_code for post in posts} == {403}
    assert {client_of(owner).get(post).status_code for post in posts} == {405}


def test_a_job_is_paused_resumed_cancelled_and_made_again(sea, owner, client_of):
    job, client = start(sea, owner, answering=Answering.NONE), client_of(owner)
    page = made_address(job)
    for act, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        steer = reverse("grades:steer", args=[sea.slug, "runs", job.pk, act])
        assert f'action="{steer}"' in markup(client.get(page))
        assert client.post(steer, {"next": page}).url == page
        job.refresh_from_db()
        assert job.state == state
    response = client.post(made_address(job, "make-rest"), {"part": "job"}, **HTMX)
    job.refresh_from_db()
    assert (response.status_code, job.state) == (200, "queued")
    assert 'id="job"' in markup(response)
    client.post(reverse("grades:steer", args=[sea.slug, "runs", job.pk, "pause"]))
    entries = AuditEntry.objects.filter(verb__startswith="run's making", kind="run", object_id=job.run_id)
    assert list(entries.order_by("pk").values_list("verb", "detail")) == [
        (f"run's making {done}", job.run.run_tag) for done in ("paused", "resumed", "cancelled", "paused")
    ]


def test_limits_are_raised_and_the_job_goes_on(sea, owner, client_of, writer):
    job = work(start(sea, owner, most_calls=1, answering=Answering.RAGNAROK, **MODEL))
    client = client_of(owner)
    assert "as often as it may" in markup(client.get(made_address(job)))
    refused = markup(client.post(limits_address(job), {"most_calls": 0}, follow=True))
    assert "Maximum number of model calls: Ensure this value is greater than or equal to 1." in refused
    assert client.post(limits_address(job), {"most_calls": 9}).url == made_address(job)
    assert work(job).state == Job.State.DONE


def test_a_run_says_how_it_was_made(sea, owner, client_of, writer):
    job = work(start(sea, owner, answering=Answering.RAGNAROK, rerank_passes=1, **MODEL))
    page = markup(client_of(owner).get(made_address(job)))
    for words in ("Listwise@1, ChatQa@1", "m, openai_compatible", "1 pass<", "nothing is random"):
        assert words in page
    assert made_address(job) in markup(client_of(owner).get(reverse("corpus:runs", args=["autumn"])))


def test_a_made_run_opens_below_its_row(sea, owner, client_of):
    jobs = [start(sea, owner, run_tag=tag, answering=Answering.NONE) for tag in ("first", "second")]
    client = client_of(owner)
    assert 'id="job"' not in markup(client.get(MAKE))
    page = markup(client.get(made_address(jobs[0])))
    assert all(f'id="run-{job.run_id}"' in page for job in jobs)
    opened = page.index(f'id="run-{jobs[0].run_id}"')
    assert page.index('id="job"') > opened
    assert f'{made_address(jobs[0])}#run-{jobs[0].run_id}" aria-current="page"' in page
    assert 'href="?method=' in page, "the next run is made from here"
    part = markup(client.get(made_address(jobs[0]), **HTMX))
    assert "second" not in part


def test_the_topics_of_a_job_are_read_at_once(sea, owner, client_of, django_assert_max_num_queries):
    job = work(start(sea, owner, answering=Answering.SENTENCES))
    client = client_of(owner)
    client.get(made_address(job))
    with django_assert_max_num_queries(14):
        client.get(made_address(job))


def test_each_step_of_a_topic_can_be_opened(sea, owner, client_of, writer):
    sea.passages.filter(doc_id="d1").update(text=f"{MOON} <script>alert(1)</script>")
    job = work(start(sea, owner, answering=Answering.RAGNAROK, rerank_passes=1, **MODEL))
    client = client_of(owner)
    assert client.get(f"{made_address(job)}?topic={10**6}").status_code == 404
    page = markup(client.get(topic_address(job)))
    assert "2 steps" in page
    assert "Prompt Listwise@1" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert 'href="#rank-1"' in page
    assert 'id="rank-1"' in page


def test_a_topic_that_waits_has_no_steps_yet(sea, owner, client_of):
    job = start(sea, owner, answering=Answering.NONE)
    page = markup(client_of(owner).get(topic_address(job)))
    assert "This topic is not done yet: queued." in page


def test_facts_tell_where_they_come_from_and_where_they_were_verified():
    steps = [
        SystemStep("extract", "KeyFacts@1", "", "The moon pulls.\nNone", source=0),
        SystemStep("verify", "FactInDocument@1", "", "A moon that pulls.", source=1, fact="The moon pulls."),
        SystemStep("confirm", "FactInSentence@1", "", "Yes", source=1, fact="The moon pulls."),
        SystemStep("extract", "KeyFacts@1", "", "The sun helps.", source=1),
        SystemStep("verify", "FactInDocument@1", "", "No", source=2, fact="The moon pulls."),
        SystemStep("verify", "FactInDocument@1", "", "Sunny days.", source=2, fact="The sun helps."),
        SystemStep("confirm", "FactInSentence@1", "", "No", source=2, fact="The sun helps."),
    ]
    moon, sun = made.facts_of(steps)
    assert (moon.text, moon.number) == ("The moon pulls.", 1)
    assert [(one.number, one.sentence, one.is_confirmed) for one in moon.checks] == [
        (2, "A moon that pulls.", True),
        (3, None, False),
    ]
    assert [(one.number, one.sentence, one.is_confirmed) for one in sun.checks] == [(3, "Sunny days.", False)]
