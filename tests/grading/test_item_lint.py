"""Marks on items: what each rule catches, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from grading.item_lint import Fault, coverage_marks, word_marks
from grading.types import ItemKind

TOPIC = ("why do leaves turn red", "Pigments")
QUESTIONS = [
    ("Which pigment makes leaves red, and when is it made?", {Fault.COMPOUND}),
    ("How does frost dull colours? Are warm autumns duller?", {Fault.COMPOUND}),
    ("How and why do maples redden?", {Fault.COMPOUND}),
    ("Which people who are old or have asthma should stay inside?", set()),
    ("What are the causes and effects of early frost?", set()),
    ("What is the difference between red and yellow maples?", set()),
    ("When was it discovered?", {Fault.VAGUE}),
    ("Why is it important to rake maple leaves?", set()),
    ("How does anthocyanin form and protect its leaf?", set()),
    ("Do squirrels eat something in winter?", {Fault.VAGUE}),
    ("Why do leaves turn red?", {Fault.BROAD}),
    ("What is the role of pigments?", {Fault.BROAD}),
    ("Which pigment makes leaves red?", set()),
    ("3. Which trees keep their green needles?", set()),
]
NUGGETS = [
    ("Anthocyanin makes maples red; it forms in bright light", {Fault.COMPOUND}),
    ("Cool nights slow the sap. Sugar then stays in the leaf.", {Fault.COMPOUND}),
    ("Dr. Brown named anthocyanin", set()),
    ("It forms in bright light", {Fault.VAGUE}),
    ("Leaves turn red", {Fault.BROAD}),
]


@pytest.mark.parametrize(("text", "faults"), QUESTIONS)
def test_questions(text, faults):
    assert {mark.fault for mark in word_marks(text, ItemKind.QUESTION, TOPIC)} == faults


@pytest.mark.parametrize(("text", "faults"), NUGGETS)
def test_nuggets(text, faults):
    assert {mark.fault for mark in word_marks(text, ItemKind.NUGGET, TOPIC)} == faults


@pytest.mark.parametrize(
    ("ratings", "fault", "evidence"),
    [
        ([0] * 10, Fault.UNANSWERABLE, "each of the pool's 10 passages is rated 0"),
        ([0] * 10 + [-1], Fault.NEVER, "0 of 10 graded passages; the best is rated 0"),
        ([0] * 9 + [3], Fault.NEVER, "0 of 10 graded passages; the best is rated 3"),
        ([5] * 12, Fault.ALWAYS, "12 of 12 graded passages"),
        ([5] * 18 + [0] * 2, Fault.COMMON, "18 of 20 graded passages"),
        ([5] * 12 + [0] * 8, None, ""),
        ([5] * 9, None, ""),
        ([-1, -2] * 20, None, ""),
    ],
)
def test_coverage(ratings, fault, evidence):
    marks = coverage_marks(np.array(ratings, dtype=np.int8), min_grade=4)
    assert [mark.fault for mark in marks] == ([fault] if fault else [])
    assert all(mark.evidence.startswith(evidence) for mark in marks)
