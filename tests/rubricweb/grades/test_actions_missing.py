"""Which cells are missing, and that a job takes exactly those, once."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from grading.types import ItemKind, Purpose
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.core.models import AuditEntry
from rubricweb.grades import actions, configs
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine.gaps import listed
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.engine.stages import left_to_start
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk
from rubricweb.jobs.worker import work_on
from tests.factories import gradable, grade, lexical_config

EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def found(collection, config=None, **scope) -> set[tuple[int, int]]:
    (missing,) = missing_cells(collection, [config or lexical_config()], **scope)
    return {
        cell for gap in listed(collection, missing.gaps) for cells in gap.pairs_by_passage() for cell in cells
    }


def all_cells(items) -> set[tuple[int, int]]:
    return {(item.revision_id, row.passage_id) for item in items for row in item.topic.pool.all()}


def started_cells() -> list[tuple[int, int]]:
    return [cell for chunk in JobChunk.objects.all() for cell in cells_of(chunk)]


def test_everything_is_missing_at_first(collection):
    bank = gradable(collection)
    assert found(collection) == all_cells(bank.items.all())
    assert len(found(collection)) == 2 * 5 * 3


def test_graded_and_failed_cells_are_not_missing(collection):
    bank = gradable(collection)
    item = bank.items.first()
    first, second, *_ = (row.passage for row in item.topic.pool.all())
    grade(lexical_config(), item, first, 3)
    grade(lexical_config(), item, second, None, "failed")
    expected = all_cells(bank.items.all()) - {(item.revision_id, first.pk), (item.revision_id, second.pk)}
    assert found(collection) == expected


def test_retired_items_ask_nothing(collection):
    bank = gradable(collection)
    item = bank.items.first()
    Item.objects.filter(pk=item.pk).update(retired_at=collection.created_at)
    assert found(collection) == all_cells(bank.items.active())


def test_scopes_narrow_it(collection):
    bank = gradable(collection)
    topic = collection.topics.first()
    one = bank.items.for_topic(topic)[:1]
    assert found(collection, topics=[topic]) == all_cells(bank.items.for_topic(topic))
    items = bank.items.filter(pk=one[0].pk)
    assert found(collection, items=items) == all_cells(items)


def test_kinds_that_the_prompt_is_not_worded_for_are_left_out(collection):
    bank = gradable(collection)
    bank.items.filter(topic=collection.topics.first()).update(kind=ItemKind.NUGGET)
    config = config_for("hf_seq2seq", "google/flan-t5-large", "NuggetSelfRatedPrompt")
    assert found(collection, config) == all_cells(bank.items.filter(kind=ItemKind.NUGGET))


def test_items_without_text_are_counted_and_not_graded(collection):
    bank = gradable(collection)
    item = bank.items.first()
    ItemRevision.objects.filter(pk=item.revision_id).update(text="")
    (missing,) = missing_cells(collection, [lexical_config()])
    assert missing.wordless == 1
    assert found(collection) == all_cells(bank.items.exclude(pk=item.pk))


def test_extracted_answers_count_though_they_have_no_rating(collection):
    bank = gradable(collection)
    config = config_for("hf_seq2seq", "google/flan-t5-large", EXTRACTION)
    assert config.purpose == Purpose.EXTRACT
    item = bank.items.first()
    passage = item.topic.pool.first().passage
    grade(config, item, passage, None, "extracted")
    assert found(collection, config) == all_cells(bank.items.all()) - {(item.revision_id, passage.pk)}


def test_a_direct_config_grades_one_wording_a_topic(collection):
    gradable(collection)
    config = GraderConfig.objects.create(
        backend="imported", llm="judge", prompt_class="Relevance", purpose=Purpose.DIRECT, fingerprint="d"
    )
    assert configs.kinds_of(config) == {ItemKind.DIRECT}
    (missing,) = missing_cells(collection, [config])
    assert missing.cells == 2 * 5
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    assert job.total == 2 * 5
    made = ItemRevision.objects.filter(uid=DIRECT_UID).values_list("topic__text", "text")
    assert [topic for topic, text in made if topic != text] == []
    assert {revision for revision, _ in started_cells()} == set(
        ItemRevision.objects.filter(uid=DIRECT_UID).values_list("pk", flat=True)
    )


def test_a_job_takes_exactly_the_missing_cells(collection, developer, settings):
    settings.CHUNK_CELLS = 6
    bank = gradable(collection)
    (job,) = actions.start_grading(collection, by=developer)
    assert sorted(started_cells()) == sorted(all_cells(bank.items.all()))
    assert (job.total, job.scope, job.by) == (30, "6 items of 2 topics", developer)
    entry = AuditEntry.objects.get(verb="grading started")
    assert (entry.by, entry.object_id) == (developer, job.pk)


def test_chunks_keep_topics_apart_and_passages_together(collection, settings):
    settings.CHUNK_CELLS = 7
    gradable(collection)
    actions.start_grading(collection, by=None)
    topic_of = dict(ItemRevision.objects.values_list("pk", "topic_id"))
    seen_in: dict[int, set[int]] = {}
    for chunk in JobChunk.objects.all():
        assert chunk.size == len(cells_of(chunk))
        assert {topic_of[revision] for revision, _ in cells_of(chunk)} == {chunk.topic_id}
        for _, passage in cells_of(chunk):
            seen_in.setdefault(passage, set()).add(chunk.pk)
    assert {len(chunks) for chunks in seen_in.values()} == {1}
    assert sorted(JobChunk.objects.values_list("size", flat=True)) == [3, 3, 6, 6, 6, 6]


def test_a_passage_with_more_items_than_a_chunk_still_stays_whole(collection, settings):
    settings.CHUNK_CELLS = 2
    gradable(collection, topics=1, passages=2, items=3)
    actions.start_grading(collection, by=None)
    assert list(JobChunk.objects.values_list("size", flat=True)) == [3, 3]


def test_cells_of_a_live_job_are_not_taken_again(collection):
    gradable(collection)
    assert len(actions.start_grading(collection, by=None, topics=[collection.topics.first()])) == 1
    (second,) = actions.start_grading(collection, by=None)
    assert second.total == 15
    assert len(started_cells()) == len(set(started_cells())) == 30
    assert actions.start_grading(collection, by=None) == []
    assert left_to_start(collection, missing_cells(collection, [lexical_config()]))[0].cells == 0


def test_nothing_missing_makes_no_job(collection):
    gradable(collection)
    actions.start_grading(collection, by=None)
    for pk in list(JobChunk.objects.values_list("pk", flat=True)):
        work_on("chunk", pk)
    assert Grade.objects.count() == 30
    assert actions.start_grading(collection, by=None) == []
    assert GradingJob.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_people_who_press_at_once_share_one_job(collection, redis_server):
    gradable(collection, topics=3, passages=20, items=4)
    config = lexical_config()
    gate, made, errors = threading.Barrier(2), [], []

    def press() -> None:
        try:
            gate.wait(timeout=10)
            made.extend(actions.start_grading(collection, by=None, configs=[config]))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)
        finally:
            connection.close()

    people = [threading.Thread(target=press) for _ in range(2)]
    for person in people:
        person.start()
    for person in people:
        person.join(timeout=30)
    assert errors == []
    assert [job.total for job in made] == [240]
    assert len(started_cells()) == len(set(started_cells())) == 240
