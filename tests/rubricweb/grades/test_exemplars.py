"""Graders that are shown pairs that people rated: chosen once, sent, kept apart, measured without them."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from grading.errors import GraderUnavailable
from grading.graders.exemplars import EXEMPLAR_EVENTS, names_in
from rubricweb.archives.layout import write_archive
from rubricweb.archives.removal import delete_collection
from rubricweb.archives.restoring import Terms, restore_archive
from rubricweb.corpus.models import Collection
from rubricweb.graders.rated_cells import sample
from rubricweb.grades import actions
from rubricweb.grades.configs import active_configs, spec_of
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.price import price
from rubricweb.grades.exemplars import CHANGED, exemplar_cells, exemplar_slots
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.panel_making import rated_votes
from rubricweb.jobs.worker import work_on
from tests.factories import gradable

PAGE = "/collections/autumn/graders/"
EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"
RATING = "QuestionSelfRatedPromptWithReminder"
SENT = {
    "card": "server",
    "grader_backend": "openai_compatible",
    "grader_llm": "gpt",
    "grader_prompts": [RATING],
}
TOPICS, PASSAGES = 3, 4


@pytest.fixture(autouse=True)
def server(monkeypatch):
    monkeypatch.setattr("rubricweb.graders.choices.server_models", lambda: (["gpt"], ""))


@pytest.fixture
def bank(collection):
    bank = gradable(collection, topics=TOPICS, passages=PASSAGES, items=2)
    for passage in collection.passages.all():
        passage.text = f"<{passage.pk}> is what this passage has to say."
        passage.save()
    return bank


@pytest.fixture
def rated(bank, assessor) -> list[Cell]:
    """All passages of each topic are rated 0, 2, 3 and 5 for its first item."""
    cells = []
    for topic in bank.collection.topics.order_by("pk"):
        revision = bank.items.filter(topic=topic).order_by("pk")[0].revision
        for passage, rating in zip(topic.pool.order_by("pk"), (0, 2, 3, 5), strict=True):
            cells.append(Cell(topic.pk, revision.pk, passage.passage_id))
            rate_cell(cells[-1], rating=rating, by=assessor, seen=0)
    return cells


def used(client, **options: str) -> GraderConfig:
    """What the page chooses with these options."""
    sent = {f"option_{name}": value for name, value in options.items()}
    assert client.post(f"{PAGE}use/", SENT | sent).status_code == 302
    (config,) = active_configs(Collection.objects.get(slug="autumn"))
    return config


def test_the_choice_is_kept_whatever_people_rate_later(rated, bank, client_of, owner, developer):
    client = client_of(owner)
    plain = used(client)
    config = used(client, exemplars="4")
    assert config.fingerprint != plain.fingerprint
    assert str(config).endswith(", exemplars 4")
    assert "exemplar" not in str(plain)
    names = {name for slots in names_in(config.options).values() for slot in slots for name in slot}
    assert names <= {str(uid) for uid in HumanGrade.objects.values_list("uid", flat=True)}
    shown = HumanGrade.objects.filter(uid__in=names)
    assert {row.rating for row in shown} == {0, 2, 3, 5}
    rate_cell(rated[0], rating=1, by=developer, seen=0)
    for cell in rated[1:3]:
        rate_cell(cell, rating=5, by=developer, seen=0)
    assert used(client, exemplars="4") == config
    used(client)
    with pytest.raises(CommandError, match="means nothing for"):
        call_command(
            "grade", "autumn", "--llm=gpt-4o", f"--prompt-class={EXTRACTION}", "--option=exemplars=4"
        )
    other = used(client, exemplars="4", exemplar_seed="1")
    assert other.options[EXEMPLAR_EVENTS] != config.options[EXEMPLAR_EVENTS]
    assert config.team != other.team


def test_a_choice_needs_rated_pairs(bank, client_of, owner):
    page = client_of(owner).post(f"{PAGE}use/", SENT | {"option_exemplars": "4"})
    assert page.status_code == 422
    assert "needs pairs that people rated alike" in page.content.decode()
    command = ["grade", "autumn", "--llm=gpt-4o", f"--prompt-class={RATING}", "--option=exemplars=4"]
    with pytest.raises(CommandError, match="needs pairs that people rated alike"):
        call_command(*command, "--dry-run", stderr=StringIO())


def test_the_price_counts_what_exemplars_add(rated, bank, client_of, owner):
    plain, config = used(client_of(owner)), used(client_of(owner), exemplars="4")
    alone, shown = (
        price(bank.collection, missing_cells(bank.collection, [each]), []) for each in (plain, config)
    )
    assert (shown.cells, shown.calls) == (alone.cells, alone.calls)
    assert shown.tokens > alone.tokens + 30 * shown.cells


def test_models_are_shown_other_topics_only_and_people_are_compared_without_them(
    rated, bank, client_of, owner, settings, redis_server
):
    pytest.importorskip("openai")
    from tests.grading.servers.http import serving
    from tests.grading.servers.replies import says

    config = used(client_of(owner), exemplars="4")
    with serving(lambda *_: says("4")) as running:
        settings.OPENAI_BASE_URL = running.url
        chunks.close_until(0)
        (job,) = actions.start_grading(bank.collection, by=None, configs=[config])
        for pk in job.chunks.values_list("pk", flat=True):
            work_on("chunk", pk)
        chunks.close_until(0)
    job.refresh_from_db()
    assert (job.state, job.failures) == ("done", {})
    texts = dict(bank.collection.topics.values_list("pk", "text"))
    of_topic = {
        pk: set(bank.collection.topics.get(pk=pk).pool.values_list("passage__text", flat=True))
        for pk in texts
    }
    starts: dict[int, set[str]] = {}
    for prompt in running.prompts():
        before, _, after = prompt.partition("Grade what follows in the same way.")
        (topic,) = [pk for pk, passages in of_topic.items() if any(text in after for text in passages)]
        assert not any(text in before for text in of_topic[topic])
        assert sorted(re.findall(r"^Grade: (\d)$", before, re.MULTILINE)) == ["0", "2", "3", "5"]
        starts.setdefault(topic, set()).add(before)
    assert set(map(len, starts.values())) == {1}
    assert set(starts) == set(texts)
    exemplars = exemplar_cells([config])
    assert len(sample(bank, config)) == len(rated) - len(exemplars) < len(rated)
    votes = rated_votes(bank.collection, [config])
    assert len(votes.human) == len(rated) - len(exemplars)
    grade = Grade.objects.by(config).select_related("topic", "revision", "passage").first()
    asked = chunks.with_call(
        grade,
        chunks.pair(grade.topic, grade.revision, grade.passage, kind=next(iter(names_in(config.options)))),
    )
    assert len(asked.exemplars) == 4


def test_a_copy_grades_on_once_the_original_is_deleted(rated, bank, client_of, owner, tmp_path):
    config = used(client_of(owner), exemplars="2")
    path, cells = tmp_path / "autumn.zip", exemplar_cells([config])
    write_archive(bank.collection, path)
    for slug in ("first-copy", "second-copy"):
        restore_archive(path, Terms(slug, joins=True))
    for slug in ("autumn", "first-copy"):
        delete_collection(Collection.objects.get(slug=slug), by=None)
        assert len(exemplar_slots(spec_of(config))) == 2
        assert exemplar_cells([config]) == cells
    assert active_configs(Collection.objects.get(slug="second-copy")) == [config]
    delete_collection(Collection.objects.get(slug="second-copy"), by=None)
    with pytest.raises(GraderUnavailable, match="choose others, by exemplar_seed"):
        exemplar_slots(spec_of(config))


def test_a_changed_exemplar_stops_the_grader_and_an_archive_keeps_it(
    rated, bank, client_of, owner, redis_server, tmp_path, settings
):
    config = used(client_of(owner), exemplars="2")
    path = tmp_path / "autumn.zip"
    write_archive(bank.collection, path)
    delete_collection(bank.collection, by=None)
    restore_archive(path, Terms(joins=True))
    restored = Collection.objects.get(slug="autumn")
    assert active_configs(restored) == [config]
    assert len(exemplar_cells([config])) == 4
    row = HumanGrade.objects.get(uid=next(iter(names_in(config.options).values()))[0][0])
    row.passage.text += " And more."
    row.passage.save()
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    (job,) = actions.start_grading(restored, by=None, configs=[config])
    chunks.close_until(0)
    work_on("chunk", job.chunks.first().pk)
    chunks.close_until(0)
    job.refresh_from_db()
    assert (job.state, CHANGED in job.error) == ("failed", True)
