"""The methods that organizers choose from stand in docs/help/runs.md with the calls that they take."""

from pathlib import Path

from grading.systems.pipeline import Answering
from rubricweb.systems.make import METHODS, PRESETS

DOCS = Path(__file__).resolve().parents[3] / "docs" / "help" / "runs.md"


def test_the_table_of_methods_is_that_of_the_docs():
    text = DOCS.read_text(encoding="utf-8")
    for method in METHODS.values():
        asks, calls = ("yes", method.calls.split()[-3]) if method.needs_model else ("no", "0")
        assert f"| {method.label} | {asks} | {calls} | {method.source} |" in text


def test_the_presets_stand_in_the_docs():
    text = DOCS.read_text(encoding="utf-8")
    assert [preset.label for preset in PRESETS if f"| {preset.label} | " not in text] == []


def test_every_way_to_answer_is_offered():
    assert {answering for method in METHODS.values() for answering in method.answerings} == set(Answering)
