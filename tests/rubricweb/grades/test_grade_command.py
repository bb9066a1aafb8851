"""`rubricweb grade`: what it starts, says, waits for and refuses."""

from __future__ import annotations

import json
import time
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rubricweb.banks.actions import set_answer_keys
from rubricweb.corpus.prompts import save_prompt
from rubricweb.grades.configs import spec_of
from rubricweb.grades.management.commands import grade as command
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs import queue
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.steering import steer
from tests.factories import STRICT, BankFactory, CollectionFactory, gradable, grade, lexical_config
from tests.rubricweb.jobs.workers import workers

LEXICAL = ("--llm", "lexical", "--prompt-class", "LexicalBaseline")


@pytest.fixture
def bank(collection, redis_server):
    return gradable(collection)


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("grade", "autumn", *(arguments or LEXICAL), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_starts_a_job_and_says_that_no_worker_lives(bank):
    out, err = run()
    job = GradingJob.objects.get()
    assert out == ""
    assert f"Started job {job.pk}: 30 cells, 6 items of 2 topics." in err
    assert "No worker is running. Start one with: python -m rubricweb worker" in err


def test_it_is_quiet_about_living_workers(bank):
    queue.beat(WorkerBeat("attic-7", time.time(), "idle", ""))
    assert "worker" not in run()[1]


VERIFYING = ("--llm", "tiny", "--prompt-class", "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2")


def test_one_command_extracts_and_then_verifies(bank):
    set_answer_keys(item := bank.items.first(), texts=["red"], seen=item.version, by=None)
    priced = run(*VERIFYING, "--dry-run")[1]
    assert "10 cells to grade; nothing was started." in priced
    assert "Of them 5 verify answers that are extracted first; fewer if an extraction fails." in priced
    err = run(*VERIFYING)[1]
    extraction, verification = GradingJob.objects.order_by("pk")
    assert f"Started job {extraction.pk}: 5 cells, 1 item of 1 topic." in err
    waits = f"at most 5 cells, 1 item of 1 topic; it waits for the answers of job {extraction.pk}."
    assert f"Started job {verification.pk}: {waits}" in err
    assert "No job was started" in run(*VERIFYING)[1]


def test_json_goes_to_standard_output(bank):
    out, _ = run(*LEXICAL, "--json")
    (job,) = json.loads(out)["jobs"]
    assert job == {
        "id": GradingJob.objects.get().pk, "state": "queued", "total": 30, "done": 0, "failed": 0, "error": ""
    }  # fmt: skip


def test_topics_and_banks_narrow_it(bank, collection):
    BankFactory(collection=collection, name="empty")
    assert "No job was started" in run(*LEXICAL, "--bank", "empty")[1]
    run(*LEXICAL, "--topic", collection.topics.first().query_id, "--bank", "main")
    assert GradingJob.objects.get().total == 15


def test_nothing_missing_is_no_error(bank):
    run()
    out, err = run(*LEXICAL, "--json", "--wait")
    assert json.loads(out) == {"jobs": [], "items_without_text": 0}
    assert "No job was started" in err


def test_a_dry_run_says_the_price_and_starts_nothing(bank):
    out, err = run(*LEXICAL, "--dry-run", "--json")
    priced = json.loads(out)["dry_run"]
    assert (priced["cells"], priced["tokens"], priced["dollars"]) == (30, None, None)
    assert priced["is_guess"]
    assert "30 cells to grade; nothing was started." in err
    assert "(a guess: this grader has not run here yet)" in err
    assert not GradingJob.objects.exists()


def test_a_dry_run_of_a_model_estimates_tokens_and_money(bank, settings):
    settings.PRICES = {"google/flan-t5-large": 3.0}
    model = (
        "--llm",
        "google/flan-t5-large",
        "--prompt-class",
        "QuestionSelfRatedUnanswerablePromptWithChoices",
    )
    out, err = run(*model, "--dry-run", "--json")
    found = json.loads(out)["dry_run"]
    assert found["tokens"] > 30 * 100
    assert found["dollars"] == pytest.approx(found["tokens"] * 3 / 1e6)
    assert "input tokens, estimated" in err
    assert "About $0." in err


def test_retry_failed_takes_failed_grades_only(bank, collection):
    item = bank.items.first()
    grade(lexical_config(), item, item.topic.pool.first().passage, None, "failed")
    assert "Started job" in run(*LEXICAL, "--retry-failed")[1]
    assert GradingJob.objects.values_list("total", "is_retry").get() == (1, True)
    assert "no grade is failed" in run(*LEXICAL, "--retry-failed")[1]


def test_waiting_ends_when_the_job_pauses_itself(bank, monkeypatch):
    reason = "Paused: the quota is used up, 3 times."
    pause = lambda seconds: GradingJob.objects.update(state="paused", pause_reason=reason)  # noqa: E731
    monkeypatch.setattr(command.time, "sleep", pause)
    with pytest.raises(CommandError, match="the quota is used up"):
        run(*LEXICAL, "--wait")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--topic", "zz"), "no topic zz in autumn; there are: "),
        (("--bank", "zz"), "no bank 'zz' in autumn; there are: main"),
        (("--backend", "zz"), "no back-end 'zz'; there are: lexical"),
        (("--prompt-class", "zz"), "LexicalBaseline"),
        (("--backend", "hf_seq2seq"), "QuestionSelfRated"),
    ],
)
def test_what_it_does_not_know_it_lists(bank, arguments, words):
    with pytest.raises(CommandError) as refused:
        run(*LEXICAL, *arguments)
    assert words in str(refused.value)
    assert not GradingJob.objects.exists()


@pytest.mark.parametrize("name", ["Thomas", "QuestionSelfRatedPromptWithReminder", STRICT.prompt_id])
def test_it_asks_every_prompt_that_the_settings_offer(bank, collection, name):
    save_prompt(collection, STRICT, by=None)
    run("--llm", "google/flan-t5-large", "--prompt-class", name)
    spec = spec_of(GradingJob.objects.get().config)
    assert name in {spec.prompt.prompt_id, spec.prompt_class}


def test_an_own_prompt_of_another_collection_is_unknown(bank):
    save_prompt(CollectionFactory(), STRICT, by=None)
    with pytest.raises(CommandError, match="does not ask"):
        run("--llm", "google/flan-t5-large", "--prompt-class", STRICT.prompt_id)


def test_an_unknown_collection_is_listed(bank):
    with pytest.raises(CommandError, match="no collection spring; there are: autumn"):
        call_command("grade", "spring", *LEXICAL)


@pytest.mark.django_db(transaction=True)
def test_waiting_for_a_real_worker(bank, database_url, redis_server, tmp_path):
    with workers(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        out, err = run(*LEXICAL, "--wait", "--json")
    assert json.loads(out)["jobs"][0]["state"] == "done"
    assert "30 of 30" in err
    assert Grade.objects.count() == 30


@pytest.mark.parametrize(("ending", "words"), [("failed", "install more"), ("cancelled", "was cancelled")])
def test_a_job_that_does_not_end_well_is_an_error(bank, monkeypatch, ending, words):
    def end_it(seconds: float) -> None:
        job = GradingJob.objects.get()
        if ending == "cancelled":
            steer(job, "cancel-now", by=None)
        else:
            GradingJob.objects.update(state="failed", error="install more")

    monkeypatch.setattr(command.time, "sleep", end_it)
    with pytest.raises(CommandError, match=words):
        run(*LEXICAL, "--wait")
