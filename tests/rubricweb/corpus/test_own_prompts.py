"""A collection's own prompts: kept for good, put away, brought back."""

import pytest
from django.db import IntegrityError, transaction

from grading.prompts import from_template
from grading.types import ItemKind
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import OwnPrompt
from rubricweb.corpus.prompts import active_prompts, bring_back, own_prompts, put_away, save_prompt
from rubricweb.grades.configs import active_configs, kinds_of, spec_of
from tests.factories import STRICT, CollectionFactory


def test_the_same_words_are_the_same_prompt(collection, owner):
    row, is_new = save_prompt(collection, STRICT, by=owner)
    again, is_new_again = save_prompt(collection, STRICT, by=owner)
    assert (is_new, is_new_again, again) == (True, False, row)
    assert OwnPrompt.objects.get().prompt == STRICT
    assert AuditEntry.objects.get(verb="prompt saved").detail == STRICT.prompt_id


def test_other_words_are_another_prompt(collection):
    milder = from_template("StrictPrompt", STRICT.template + " Be kind.", {ItemKind.QUESTION}, (0, 3))
    rows = [save_prompt(collection, prompt, by=None)[0] for prompt in (STRICT, milder)]
    assert [row.prompt.template for row in rows] == [STRICT.template, milder.template]
    assert len({row.prompt_id for row in rows}) == 2


def test_each_collection_has_its_own(collection):
    save_prompt(collection, STRICT, by=None)
    assert own_prompts(CollectionFactory()) == []


def test_the_database_refuses_a_second_one_of_an_id(collection):
    row, _ = save_prompt(collection, STRICT, by=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        OwnPrompt.objects.create(
            collection=collection, prompt_class=row.prompt_class, version=row.version, definition={}
        )


def test_what_is_put_away_is_asked_no_more_and_can_come_back(collection, owner):
    collection.grader_backend = "hf_seq2seq"
    collection.grader_prompts = [STRICT.prompt_id, "FagB"]
    collection.save()
    row, _ = save_prompt(collection, STRICT, by=owner)
    put_away(row, by=owner)
    collection.refresh_from_db()
    assert (own_prompts(collection), collection.grader_prompts) == ([], ["FagB"])
    bring_back(row, by=owner)
    assert own_prompts(collection) == [STRICT]
    put_away(row, by=owner)
    assert save_prompt(collection, STRICT, by=owner) == (row, False)
    assert own_prompts(collection) == [STRICT]


def test_a_config_keeps_the_words_whatever_becomes_of_the_prompt(collection):
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-large"
    collection.grader_prompts = [STRICT.prompt_id]
    collection.save()
    row, _ = save_prompt(collection, STRICT, by=None)
    (config,) = active_configs(collection)
    assert str(config) == f"google/flan-t5-large · {STRICT.prompt_id}"
    assert kinds_of(config) == {ItemKind.QUESTION}
    row.delete()
    config.refresh_from_db()
    assert spec_of(config).prompt == STRICT
    assert spec_of(config).fingerprint == config.fingerprint
    assert active_prompts(collection)[0].prompt_class == "QuestionSelfRatedUnanswerablePromptWithChoices"


def test_a_prompt_that_asks_about_answers_names_who_extracts_them(collection):
    words = from_template("AllOfIt", "Answer {question} by {context}", {ItemKind.QUESTION})
    verifying = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"
    published = "QuestionCompleteConciseUnanswerablePromptWithChoices"
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "tiny"
    save_prompt(collection, words, by=None)
    verdicts = []
    for extraction in (words.prompt_id, published):
        collection.grader_prompts = [verifying, extraction]
        source, verifier = active_configs(collection)
        assert verifier.options == {"answers_by": source.fingerprint}
        verdicts.append(verifier)
    assert verdicts[0] != verdicts[1]
    assert spec_of(verdicts[0]).settings == {}
