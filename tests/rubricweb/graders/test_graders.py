"""The graders: their state here, a try on five pairs beside people's grades, and the choice."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from grading.graders import registry
from grading.graders.hf_model import SMOLLM2
from grading.types import Grade as Graded, Outcome, Trace
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.prompts import active_prompts, save_prompt
from rubricweb.graders import choices, graders, rated_cells
from rubricweb.graders.choices import CARDS, card_of
from rubricweb.graders.models import DryRun
from rubricweb.graders.rated_cells import human_labels
from rubricweb.grades.engine import chunks
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.jobs.worker import work_on
from tests.factories import STRICT, gradable
from tests.grading.servers.http import Reply, serving
from tests.rubricweb.grades import scripted
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

PAGE = "/collections/autumn/graders/"
SERVER = {"card": "server", "grader_backend": "openai_compatible", "grader_llm": "big-model"}
LOCAL = {"card": "local", "grader_backend": "hf_seq2seq", "grader_llm": ""}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, passages=4, items=2)


@pytest.fixture
def client(client_of, owner, bank):
    return client_of(owner)


@pytest.fixture
def scripts(monkeypatch):
    """The model server's place is taken by a script."""
    target = f"{scripted.__name__}:ScriptedGrader"
    server = replace(registry.BACKENDS["openai_compatible"], target=target, needs_server=False)
    monkeypatch.setitem(registry.BACKENDS, "openai_compatible", server)
    monkeypatch.setattr(scripted, "SCRIPT", [replied])
    monkeypatch.setattr(choices, "name_problem", lambda *_: "")
    chunks.close_until(0)


def replied(number, pair):
    trace = Trace("the very prompt", "Rating: 3", 40)
    yield Graded(pair.item.item_id, pair.passage.passage_id, 3, Outcome.NUMERIC, trace=trace)


def rate(bank, person, *ratings: int) -> None:
    """People's grades of the first pairs of the bank."""
    pairs = [
        (item, pooled.passage)
        for item in bank.items.select_related("topic")
        for pooled in item.topic.pool.select_related("passage")
    ]
    for rating, (item, passage) in zip(ratings, pairs, strict=False):
        HumanGrade.objects.create(
            topic=item.topic,
            revision=item.revision,
            passage=passage,
            by=person,
            number=1,
            rating=rating,
            how=HumanGrade.How.GRID,
        )


def test_every_back_end_has_a_card():
    assert sorted(name for card in CARDS for name in card.backends) == sorted(
        [*(set(registry.BACKENDS) - {"panel"}), "hf_causal", "hf_seq2seq"]
    )


def test_the_page_shows_every_card_with_its_state(client, monkeypatch):
    monkeypatch.setattr(choices, "is_here", lambda llm: llm == SMOLLM2)
    monkeypatch.setattr(registry, "importable", lambda: ("hf_causal", "hf_seq2seq"))
    page = " ".join(re.sub(r"<[^>]+>", " ", markup(client.get(PAGE))).split())
    assert "Word overlap ready in use" in page
    assert "SmolLM2 135M ready here" in page
    assert "FLAN-T5 large needs a download · 3.1 GB" in page
    assert "Model server not configured" in page
    assert "Grades from elsewhere." in page


def test_using_a_grader_says_first_what_that_takes(client, bank):
    page = " ".join(re.sub(r"<[^>]+>", " ", markup(client.get(PAGE, {"card": "flan-t5"}))).split())
    assert "Then 16 to grade, 0 already graded," in page
    assert "(guess)" in page
    assert not GraderConfig.objects.exists()


def test_an_organizer_uses_a_grader(client, owner, collection):
    answer = client.post(f"{PAGE}use/", {**LOCAL, "card": "flan-t5", "grader_llm": "google/flan-t5-large"})
    assert answer["Location"] == f"{PAGE}?card=flan-t5"
    collection.refresh_from_db()
    assert (collection.grader_backend, collection.grader_llm) == ("hf_seq2seq", "google/flan-t5-large")
    assert AuditEntry.objects.get(verb="settings changed").by == owner
    assert card_of(collection).key == "flan-t5"
    client.post(f"{PAGE}use/", {"card": "word-overlap", "grader_backend": "lexical", "grader_llm": "gpt"})
    collection.refresh_from_db()
    assert collection.grader_llm == "lexical", "it goes by its own name"


@pytest.mark.parametrize(
    ("llm", "problem"),
    [
        ("SmolLM2", f"No model has the name SmolLM2: .* Did you mean {SMOLLM2}"),
        ("/models/none", "There is no /models/none on this machine."),
        ("tiny.gguf", "There is no tiny.gguf on this machine."),
    ],
)
def test_a_wrong_name_of_a_model_is_refused_where_it_is_typed(client, collection, llm, problem):
    refused = client.post(f"{PAGE}use/", {"card": "local", "grader_backend": "hf_causal", "grader_llm": llm})
    assert refused.status_code == 422
    assert re.search(problem, markup(refused))
    assert 'id="id_grader_llm_error"' in markup(refused)
    collection.refresh_from_db()
    assert collection.grader_backend == "lexical"


def test_a_folder_and_a_name_of_a_hub_are_taken(client, collection, tmp_path):
    for llm in (str(tmp_path), "allenai/OLMo-2-0425-1B-Instruct"):
        sent = {"card": "local", "grader_backend": "hf_causal", "grader_llm": llm}
        assert client.post(f"{PAGE}use/", sent).status_code == 302
        collection.refresh_from_db()
        assert collection.grader_llm == llm


def test_a_server_says_which_models_it_has(client, monkeypatch):
    assert "No model server is set" in markup(client.post(f"{PAGE}use/", SERVER))
    monkeypatch.setattr(choices, "server_models", lambda: (["huge-model", "small"], ""))
    assert "The server has no model big-model. It has huge-model" in markup(
        client.post(f"{PAGE}use/", SERVER)
    )
    assert client.post(f"{PAGE}use/", SERVER | {"grader_llm": "small"}).status_code == 302
    monkeypatch.setattr(graders, "server_models", lambda: (["huge-model"], ""))
    assert "The server answers: huge-model." in markup(client.post(f"{PAGE}server/", follow=True))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(200, {"data": [{"id": "b"}, {"id": "a"}]}), "The server answers: a, b."),
        (Reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), "Does its address end in /v1?"),
        (Reply(200, {"data": None}), "Does its address end in /v1?"),
        (Reply(200, b""), "Does its address end in /v1?"),
        (Reply(401, {"error": {"message": "no key"}}), "does not answer: "),
    ],
)
def test_whatever_a_server_answers_is_no_error_page(client, settings, reply, message):
    pytest.importorskip("openai")
    with serving(lambda *_: reply) as server:
        settings.OPENAI_BASE_URL = server.url
        assert message in markup(client.post(f"{PAGE}server/", follow=True))


def test_a_server_on_processors_has_a_preset(client, collection, monkeypatch):
    monkeypatch.setattr(choices, "server_models", lambda: (["smollm2.gguf"], ""))
    form = client.get(PAGE, {"card": "server", "preset": "cpu-server"}).context["form"]
    filled = {
        name: str(form[name].value()) for name in ("grader_llm", "option_constrained", "option_timeout_s")
    }
    assert filled == {"grader_llm": "smollm2.gguf", "option_constrained": "true", "option_timeout_s": "600.0"}
    sent = SERVER | {name: form[name].value() for name in form.fields if form[name].value() is not None}
    assert client.post(f"{PAGE}use/", sent).status_code == 302
    collection.refresh_from_db()
    assert collection.grader_options == choices.CPU_SERVER_OPTIONS
    assert client.get(PAGE).context["form"]["option_timeout_s"].value() == 600.0


def test_a_try_stands_beside_what_people_said_over_all_grades(client, bank, assessor, scripts, redis_server):
    rate(bank, assessor, 0, 0, 0, 5, 2, 3, 4, 1)
    answer = client.post(f"{PAGE}attempt/", SERVER)
    assert DryRun.objects.count() == 5
    waiting = markup(client.get(answer["Location"]))
    assert "big-model" in waiting
    for pk in DryRun.objects.values_list("pk", flat=True):
        work_on("dry-run", pk)
    page = markup(client.get(answer["Location"]))
    labels = re.findall(r'<td><span class="grade-chip" data-grade="(\d)"', page)
    assert sorted(labels[::2]) == ["1", "2", "3", "4", "5"]
    assert set(labels[1::2]) == {"3"}
    assert "Within 1 of people on 3 of 5." in page
    assert "Rating: 3" in page
    assert "the very prompt" in page
    assert (Grade.objects.count(), GraderConfig.objects.count()) == (0, 0)


def test_another_try_has_other_pairs(bank, collection, assessor):
    rate(bank, assessor, *[0] * 16)
    prompts = active_prompts(collection)

    def tried(seed):
        return {(one.revision.pk, one.doc_ids) for _, one in graders.five_samples(collection, prompts, seed)}

    assert len(tried(1)) == 5
    assert tried(1) == tried(1) != tried(2)


def test_a_try_without_ratings_of_people_shows_grades_alone(client, bank, scripts, redis_server):
    answer = client.post(f"{PAGE}attempt/", SERVER)
    for pk in DryRun.objects.values_list("pk", flat=True):
        work_on("dry-run", pk)
    page = markup(client.get(answer["Location"]))
    assert DryRun.objects.count() == 2, "one of each topic"
    assert "Nobody has rated these pairs, so there is nothing to compare." in page


def test_a_try_hides_what_its_reader_is_to_rate_blind(collection, bank, assessor, monkeypatch):
    rate(bank, assessor, 5, 4)
    assert len(human_labels(collection)) == 2
    passage = HumanGrade.objects.first().passage_id
    monkeypatch.setattr(rated_cells.visibility, "blind_passages", lambda _: {passage})
    assert passage not in {pk for _, pk in human_labels(collection)}


def test_a_rating_that_was_taken_back_is_no_label(collection, bank, assessor):
    item = bank.items.first()
    passage = item.topic.pool.first().passage
    rate(bank, assessor, 4)
    assert list(human_labels(collection).values()) == [4]
    place = {"topic": item.topic, "revision": item.revision, "passage": passage}
    HumanGrade.objects.create(**place, by=assessor, number=2, is_withdrawn=True, how="grid")
    assert human_labels(collection) == {}


def test_the_trial_refreshes_as_a_part(client, bank, scripts, redis_server):
    answer = client.post(f"{PAGE}attempt/", SERVER)
    tries = re.search(r"tries=([\d%C,]+)", answer["Location"])[1]
    part = markup(client.get(f"{PAGE}trial/?tries={tries}", headers=HTMX))
    assert part.lstrip().startswith('<div id="trial"')
    assert "every 3s" in part


def test_the_prompts_of_a_grader_are_chosen(client, collection):
    chosen = ["FagB", "QuestionCompleteConcisePromptWithAnswerKey2", "NuggetSelfRatedPrompt"]
    assert client.post(f"{PAGE}use/", LOCAL | {"grader_prompts": chosen}).status_code == 302
    collection.refresh_from_db()
    assert sorted(collection.grader_prompts) == sorted(chosen)
    page = markup(client.get(PAGE))
    ticked = re.findall(r'name="grader_prompts" value="(\w+)"[^>]* checked', page)
    assert sorted(ticked) == sorted(chosen)
    for group in choices.ASKED.values():
        assert group in page


def test_recommended_prompts_are_kept_as_no_choice(client, collection):
    default = registry.BACKENDS["hf_seq2seq"].prompt_classes
    for posted in ([*default], [*default, "FagB"], []):
        client.post(f"{PAGE}use/", LOCAL | {"grader_prompts": posted})
        collection.refresh_from_db()
        assert collection.grader_prompts == (posted if "FagB" in posted else [])


def test_own_prompts_are_offered_by_their_id(client, owner, collection):
    row = save_prompt(collection, STRICT, by=owner)[0]
    assert f'<span class="muted small">{row.prompt_id}</span>' in markup(client.get(PAGE, {"card": "local"}))
    assert client.post(f"{PAGE}use/", LOCAL | {"grader_prompts": [row.prompt_id]}).status_code == 302
    collection.refresh_from_db()
    assert active_prompts(collection) == (STRICT,)


def test_whoever_asks_about_answers_must_extract_them(client, collection):
    verifying = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"
    refused = client.post(f"{PAGE}use/", LOCAL | {"grader_prompts": [verifying, "NuggetExtractionPrompt"]})
    assert refused.status_code == 422
    assert f"{verifying} asks about extracted answers: tick a prompt" in markup(refused)
    both = ["QuestionCompleteConciseUnanswerablePromptWithChoices", verifying]
    assert client.post(f"{PAGE}use/", LOCAL | {"grader_prompts": both}).status_code == 302
    collection.refresh_from_db()
    assert collection.grader_prompts == both


@pytest.mark.parametrize("path", ["use/", "attempt/", "server/", "shown/", "answers/", "replies/"])
def test_only_organizers_choose_and_try(client_of, developer, outsider, bank, path):
    assert client_of(developer).get(PAGE).status_code == 403
    assert client_of(outsider).get(PAGE).status_code == 404
    assert client_of(developer).post(f"{PAGE}{path}", SERVER).status_code == 403
    assert client_of(developer).get(f"{PAGE}{path}").status_code == 405
    assert not DryRun.objects.exists()
