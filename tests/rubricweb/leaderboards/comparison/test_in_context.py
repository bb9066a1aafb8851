"""Answers graded sentence by sentence alone, and with the sentences before."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from grading.graders import registry
from grading.in_context import BEFORE, INSTRUCTION, RATED, parts_of
from grading.segmentation import PassagesOf, response_passages
from grading.statistics.mean_intervals import mean_intervals
from rubricweb.archives.layout import write_archive
from rubricweb.archives.restoring import Terms, restore_archive
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Passage, Pooled, Response, Run
from rubricweb.corpus.pools import stamp_of
from rubricweb.grades import actions, configs
from rubricweb.grades.engine import chunks
from rubricweb.grades.in_context import AnswersInContext
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.comparison.in_context import Contexts
from tests.factories import (
    BankFactory,
    ItemFactory,
    PassageFactory,
    PooledFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    take,
)
from tests.rubricweb.grades import scripted
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
PAGE = "/collections/autumn/leaderboards/compare/"
TRAUMA, WINTER, IT = "Helpers suffer from trauma.", "Winter is dull.", "Exercise relieves it."
REST = "Rest relieves trauma."
ANSWERS = {
    "clear": [[TRAUMA, IT]] * 3 + [[REST]] * 3,
    "vague": [[WINTER, IT]] * 6,
}


@pytest.fixture
def prompts_read(monkeypatch):
    """Every prompt that the model read; it rates 5 what relieves trauma, if it can tell."""
    read: list[str] = []

    def reply(_, pair):
        prompt = scripted.BUILT[-1].prompt.render(pair)
        read.append(prompt)
        parts = parts_of(pair.passage.text)
        rated, before = (parts.text, parts.before) if parts else (pair.passage.text, "")
        relieves = "relieves" in rated and "trauma" in f"{before} {rated}"
        yield scripted.rated(pair, 5 if relieves else 0)

    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend("scripted", "Scripted", target, (PROMPT,), True, "script", asks_any=True)
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    chunks.close_until(0)
    scripted.SCRIPT.append(reply)
    yield read
    scripted.SCRIPT.clear()
    chunks.close_until(0)


@pytest.fixture
def bank(collection, redis_server, prompts_read):
    """Six topics with a question each, and two runs; the grader has graded every sentence alone."""
    bank = BankFactory(collection=collection)
    runs = {run_tag: RunFactory(collection=collection, run_tag=run_tag) for run_tag in ANSWERS}
    for number in range(6):
        topic = TopicFactory(collection=collection, query_id=f"t{number}")
        ItemFactory(bank=bank, topic=topic, text=f"What relieves trauma in case {number}?")
        for run_tag, answers in ANSWERS.items():
            answer(runs[run_tag], topic, answers[number])
    work(actions.start_grading(collection, by=None, configs=[grader()]))
    return bank


def answer(run, topic, sentences):
    passages = response_passages(sentences, PassagesOf.SENTENCE)
    for one in passages:
        passage = Passage.objects.filter(collection=run.collection, doc_id=one.doc_id).first()
        passage = passage or PassageFactory(collection=run.collection, doc_id=one.doc_id, text=one.text)
        if not Pooled.objects.filter(topic=topic, passage=passage).exists():
            PooledFactory(topic=topic, passage=passage)
    RankingFactory(run=run, topic=topic, doc_ids=[one.doc_id for one in passages])
    rows = [{"text": text, "citations": None} for text in sentences]
    Response.objects.create(run=run, topic=topic, sentences=rows, passages_of="sentence")


def grader():
    return configs.config_for("scripted", "script", PROMPT)


def work(jobs):
    for job in jobs:
        while queued := list(job.chunks.filter(state="queued").values_list("pk", flat=True)):
            for pk in queued:
                work_on("chunk", pk)
        job.refresh_from_db()
        assert job.state == GradingJob.State.DONE, job.error


def compared(bank, max_words=100) -> Contexts:
    spec = BoardSpec(bank.collection, grader(), bank, configs.kinds_of(grader()), MeasureSpec(cutoff=20))
    return Contexts.of(spec, max_words)


def start(bank, client, **limits):
    return client.post(f"{PAGE}context/?view=context", limits)


def test_a_pronoun_counts_in_context_and_the_difference_is_that_of_the_runs(
    bank, developer, client_of, prompts_read
):
    stamp, pooled, read = stamp_of(bank.collection_id), Pooled.objects.count(), len(prompts_read)
    client = client_of(developer)
    page = markup(client.get(PAGE, {"view": "context", "price": "on"}))
    assert "9 grades missing" in " ".join(page.replace("<strong>", "").replace("</strong>", "").split())
    assert Passage.objects.filter(text__startswith=BEFORE).count() == 0, "looking stores nothing"

    start(bank, client)
    (job,) = GradingJob.objects.filter(config__prompt_class=f"{PROMPT}InContext")
    work([job])
    # Equal sentences are one pair alone, and apart in context; equal ones in context are one passage.
    new = prompts_read[read:]
    assert len(new) == job.total == 3 + 6
    assert all(prompt.startswith(INSTRUCTION) for prompt in new)
    assert sum(f"{BEFORE} {TRAUMA}\n{RATED} {IT}" in prompt for prompt in new) == 3
    assert Passage.objects.filter(text__startswith=BEFORE).count() == 2
    assert not any(REST in prompt for prompt in new), "a first sentence has the grade that it has alone"
    assert (stamp_of(bank.collection_id), Pooled.objects.count()) == (stamp, pooled), "no board changes"

    contexts = compared(bank)
    rows = {row.run_tag: row for row in contexts.rows}
    assert (rows["clear"].alone, rows["clear"].in_context, rows["clear"].difference) == (0.5, 1.0, 0.5)
    assert (rows["vague"].alone, rows["vague"].in_context) == (0, 0)
    ends = mean_intervals(np.array([[1.0, 1, 1, 0, 0, 0]]))
    assert (rows["clear"].low, rows["clear"].high) == (ends.low[0], ends.high[0])
    assert contexts.pairs == (21, 21), "2 x 3 and 3 of clear, 2 x 6 of vague"
    assert [(pair.alone, pair.in_context, pair.is_crossing) for pair in contexts.changed] == [
        (0, 5, True)
    ] * 3
    assert contexts.plan.all == [] or not any(part.cells for part in contexts.plan.all)
    start(bank, client)
    assert GradingJob.objects.count() == 2, "nothing is paid twice"


def test_the_page_shows_both_sides_and_people_rate_the_passage_with_what_is_before_it(
    bank, developer, assessor, client_of, tmp_path
):
    start(bank, client_of(developer))
    work(GradingJob.objects.exclude(state=GradingJob.State.DONE))
    response = client_of(developer).get(PAGE, {"view": "context"})
    page = " ".join(markup(response).split())
    assert "3 of 21 pairs are graded differently in context" in page
    passage = Passage.objects.get(text__contains=f"{TRAUMA}\n")
    item = bank.items.get(topic__query_id="t0")
    cell = reverse("review:cell", args=[bank.pk, item.topic_id, passage.pk, item.pk])
    assert cell in page
    shown = markup(client_of(assessor).get(cell))
    assert f'<blockquote class="prose muted">{TRAUMA}</blockquote>' in shown
    assert f'class="prose passage">{IT}</p>' in shown
    sent = {"rating": "4", "seen": "0", "revision": str(item.revision_id)}
    assert client_of(assessor).post(f"{cell}rate/", sent).status_code == 302
    assert item.revision.human_grades.get().passage == passage

    path = tmp_path / "autumn.zip"
    write_archive(bank.collection, path)
    restore_archive(path, Terms("autumn-copy", joins=True))
    copy = Bank.objects.get(collection__slug="autumn-copy")
    assert compared(copy).run_table().rows == compared(bank).run_table().rows

    Run.objects.filter(run_tag="clear").update(state=Run.State.WITHDRAWN)
    assert client_of(assessor).get(cell).status_code == 404, "its run counts no more"


def test_the_page_plans_only_when_asked(bank, developer, client_of, monkeypatch):
    client = client_of(developer)
    asking = markup(client.get(PAGE, {"view": "context", "price": "on"}))
    assert "missing:" in asking
    assert 'name="most_calls"' in asking
    monkeypatch.setattr(AnswersInContext, "plan", lambda *_: pytest.fail("planned"))
    page = markup(client.get(PAGE, {"view": "context"}))
    assert 'href="?view=context&amp;price=on">What the missing grades take</a>' in page
    assert 'name="most_calls"' not in page


def test_who_has_pairs_to_rate_blind_sees_no_grade_in_context(bank, owner, assessor, client_of):
    start(bank, client_of(owner))
    work(GradingJob.objects.exclude(state=GradingJob.State.DONE))
    campaign = blind_campaign(bank, by=owner, assignees=[assessor])
    cell = take(campaign, assessor)[0].cell
    passage = Passage.objects.filter(text__startswith=BEFORE).first()
    address = reverse("review:passage", args=[bank.pk, cell.topic.pk, passage.pk])
    names = [f"{PROMPT}InContext" in markup(client_of(person).get(address)) for person in (owner, assessor)]
    assert names == [True, False]


def test_limits_other_graders_and_what_is_left_of_a_cancelled_job(bank, developer, client_of, settings):
    client = client_of(developer)
    refused = client.post(f"{PAGE}context/?view=context", {"most_calls": "8"}, follow=True)
    assert "Grading takes 9 model calls, the limit is 8." in markup(refused)
    assert GradingJob.objects.count() == 1
    assert Passage.objects.filter(text__startswith=BEFORE).count() == 0

    settings.CHUNK_CELLS = 4
    start(bank, client)
    job = GradingJob.objects.latest("pk")
    first = job.chunks.order_by("number").values_list("pk", flat=True)[0]
    work_on("chunk", first)
    client.post(reverse("grades:steer", args=["autumn", "grading", job.pk, "cancel"]))
    for pk in job.chunks.values_list("pk", flat=True):
        work_on("chunk", pk)
    job.refresh_from_db()
    graded = Grade.objects.filter(config=job.config).count()
    assert 0 < graded < 9
    (rest,) = actions.go_on([job], by=developer)
    assert (rest.config, rest.total) == (job.config, 9 - graded), "not the pool by the prompt in context"


def test_the_command_prints_the_table_and_what_it_takes(bank, developer, client_of):
    out = StringIO()
    call_command("compare_context", "autumn", "--start", stdout=out, stderr=out)
    work(GradingJob.objects.exclude(state=GradingJob.State.DONE))
    assert "9 pairs" in out.getvalue()
    out = StringIO()
    call_command("compare_context", "autumn", "--format", "tsv", stdout=out, stderr=StringIO())
    lines = [line.split("\t") for line in out.getvalue().splitlines() if not line.startswith("#")]
    assert lines[0][:4] == ["run_tag", "isolated", "in_context", "difference"]
    assert lines[1][0] == "clear"
    assert [float(value) for value in lines[1][1:4]] == [0.5, 1.0, 0.5]
