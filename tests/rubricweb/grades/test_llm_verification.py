"""A model verifies what it extracted before: which cells, with which answer, and what a changed key does."""

from dataclasses import replace

import pytest

from grading.graders import registry
from grading.types import Grade as Graded, ItemKind, Outcome
from rubricweb.banks.actions import add_item
from rubricweb.grades import actions, jobs, verification
from rubricweb.grades.configs import active_configs, spec_of
from rubricweb.grades.engine import chunks, monitor
from rubricweb.grades.engine.missing import failed_cells, missing_cells
from rubricweb.grades.models import Grade, GradingJob, JobChunk, MatrixStamp
from rubricweb.grades.store import GradeRow, save_grades
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

EXTRACTING = "QuestionCompleteConciseUnanswerablePromptWithChoices"
VERIFYING = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"


@pytest.fixture
def scripts(monkeypatch, collection):
    """The collection's grader does what the test says; it extracts and verifies."""
    backend = registry.BACKENDS["hf_seq2seq"]
    target = f"{scripted.__name__}:ScriptedGrader"
    monkeypatch.setitem(registry.BACKENDS, "scripted", replace(backend, name="scripted", target=target))
    monkeypatch.setattr(scripted, "SCRIPT", [])
    chunks.close_until(0)
    use(collection, "scripted", "paper")
    return scripted.SCRIPT


def use(collection, backend, llm):
    collection.grader_backend, collection.grader_llm = backend, llm
    collection.grader_prompts = [EXTRACTING, VERIFYING]
    collection.save()


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=5, items=2)


@pytest.fixture
def item(bank):
    item = bank.items.first()
    change(item, "anthocyanin", "carotene")
    return item


def change(item, *texts):
    return verification.change_answer_key(item, texts=texts, seen=item.version, by=None)


def extracted(config, item, *answers):
    """The first passages of the pool have these answers."""
    passages = [pooled.passage_id for pooled in item.topic.pool.all()]
    cells = [(item.topic_id, item.revision_id, passage) for passage in passages[: len(answers)]]
    rows = [GradeRow(*cell, None, "extracted", answer) for cell, answer in zip(cells, answers, strict=True)]
    save_grades(config, rows)


def verdict(number, pair):
    yield Graded(pair.item.item_id, pair.passage.passage_id, 1, Outcome.NUMERIC, pair.answer)


def graded(collection, verifier):
    """One job by the verifier, worked off here."""
    started = actions.start_grading(collection, by=None, configs=[verifier])
    (job,) = [job for job in started if job.config == verifier and not job.is_waiting]
    for chunk in JobChunk.objects.filter(job=job):
        work_on("chunk", chunk.pk)
    job.refresh_from_db()
    return job


def test_only_cells_with_an_answer_can_be_verified(scripts, collection, item):
    source, verifier = active_configs(collection)
    (found,) = missing_cells(collection, [verifier])
    assert (found.cells, found.unextracted) == (0, 5)
    extracted(source, item, "anthocyanin", "carotene", "apple pie")
    (found,) = missing_cells(collection, [verifier])
    assert (found.cells, found.unextracted) == (3, 2)
    other = bank_item_without_key(item)
    extracted(source, other, "frost")
    assert missing_cells(collection, [verifier])[0].cells == 3


def bank_item_without_key(item):
    return item.bank.items.last()


def test_a_failed_extraction_is_no_answer(scripts, collection, item):
    source, verifier = active_configs(collection)
    passage = item.topic.pool.first().passage_id
    save_grades(source, [GradeRow(item.topic_id, item.revision_id, passage, None, "failed")])
    assert missing_cells(collection, [verifier])[0].unextracted == 5


def test_the_grader_is_told_the_answer_and_the_keys(scripts, collection, item, redis_server):
    source, verifier = active_configs(collection)
    extracted(source, item, "anthocyanin", "carotene", "apple pie")
    told = []

    def answered(number, pair):
        told.append((pair.answer, pair.item.answers))
        yield from verdict(number, pair)

    scripts.append(answered)
    job = graded(collection, verifier)
    keys = ("anthocyanin", "carotene")
    assert told == [("anthocyanin", keys), ("carotene", keys), ("apple pie", keys)]
    assert (job.state, Grade.objects.by(verifier).count()) == ("done", 3)
    call = jobs.latest_calls(job, 1).object_list[0]
    assert '" the correct answer is "anthocyanin" or "carotene". Is "apple pie" an equally' in call.prompt
    assert missing_cells(collection, [verifier])[0].cells == 0


def test_the_page_says_what_waits_for_an_extraction(
    scripts, collection, item, client_of, owner, redis_server
):
    extracted(active_configs(collection)[0], item, "anthocyanin", "carotene")
    gap = monitor.gap(collection, monitor.Scope(None, None))
    assert (gap.later, gap.stuck, gap.cells) == (3, 0, 10 - 2 + 2 + 3)
    page = markup(client_of(owner).get(f"/collections/{collection.slug}/grades/jobs/?missing=1"))
    assert "3 of them verify answers that are extracted first" in page


def test_a_changed_key_takes_the_verdicts_of_the_old_one_away(scripts, collection, item, redis_server):
    source, verifier = active_configs(collection)
    extracted(source, item, "anthocyanin", "carotene", "apple pie")
    scripts.append(verdict)
    graded(collection, verifier)
    stamp = MatrixStamp.objects.get(config=verifier)
    found = change(item, "anthocyanin")
    assert (found.answers, found.changed, found.removed) == (0, 0, 3)
    assert not Grade.objects.by(verifier).exists()
    assert Grade.objects.by(source).count() == 3
    moved = MatrixStamp.objects.get(config=verifier)
    assert (moved.grades, moved.number != stamp.number) == (0, True)
    assert missing_cells(collection, [verifier])[0].cells == 3
    assert change(item, "anthocyanin").removed == 0


def test_a_verdict_by_a_key_that_changed_meanwhile_fails_and_is_retried(
    scripts, collection, item, redis_server
):
    source, verifier = active_configs(collection)
    extracted(source, item, "anthocyanin", "carotene")

    def answered(number, pair):
        if number == 0:
            change(item.bank.items.get(pk=item.pk), "carotene")
        yield from verdict(number, pair)

    scripts.append(answered)
    job = graded(collection, verifier)
    assert job.state == "done"
    assert sum(JobChunk.objects.filter(job=job).values_list("failed", flat=True)) == 2
    assert set(Grade.objects.by(verifier).values_list("rating", "outcome", "reply")) == {
        (None, "failed", "The answer key changed while the model was asked.")
    }
    scripts.append(verdict)
    assert failed_cells(collection, [verifier])[0].cells == 2
    (retry,) = actions.retry_failed(collection, by=None, configs=[verifier])
    for chunk in JobChunk.objects.filter(job=retry):
        work_on("chunk", chunk.pk)
    assert set(Grade.objects.by(verifier).values_list("rating", "outcome")) == {(1, "numeric")}


@pytest.mark.models
def test_a_real_t5_assigns_nuggets_through_a_real_worker(
    transactional_db, database_url, redis_server, tmp_path, collection, bank
):
    """Support, partial support and none are 2, 1 and 0; a reply that names no label is a failed grade."""
    pytest.importorskip("torch")
    from tests.grading import tiny_writers

    folder, topic = tmp_path / "t5", bank.items.first().topic
    bank.items.all().delete()
    nugget = add_item(bank, topic, kind=ItemKind.NUGGET, text="red pigment", by=None)
    use(collection, "hf_seq2seq", str(folder))
    collection.grader_prompts = ["NuggetAssignment"]
    collection.save()
    (config,) = active_configs(collection)
    passages = [pooled.passage for pooled in topic.pool.select_related("passage")]
    pairs = [chunks.pair(topic, nugget.revision, passage, ItemKind.NUGGET) for passage in passages]
    said = ("support", "partial_support", "not_support", "perhaps", "supports")
    asked = map(spec_of(config).prompt.render, pairs)
    tiny_writers.build_t5_of(folder, dict(zip(asked, said, strict=True)))
    with workers(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        actions.start_grading(collection, by=None)
        wait_until(lambda: GradingJob.objects.get().has_ended, what="the job's end")
    ratings = dict(Grade.objects.by(config).values_list("passage_id", "rating"))
    assert [ratings[passage.pk] for passage in passages] == [2, 1, 0, None, 2]


@pytest.mark.models
def test_a_real_t5_extracts_and_then_verifies_through_a_real_worker(
    transactional_db, database_url, redis_server, tmp_path, collection, item
):
    pytest.importorskip("torch")
    from tests.grading import tiny_writers

    folder = tmp_path / "t5"
    use(collection, "hf_seq2seq", str(folder))
    source, verifier = active_configs(collection)
    says = {0: ("anthocyanin", "yes"), 1: ("apple pie", "no")}
    other = bank_item_without_key(item)
    replies, verdicts = {}, {}
    for number, pooled in enumerate(item.topic.pool.select_related("passage")):
        answer, judged = says[number % 2]
        for asked in (item, other):
            pair = chunks.pair(item.topic, asked.revision, pooled.passage, ItemKind.QUESTION, answer)
            replies[spec_of(source).prompt.render(pair)] = answer
        replies[
            spec_of(verifier).prompt.render(
                chunks.pair(item.topic, item.revision, pooled.passage, ItemKind.QUESTION, answer)
            )
        ] = judged
        verdicts[pooled.passage_id] = int(judged == "yes")
    tiny_writers.build_t5_of(folder, replies)
    with workers(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        jobs_started = actions.start_grading(collection, by=None)
        assert [job.total for job in jobs_started] == [10, 5]
        wait_until(lambda: not GradingJob.objects.exclude(state="done").exists(), what="both jobs' end")
    assert dict(Grade.objects.by(verifier).values_list("passage_id", "rating")) == verdicts
    assert set(Grade.objects.by(verifier).values_list("answer", flat=True)) == {"anthocyanin", "apple pie"}
