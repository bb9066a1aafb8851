"""Rationales of graders are checked: once each, as far as the limits go, and only as they stand now."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading.support import JudgedCitations
from grading.support.claims import RationaleOutcome
from rubricweb.grades.configs import config_for
from rubricweb.grades.store import GradeRow, replace_grades, save_grades
from rubricweb.jobs import limits
from rubricweb.jobs.limits import Limits, change_limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from rubricweb.support import actions, rationales
from rubricweb.support.labels import raters
from rubricweb.support.models import CLAIM_PROMPTS, SupportChunk, SupportJob, SupportJudge, SupportLabel
from rubricweb.support.rationales import SampledRationales, checked_rationales
from tests.factories import BankFactory, ItemFactory, PooledFactory
from tests.rubricweb.support.test_asking import work

INVENTED = "5: The answer is complete. The passage states that whales sing at night, over long distances."
HELD = "4: The passage states that the moon lifts the tides of the seas and oceans."
RESTATED = "3: The passage is accurate and explains very clearly why the tides rise."
RATED = "2"
REPLIES = {"d1": HELD, "d2": INVENTED, "d3": RESTATED, "d4": RATED}
GRADERS = "/collections/autumn/graders/"
CHECK = f"{GRADERS}rationales/"


class Judge:
    """Finds no whales in any passage, and all else."""

    def __init__(self):
        self.asked = []

    def complete(self, messages):
        self.asked.append(messages[0][1])
        return "no_support" if "whales" in messages[0][1] else "full_support"


@pytest.fixture
def judge(monkeypatch):
    made = Judge()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: made)
    return made


@pytest.fixture
def item(sea):
    topic = sea.topics.get(query_id="s1")
    return ItemFactory(bank=BankFactory(collection=sea), topic=topic, text="Why do tides rise?")


@pytest.fixture
def grader(sea, item):
    """A grader with a reason that holds, one made up, one that is the question, and a bare rating."""
    config = config_for("openai_compatible", "llama-3", "QuestionSelfRatedPrompt")
    sea.passages.create(doc_id="d4", text="The sea is blue.")
    passages = dict(sea.passages.values_list("doc_id", "pk"))
    save_grades(
        config,
        [
            GradeRow(item.topic_id, item.revision_id, passages[doc_id], 4, "numeric", reply=reply)
            for doc_id, reply in REPLIES.items()
        ],
    )
    return config


def asking(grader, size=99):
    return actions.Asking("hf_causal", "m", JudgedCitations.ALL, sampled=SampledRationales(grader, size))


def start(sea, owner, grader, most_calls=99, size=99):
    return actions.start(sea, asking(grader, size), limits=Limits(most_calls), by=owner)


def outcomes(sea):
    (row,) = checked_rationales(sea)
    return dict(row.outcomes)


EVERY = {RationaleOutcome.SUPPORTED: 1, RationaleOutcome.UNSUPPORTED: 1, RationaleOutcome.RESTATES: 1}


def test_each_claim_is_asked_once_beside_its_passage(sea, owner, grader, judge):
    job = work(start(sea, owner, grader))
    assert (job.state, job.total, job.calls, job.chunks.count()) == (Job.State.DONE, 2, 2, 1)
    assert "Claim: The passage states that the moon" in "".join(judge.asked)
    assert "Passage: The moon lifts the tides." in "".join(judge.asked)
    assert outcomes(sea) == EVERY
    (row,) = checked_rationales(sea)
    assert (row.sample, row.asked_about, row.checked, row.unsupported.value) == (3, 2, 2, 0.5)
    assert (round(row.restates.interval.low, 3), round(row.restates.interval.high, 3)) == (0.061, 0.792)
    with pytest.raises(actions.NothingToAsk):
        start(sea, owner, grader)
    assert [rater.name for rater in raters(sea)] == ["People"], "labels of claims are none of citations"


def test_a_regrade_takes_the_outcome_away(sea, owner, grader, judge, item):
    work(start(sea, owner, grader))
    passage = sea.passages.get(doc_id="d2")
    again = GradeRow(
        item.topic_id, item.revision_id, passage.pk, 1, "numeric", reply=f"1: {HELD[3:]} Twice daily."
    )
    job = sea.jobs.create(config=grader, scope="again", total=1)
    assert replace_grades(grader, [again], job=job) == 1
    assert outcomes(sea) == {
        RationaleOutcome.SUPPORTED: 1, RationaleOutcome.UNCHECKED: 1, RationaleOutcome.RESTATES: 1
    }  # fmt: skip
    assert work(start(sea, owner, grader)).calls == 2, "the claims of the new reply alone"
    assert outcomes(sea)[RationaleOutcome.SUPPORTED] == 2


def test_a_killed_worker_pays_for_no_claim_twice(sea, owner, grader, judge, monkeypatch):
    job = start(sea, owner, grader, most_calls=1)
    assert (work(job).state, len(judge.asked)) == (Job.State.PAUSED, 1)
    monkeypatch.setattr(limits.leases, "finish", lambda lease, **fields: 1 / 0)
    change_limits(job, Limits(9), by=owner)
    work_on("support", job.chunks.get().pk)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: judge)
    job.refresh_from_db()
    assert (work(job).state, len(judge.asked), len(set(judge.asked))) == (Job.State.DONE, 2, 2)
    assert outcomes(sea) == EVERY


def test_a_reply_without_a_label_is_asked_again_by_a_retry_alone(sea, owner, grader, judge, monkeypatch):
    monkeypatch.setattr(judge, "complete", lambda messages: "Hm.")
    before = work(start(sea, owner, grader))
    assert outcomes(sea) == {RationaleOutcome.UNCLEAR: 2, RationaleOutcome.RESTATES: 1}
    monkeypatch.setattr(judge, "complete", lambda messages: "no_support")
    job = work(actions.retry_failed(before, limits=Limits(9), by=owner))
    assert (job.state, job.calls, job.sample) == (Job.State.DONE, 2, 99)
    assert outcomes(sea)[RationaleOutcome.UNSUPPORTED] == 2


def test_failed_claims_are_asked_again_from_the_page_of_the_job(
    sea, owner, developer, grader, judge, client_of, monkeypatch
):
    monkeypatch.setattr(judge, "complete", lambda messages: "Hm.")
    job = work(start(sea, owner, grader))
    address, client = job.get_absolute_url(), client_of(owner)
    page = client.get(address)
    assert "2 replies of this model without a label" in " ".join(page.text.split())
    assert f'action="{address}"' in page.text
    assert client.post(address).status_code == 422
    assert client.post(address, {"most_calls": 4}).url == f"{GRADERS}#rationales"
    assert SupportJob.objects.filter(is_retry=True).count() == 1
    seen = client_of(developer)
    assert GRADERS + '"' not in seen.get(address).text, "developers may not open the page of graders"
    assert seen.post(address, {"most_calls": 4}).status_code == 403


def test_a_sample_is_the_same_each_time_and_grows_at_its_end(sea, grader):
    every = rationales.rationales(sea, SampledRationales(grader, 99))
    assert len(every) == 3
    assert rationales.rationales(sea, SampledRationales(grader, 2)) == every[:2]


def test_the_page_shows_a_price_before_and_shares_after(sea, owner, grader, judge, client_of):
    client = client_of(owner)
    assert "Check rationales" in client.get(GRADERS).text
    chosen = {"grader": grader.pk, "sample": 50, "backend": "hf_causal", "llm": "m", "longest_reply": 32}
    page = client.get(CHECK, chosen).text
    assert "one per claim" in page
    assert not SupportJob.objects.exists()
    assert client.post(CHECK, chosen | {"most_calls": 9}).status_code == 302
    job = SupportJob.objects.get()
    assert (job.grader, job.sample, job.total) == (grader, 50, 2)
    assert job.get_absolute_url().startswith(f"{CHECK}{job.pk}/")
    assert "0 of 2" in client.get(job.get_absolute_url()).text
    assert client.get(f"/collections/autumn/support/?job={job.pk}").status_code == 404
    work(job)
    page = " ".join(client.get(GRADERS).text.split())
    assert "With an unsupported claim" in page
    assert '33 % <span class="muted small">6 % to 79 %</span>' in page
    assert client.get(CHECK, chosen).text.count("Nothing to ask") == 1
    assert client.get(CHECK, chosen | {"grader": 0}).status_code == 422


def test_the_panel_of_a_pair_marks_its_claims(sea, owner, grader, judge, item, client_of):
    work(start(sea, owner, grader))
    passage = sea.passages.get(doc_id="d2")
    PooledFactory(topic=item.topic, passage=passage)
    address = reverse("review:cell", args=[item.bank_id, item.topic_id, passage.pk, item.pk])
    page = " ".join(client_of(owner).get(address).text.split())
    assert 'data-tone="bad">not in the passage</span> <span dir="auto">The passage states that whales' in page


def test_the_command_says_the_price_starts_and_prints_the_shares(sea, owner, grader, judge):
    def command(*arguments):
        call_command("check_rationales", "autumn", *arguments, stdout=(out := StringIO()))
        return out.getvalue()

    assert command() == "No rationale has been checked.\n"
    chosen = ("--grader", str(grader.pk), "--backend", "hf_causal", "--llm", "m")
    assert "2 claims to ask m about" in command(*chosen, "--price-only")
    assert not SupportJob.objects.exists()
    assert "at most 4 calls" in command(*chosen)
    work(SupportJob.objects.get())
    assert "33% (6% to 79%) of 3 reasons restate the question; of the others 2 of 2" in command()
    (row,) = json.loads(command("--json"))["rationales"]
    assert (row["grader"], row["checked"], row["in_part"]["low"]) == (grader.fingerprint, 2, 0)
    assert "Nothing to ask" in command(*chosen)
    with pytest.raises(CommandError, match="no grader 0 that gave reasons; there are: "):
        command("--grader", "0")
    with pytest.raises(CommandError, match="say --most-calls"):
        command("--grader", str(grader.pk), "--backend", "openai_compatible", "--llm", "n")


def test_the_api_has_the_shares(sea, owner, grader, judge, client_of):
    work(start(sea, owner, grader))
    assert SupportJudge.objects.filter(prompt_id__startswith=CLAIM_PROMPTS).count() == 1
    assert SupportLabel.objects.count() == 2
    assert SupportChunk.objects.get().size == 2
    answer = client_of(owner).get("/api/v1/collections/autumn/graders/rationales/")
    (row,) = answer.json()
    assert row["llm"] == "m"
    assert row["restates"] == {"value": pytest.approx(1 / 3), "low": pytest.approx(0.0615, abs=1e-3),
                                  "high": pytest.approx(0.7923, abs=1e-3)}  # fmt: skip


def test_a_grader_that_replies_with_digits_has_no_rationales(sea, item, owner, client_of):
    """One of its replies is a sentence, as happens to small models; that is nothing to check."""
    config = config_for("hf_seq2seq", "flan-t5", "QuestionSelfRatedPrompt")
    passages = dict(sea.passages.values_list("doc_id", "pk"))
    replies = {"d1": HELD, "d2": "4", "d3": "0"}
    rows = [
        GradeRow(item.topic_id, item.revision_id, passages[doc_id], 4, "numeric", reply=reply)
        for doc_id, reply in replies.items()
    ]
    save_grades(config, rows)
    assert rationales.graders_with_rationales(sea) == []
    assert "Check rationales" not in client_of(owner).get(GRADERS).text


def test_a_grader_that_gives_reasons_is_offered(sea, grader, owner, client_of):
    assert rationales.graders_with_rationales(sea) == [grader]
    assert "Check rationales" in client_of(owner).get(GRADERS).text
