"""Plug-ins: a distribution brings a grader, a prompt and a measure; a faulty one is left out and named."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading import plugins, prompts
from grading.errors import BadFormat, GraderUnavailable
from grading.formats import Content, registry as formats
from grading.graders import registry
from grading.graders.registry import build
from grading.measures import names, registry as measures
from grading.prompts.prompt import by_class
from rubricweb.grades.configs import config_of, require_genuine, spec_for
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs.management.commands import doctor
from rubricweb.jobs.worker import work_on
from tests.factories import gradable, grade, ranked
from tests.rubricweb.markup import markup

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "tests/plugin/shared_words.py"
ENTRIES = {
    "rubricweb.graders": "shared_words = shared_words:GRADER",
    "rubricweb.prompts": "shared_words = shared_words:PROMPT",
    "rubricweb.measures": "useful_passages = shared_words:MEASURE",
}
Install = Callable[..., tuple[plugins.Plugin, ...]]


@pytest.fixture
def install(tmp_path, monkeypatch) -> Iterator[Install]:
    """Installs a distribution in a folder of sys.path, as pip does, and loads the plug-ins."""
    kept = dict(registry.BACKENDS), dict(by_class()), list(measures.MEASURES)
    monkeypatch.syspath_prepend(tmp_path)

    def installed(
        name: str, version: str, entries: dict[str, str], code: str = ""
    ) -> tuple[plugins.Plugin, ...]:
        information = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        information.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (information / "METADATA").write_text(metadata, encoding="utf-8")
        text = "\n".join(f"[{group}]\n{line}" for group, line in entries.items())
        (information / "entry_points.txt").write_text(text, encoding="utf-8")
        if code:
            (tmp_path / f"{name.replace('-', '_')}.py").write_text(code, encoding="utf-8")
        importlib.invalidate_caches()
        return plugins.load()

    yield installed
    for registered, before in zip((registry.BACKENDS, by_class()), kept[:2], strict=True):
        registered.clear()
        registered.update(before)
    measures.MEASURES[:] = kept[2]
    formats.PLUGGED.clear()
    measures.find.cache_clear()
    names.parse.cache_clear()
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").parent == tmp_path:
            del sys.modules[name]
    plugins._LOADED.clear()


@pytest.fixture
def example(install, tmp_path) -> tuple[plugins.Plugin, ...]:
    shutil.copy(EXAMPLE, tmp_path)
    return install("shared-words", "1.2", ENTRIES)


def test_example_is_registered_with_its_distribution(example):
    assert [(each.group, each.objects, each.problem) for each in example] == [
        ("rubricweb.graders", ("shared_words",), ""),
        ("rubricweb.measures", ("useful_passages",), ""),
        ("rubricweb.prompts", ("SharedWords",), ""),
    ]
    assert registry.BACKENDS["shared_words"].plugin == "shared-words 1.2"
    assert registry.requirement("shared_words")[0] == "shared_words"
    assert "shared_words" in registry.importable()
    assert plugins.load() == example


def test_another_version_is_another_grader(example):
    spec = spec_for("shared_words", "words", prompts.get("SharedWords"))
    assert spec.options["plugin"] == "shared-words 1.2"
    assert build(spec).spec == spec
    backend = registry.BACKENDS["shared_words"]
    registry.BACKENDS["shared_words"] = replace(backend, plugin="shared-words 1.3")
    assert spec_for("shared_words", "words", spec.prompt).fingerprint != spec.fingerprint
    with pytest.raises(
        GraderUnavailable, match=r"by shared-words 1\.2, and shared-words 1\.3, shared-words 1\.2"
    ):
        build(spec)


@pytest.mark.django_db
def test_plugin_grades_and_its_measure_ranks(example, collection, owner, client_of, redis_server):
    bank = gradable(collection, topics=2, passages=3, items=2)
    for topic in collection.topics.all():
        ranked(
            topic, {f"run-{topic.pk}": [each.passage.doc_id for each in topic.pool.select_related("passage")]}
        )
    page = markup(client_of(owner).get(reverse("graders:graders", args=[collection.slug])))
    assert "the plug-in shared-words 1.2" in page
    call_command(
        "grade",
        collection.slug,
        "--backend",
        "shared_words",
        "--llm",
        "words",
        "--prompt-class",
        "SharedWords",
    )
    for chunk in JobChunk.objects.values_list("pk", flat=True):
        work_on("chunk", chunk)
    assert GradingJob.objects.get().state == "done"
    config = Grade.objects.first().config
    assert (Grade.objects.count(), config.settings) == (12, {"plugin": "shared-words 1.2"})
    require_genuine(config)
    board = client_of(owner).get(
        reverse("leaderboards:board", args=[collection.slug]),
        {"grader": config.pk, "measure": "useful_passages", "bank": bank.pk},
    )
    text = " ".join(re.sub(r"<[^>]+>", " ", board.text).split())
    assert board.status_code == 200
    assert "plugin shared-words 1.2" in text
    assert re.search(r"[Mm]easure by:? shared-words 1\.2", text)


@pytest.mark.django_db
def test_pages_hold_where_the_plugin_of_a_collection_is_gone(example, collection, owner, client_of):
    bank = gradable(collection, topics=1)
    topic, item = collection.topics.get(), bank.items.first()
    config = config_of(spec_for("shared_words", "words", prompts.get("SharedWords")))
    for pooled in topic.pool.select_related("passage"):
        grade(config, item, pooled.passage, 4)
    collection.grader_backend, collection.grader_llm = "shared_words", "words"
    collection.save()
    del registry.BACKENDS["shared_words"], by_class()["SharedWords"]
    of_collection = "graders:graders", "leaderboards:board", "home:collection", "grades:jobs"
    pages = [reverse(name, args=[collection.slug]) for name in of_collection]
    pages.append(reverse("review:topic", args=[bank.pk, topic.pk]) + "?view=grid")
    pages.append(reverse("editor:drafts", args=[bank.pk, topic.pk]))
    assert [client_of(owner).get(page).status_code for page in pages] == [200] * len(pages)


def test_the_help_has_the_example():
    text = (ROOT / "docs/help/judges.md").read_text(encoding="utf-8")
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```" in text
    assert all(line in text for line in (f'"{each.split(" = ")[1]}"' for each in ENTRIES.values()))


OUR_ANSWERS = "#answers of June\nq1\tTides follow the moon.\nq2\tSalt lowers the freezing point.\n"


@pytest.fixture
def answers(install) -> tuple[plugins.Plugin, ...]:
    """The format that the help shows."""
    text = (ROOT / "docs/help/judges.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(\"\"\"A format of answers.*?)```", text, re.DOTALL)
    assert 'answers = "our_answers:ANSWERS"' in text
    return install("our-answers", "2.0", {"rubricweb.formats": "answers = our_answers:ANSWERS"}, code)


@pytest.mark.django_db
def test_format_of_a_plugin_is_recognised_and_imported(answers, collection, tmp_path):
    assert [(each.objects, each.problem) for each in answers] == [(("our-answers",), "")]
    path = tmp_path / "june.tsv"
    path.write_text(OUR_ANSWERS, encoding="utf-8")
    assert formats.recognise(path).plugin == "our-answers 2.0"
    call_command("import_collection", collection.slug, "--responses", str(path))
    run = collection.runs.get(run_tag="june")
    texts = [row.sentences[0]["text"] for row in run.responses.order_by("topic__query_id")]
    assert texts == ["Tides follow the moon.", "Salt lowers the freezing point."]
    ours = tmp_path / "topics.tsv"
    ours.write_text("q1\tWhy tides?\n", encoding="utf-8")
    assert formats.plugged(ours, Content.RESPONSES) is None


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        ("[1 / 0]", "ZeroDivisionError: division by zero"),
        ("['no response']", "BadPlugin: it is a str, expected Response"),
    ],
)
@pytest.mark.django_db
def test_a_format_that_fails_is_named_and_nothing_is_imported(install, collection, tmp_path, read, problem):
    code = (
        "from grading.formats import Content, Format\n"
        "MINE = Format('mine', 'Mine', Content.RESPONSES, lambda sample: sample.lines[0] == '#mine',\n"
        f"    lambda path: {read}, None, False, '')\n"
    )
    install("mine", "0.1", {"rubricweb.formats": "mine = mine:MINE"}, code)
    path = tmp_path / "a.txt"
    path.write_text("#mine\n", encoding="utf-8")
    with pytest.raises(
        (BadFormat, CommandError), match=re.escape(f"mine 0.1 cannot read it as Mine ({problem}")
    ):
        call_command("import_collection", collection.slug, "--responses", str(path))
    assert not collection.runs.exists()


def test_a_format_of_another_content_or_that_asks_too_much_is_left_out(install, tmp_path):
    code = (
        "from grading.formats import Content, Format\n"
        "def recognises(sample): raise KeyError('first')\n"
        "RUN = Format('r', 'R', Content.RUN, recognises, list, None, False, '')\n"
        "ODD = Format('odd', 'Odd', Content.TOPICS, recognises, list, None, False, '')\n"
    )
    [odd, run] = install("odd", "0.1", {"rubricweb.formats": "a = odd:ODD\nb = odd:RUN"}, code)
    assert odd.problem == ""
    assert "the format 'r' is of run, expected one of: topics, passages, responses" in run.problem
    path = tmp_path / "a.txt"
    path.write_text("what is this\n", encoding="utf-8")
    with pytest.raises(BadFormat, match="no known format"):
        formats.recognise(path)


FAULTY = {
    "cannot-import": (
        "import nowhere_to_be_found\n",
        "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    ),
    "leaves": ("raise SystemExit('goodbye')\n", "SystemExit: goodbye"),
    "wrong-kind": ("GRADER = 'a string'\n", "BadPlugin: it is a str, expected Backend"),
    "same-name": (
        "from grading.graders.registry import BACKENDS\nGRADER = BACKENDS['lexical']\n",
        "BadPlugin: the name 'lexical' is taken",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", FAULTY)
def test_faulty_plugin_is_named_and_left_out(install, collection, owner, client_of, redis_server, name):
    code, problem = FAULTY[name]
    before = set(registry.BACKENDS)
    [faulty] = install(name, "0.1", {"rubricweb.graders": f"mine = {name.replace('-', '_')}:GRADER"}, code)
    assert (faulty.distribution, faulty.objects, faulty.problem) == (f"{name} 0.1", (), problem)
    assert set(registry.BACKENDS) == before
    [finding] = [each for each in doctor.examine() if each.part == "plug-in"]
    assert not finding.is_ok
    assert f"{name} 0.1, mine is left out: {problem}" in finding.text
    page = markup(client_of(owner).get(reverse("graders:graders", args=[collection.slug])))
    assert f"<strong>{name} 0.1</strong> is left out" in page
