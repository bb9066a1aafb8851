"""Options of back-ends in Settings, on the command line, and in grader configs."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from grading import prompts
from grading.graders import ANSWERS_BY
from rubricweb.grades.configs import (
    active_configs,
    config_asking,
    config_for,
    options_of,
    running_spec,
)
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.grades.raters import raters
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.board.lookup import find_grader, grader_name
from tests.factories import PassageFactory, gradable, grade
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

PAGE = "/collections/autumn/graders/"
SENT = {"card": "server", "grader_backend": "openai_compatible", "grader_llm": "gpt"}
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"
VERIFYING = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"


@pytest.fixture(autouse=True)
def server(monkeypatch):
    monkeypatch.setattr("rubricweb.graders.choices.server_models", lambda: (["gpt"], ""))


def told(backend: str, prompt_class: str, **chosen) -> GraderConfig:
    return config_asking(backend, "gpt", prompts.get(prompt_class), chosen=chosen)


def command(*arguments: str) -> str:
    err = StringIO()
    call_command("grade", "autumn", "--llm", "gpt-4o", *arguments, stdout=StringIO(), stderr=err)
    return err.getvalue()


@pytest.mark.parametrize(
    ("backend", "llm", "fingerprint"),
    [
        (
            "hf_seq2seq",
            "google/flan-t5-large",
            "68e418cbb27301fe4c3bc773a0315616ec6ac93dae5c3791cdb8ece8cddbd0b0",
        ),
        (
            "openai_compatible",
            "gpt-4o-mini",
            "d991cb83c87938ea01c39966c82bbf6bdd804528f705724138dffe9fa80a5bb1",
        ),
        (
            "hf_causal",
            "meta-llama/Meta-Llama-3-8B-Instruct",
            "7ae0b7e87a3b3ffa7f149d8f918a06b55e1449bbfd14a355ecd553510615abc3",
        ),
    ],
)
def test_graders_without_options_are_those_that_they_were(db, backend, llm, fingerprint):
    config = config_for(backend, llm, RATING)
    assert (config.fingerprint, config.options) == (fingerprint, {})
    spelt_out = {"max_new_tokens": 64, "attempt": 1, "concurrency": 3, "on_unparsable": "default"}
    assert config_asking(backend, llm, prompts.get(RATING), chosen=spelt_out) == config


def test_settings_keep_what_is_not_the_default(owner, collection, client_of):
    sent = {"option_max_new_tokens": "100", "option_attempt": "2", "option_concurrency": "32"}
    assert client_of(owner).post(f"{PAGE}use/", SENT | sent | {"option_timeout_s": "60"}).status_code == 302
    collection.refresh_from_db()
    assert collection.grader_options == {"max_new_tokens": 100, "attempt": 2, "concurrency": 32}
    for config in active_configs(collection):
        assert config.options == {"max_new_tokens": 100, "attempt": 2}
        assert str(config).endswith(", attempt 2, max_new_tokens 100")
    page = markup(client_of(owner).get(PAGE))
    assert 'name="option_concurrency" value="32"' in page
    assert "(6.2) let Llama 3 write 100. From 1 to 131,072. If left empty: 64." in page
    assert "server enforce it. Unless you choose otherwise: false." in page
    assert '<details id="grader-options" open>' in page


def test_settings_and_commands_take_the_options_of_thinking_models(
    owner, collection, client_of, redis_server
):
    sent = {"option_thinking": "off", "option_reasoning_effort": "low"}
    sent |= {"option_request_fields": ' {"top_k": 20} '}
    assert client_of(owner).post(f"{PAGE}use/", SENT | sent).status_code == 302
    collection.refresh_from_db()
    chosen = {"thinking": "off", "reasoning_effort": "low", "request_fields": '{"top_k":20}'}
    assert collection.grader_options == chosen
    assert all(config.options == chosen for config in active_configs(collection))
    assert str(active_configs(collection)[0]).endswith(
        ', reasoning_effort low, request_fields {"top_k":20}, thinking off'
    )
    gradable(collection)
    command("--prompt-class", RATING, "--option", "thinking=on", "--option", 'request_fields={"top_k":  3}')
    options = GradingJob.objects.get().config.options
    assert options == chosen | {"thinking": "on", "request_fields": '{"top_k":3}'}


def test_settings_show_the_options_of_the_chosen_back_end(owner, collection, client_of):
    page = markup(client_of(owner).get(PAGE))
    assert "option_" not in page
    client_of(owner).post(
        f"{PAGE}use/", SENT | {"card": "local", "grader_backend": "hf_extractive", "grader_llm": ""}
    )
    page = markup(client_of(owner).get(PAGE))
    assert 'name="option_no_answer_bias"' in page
    assert "option_json_mode" not in page
    assert '<details id="grader-options">' in page


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"option_max_new_tokens": "0"}, "option max_new_tokens must be a whole number of at least 1"),
        ({"option_json_mode": "perhaps"}, "option json_mode must be true or false"),
        ({"option_request_fields": "top_k"}, "option request_fields must be a JSON object without model,"),
        ({"option_timeout_s": "nan"}, "option timeout_s must be a number of at least 0.1"),
    ],
)
def test_a_value_out_of_range_is_refused_beside_its_control(owner, collection, client_of, sent, says):
    answer = client_of(owner).post(f"{PAGE}use/", SENT | sent)
    assert answer.status_code == 422
    page = markup(answer)
    (name,) = sent
    assert says in page
    assert f'id="id_{name}_error"' in page
    assert '<details id="grader-options" open>' in page
    collection.refresh_from_db()
    assert (collection.grader_backend, collection.grader_options) == ("lexical", {})


def test_the_command_line_takes_options(collection, redis_server):
    gradable(collection)
    command("--prompt-class", RATING, "--option", "max_new_tokens=100", "--option", "concurrency=2")
    job = GradingJob.objects.get()
    assert job.config.options == {"max_new_tokens": 100}
    assert job.options == {"concurrency": 2}
    assert running_spec(job).options == {"max_new_tokens": 100, "concurrency": 2}
    assert running_spec(job).fingerprint == job.config.fingerprint


@pytest.mark.parametrize(
    ("prompt_class", "said", "message"),
    [
        (RATING, "beams=5", "has no option beams; it takes attempt, attempts, concurrency"),
        (RATING, "attempt=0", "option attempt must be a whole number of at least 1 and at most 100"),
        (RATING, "attempt", "--option takes NAME=VALUE, not 'attempt'"),
        (EXTRACTION, "json_mode=true", f"option json_mode means nothing for {EXTRACTION}"),
    ],
)
def test_the_command_line_refuses_what_does_not_fit(collection, prompt_class, said, message):
    with pytest.raises(CommandError, match=message):
        command("--prompt-class", prompt_class, "--option", said)
    assert not GraderConfig.objects.exists()


def test_the_command_starts_from_settings_and_can_go_back_to_a_default(collection, redis_server):
    gradable(collection)
    collection.grader_backend, collection.grader_options = "openai_compatible", {"attempt": 2}
    collection.save()
    command("--prompt-class", RATING)
    command("--prompt-class", RATING, "--option", "attempt=1")
    second, first = GradingJob.objects.order_by("pk")
    assert (second.config.options, first.config.options) == ({"attempt": 2}, {})


def test_settings_of_today_decide_how_fast_a_job_is_graded(collection):
    job = GradingJob(collection=collection, config=told("openai_compatible", RATING), total=1)
    assert running_spec(job).options == {}
    collection.grader_backend, collection.grader_options = (
        "openai_compatible",
        {"timeout_s": 5.0, "attempt": 3},
    )
    assert running_spec(job).options == {"timeout_s": 5.0}
    job.options = {"timeout_s": 9.0}
    assert running_spec(job).options == {"timeout_s": 9.0}
    assert options_of(collection, "hf_causal") == {}


def test_a_second_attempt_verifies_its_own_answers(db):
    first, second = (told("openai_compatible", VERIFYING, attempt=number) for number in (1, 2))
    extracting = told("openai_compatible", EXTRACTION, attempt=2)
    assert second.options == {"attempt": 2, ANSWERS_BY: extracting.fingerprint}
    assert first.options[ANSWERS_BY] != extracting.fingerprint
    assert second.of_answers == ""


def test_attempts_stand_side_by_side(collection):
    bank = gradable(collection, topics=1)
    first, second = (told("openai_compatible", RATING, attempt=number) for number in (1, 2))
    passage = PassageFactory(collection=collection)
    for config, rating in ((first, 4), (second, 0)):
        grade(config, bank.items.first(), passage, rating)
    assert [rater.name for rater in raters(bank)] == ["gpt", "gpt, attempt 2"]
    assert [rater.configs for rater in raters(bank)] == [(first,), (second,)]
    with pytest.raises(BoardError, match=r"several graders are gpt .*attempt 2"):
        find_grader(collection, prompt_class=RATING, llm="gpt")
    assert find_grader(collection, prompt_class=RATING, llm="gpt", pk=second.pk) == second
    assert grader_name(second) == f"gpt · {RATING}, attempt 2 (openai_compatible)"
    out = StringIO()
    call_command("graders", "autumn", "--json", stdout=out)
    assert [row["options"] for row in json.loads(out.getvalue())["graders"]] == [{}, {"attempt": 2}]
