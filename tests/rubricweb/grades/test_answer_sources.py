"""A verification reads the answers of another grader, and verdicts of two graders' answers never mix."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading.types import ItemKind, Purpose
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.actions import choose_answers
from rubricweb.grades.configs import active_configs, imported_config
from rubricweb.grades.engine import monitor
from rubricweb.grades.models import Grade
from rubricweb.grades.store import GradeRow, save_grades
from tests.rubricweb.grades.answering import (
    EXTRACTING,
    VERIFYING,
    again,
    answering,
    asking,
    press,
    work,
)
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
EVERYTHING = monitor.Scope(None, None)


@pytest.fixture
def collection(collection, monkeypatch, redis_server, settings):
    with answering(collection, monkeypatch, settings):
        yield collection


@pytest.fixture
def item(collection):
    return collection.banks.get().items.filter(kind=ItemKind.QUESTION).first()


@pytest.fixture
def imported(collection, item):
    """Answers to the question with a key, of three of the five passages, from a file."""
    config = imported_config("google/flan-t5-large", EXTRACTING, Purpose.EXTRACT)
    passages = item.topic.pool.values_list("passage", flat=True)[:3]
    cells = [(item.topic_id, item.revision_id, passage) for passage in passages]
    save_grades(config, [GradeRow(*cell, None, "extracted", "red pigment") for cell in cells])
    return config


@pytest.fixture
def page(collection):
    return reverse("graders:answers", args=[collection.slug])


class TestAnswersOfAFile:
    def test_they_are_verified_and_none_is_extracted(self, collection, imported):
        asking(collection, "scripted", VERIFYING)
        choose_answers(collection, imported.fingerprint, by=None)
        gap = monitor.gap(collection, EVERYTHING)
        assert (gap.cells, gap.later, gap.stuck) == (3, 0, 2)
        (job,) = press(collection)
        assert (work(job).state, job.total) == ("done", 3)
        answers = Grade.objects.by(job.config).values_list("rating", "answer")
        assert list(answers) == [(1, "red pigment")] * 3
        assert press(collection) == []

    def test_the_page_says_which_cells_have_none(self, collection, imported, client_of, owner):
        asking(collection, "scripted", VERIFYING)
        choose_answers(collection, imported.fingerprint, by=None)
        missing = markup(client_of(owner).get(f"/collections/{collection.slug}/grades/jobs/?missing=1"))
        assert "2 answers cannot be verified" in missing

    def test_verdicts_of_two_sources_do_not_mix(self, collection, imported):
        extraction, verification = press(collection)
        work(extraction)
        own = work(again(verification)).config
        choose_answers(collection, imported.fingerprint, by=None)
        (job,) = press(collection)
        work(job)
        assert job.config != own
        assert set(Grade.objects.by(own).values_list("answer", flat=True)) == {"anthocyanin"}
        assert set(Grade.objects.by(job.config).values_list("answer", flat=True)) == {"red pigment"}
        assert str(job.config) == f"{own} of the answers of google/flan-t5-large from a file"
        choose_answers(collection, "", by=None)
        assert press(collection) == [], "its own answers have their verdicts still"

    def test_answers_to_nuggets_are_not_read_for_questions(self, collection):
        own = active_configs(collection)[1]
        nuggets = imported_config("google/flan-t5-large", "NuggetExtractionPrompt", Purpose.EXTRACT)
        choose_answers(collection, nuggets.fingerprint, by=None)
        assert active_configs(collection)[1] == own


class TestAnswersOfAnotherModel:
    def test_it_extracts_what_lacks(self, collection):
        """One press has the other model extract, and then this one verify."""
        other = active_configs(collection)[0]
        choose_answers(collection, other.fingerprint, by=None)
        asking(collection, "scripted", VERIFYING)
        collection.grader_llm = "a newer paper"
        collection.save()
        extraction, verification = press(collection)
        assert (extraction.config, extraction.total) == (other, 5)
        assert (verification.after, verification.config.llm) == (extraction, "a newer paper")
        assert str(verification.config).endswith(" of the answers of paper")
        work(extraction)
        assert work(again(verification)).grades.count() == 5


class TestThePage:
    def test_an_organizer_chooses(self, collection, imported, client_of, owner, page):
        client = client_of(owner)
        graders = reverse("graders:graders", args=[collection.slug])
        assert f"google/flan-t5-large · {EXTRACTING} (from a file, 3 answers)" in markup(client.get(graders))
        assert client.post(page, {"answers_by": imported.fingerprint})["Location"] == graders
        collection.refresh_from_db()
        assert collection.answers_by == imported.fingerprint
        assert AuditEntry.objects.get(verb="answers to verify chosen").by == owner
        assert f'value="{imported.fingerprint}" id="id_answers_by_1" checked' in markup(client.get(graders))
        client.post(page, {"answers_by": ""})
        collection.refresh_from_db()
        assert collection.answers_by == ""

    def test_a_grader_that_is_not_offered_is_refused(self, collection, imported, client_of, owner, page):
        unused = imported_config("google/flan-t5-small", EXTRACTING, Purpose.EXTRACT)
        answer = client_of(owner).post(page, {"answers_by": unused.fingerprint}, follow=True)
        assert "Select a valid choice" in markup(answer)
        collection.refresh_from_db()
        assert collection.answers_by == ""

    def test_only_organizers(self, collection, client_of, developer, outsider, page):
        assert client_of(outsider).post(page, {"answers_by": ""}).status_code == 404
        assert client_of(developer).post(page, {"answers_by": ""}).status_code == 403

    def test_the_grader_then_needs_no_extraction(self, collection, imported, client_of, owner):
        use = reverse("graders:use", args=[collection.slug])
        sent = {"card": "local", "grader_backend": "hf_seq2seq", "grader_prompts": [VERIFYING]}
        assert client_of(owner).post(use, sent).status_code == 422
        choose_answers(collection, imported.fingerprint, by=None)
        assert client_of(owner).post(use, sent).status_code == 302


class TestTheCommand:
    def grade(self, collection, *options):
        told = StringIO()
        call_command(
            "grade",
            collection.slug,
            "--llm",
            "paper",
            "--backend",
            "scripted",
            "--json",
            *options,
            stdout=told,
            stderr=StringIO(),
        )
        return json.loads(told.getvalue())["jobs"]

    def test_it_verifies_whose_answers_it_is_told(self, collection, imported):
        (job,) = self.grade(collection, "--prompt-class", VERIFYING, "--answers-by", str(imported.pk))
        assert job["total"] == 3

    def test_graders_are_listed_with_whose_answers_they_verify(self, collection, imported):
        self.grade(collection, "--prompt-class", VERIFYING, "--answers-by", str(imported.pk))
        (job,) = collection.jobs.all()
        work(job)
        listed, documented = StringIO(), StringIO()
        call_command("graders", collection.slug, stdout=listed)
        call_command("graders", collection.slug, "--json", stdout=documented)
        assert "3 grades  of the answers of google/flan-t5-large from a file" in listed.getvalue()
        by_id = {row["id"]: row["answers_by"] for row in json.loads(documented.getvalue())["graders"]}
        assert by_id == {job.config_id: "google/flan-t5-large from a file", imported.pk: ""}

    def test_else_those_of_settings(self, collection, imported):
        choose_answers(collection, imported.fingerprint, by=None)
        assert [job["total"] for job in self.grade(collection, "--prompt-class", VERIFYING)] == [3]

    def test_a_grader_that_extracted_nothing_is_refused(self, collection, imported):
        with pytest.raises(CommandError, match=f"there are: {imported.pk} \\(google/flan-t5-large"):
            self.grade(collection, "--prompt-class", VERIFYING, "--answers-by", "0")

    def test_a_prompt_that_reads_no_answers_is_refused(self, collection, imported):
        with pytest.raises(CommandError, match=f"{EXTRACTING} does not ask about what google/flan-t5-large"):
            self.grade(collection, "--prompt-class", EXTRACTING, "--answers-by", str(imported.pk))
