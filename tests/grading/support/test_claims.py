"""Claims of rationales: what is asked about, and what a whole rationale comes to."""

from __future__ import annotations

import pytest

from grading.support import CLAIM_PROMPT_ID, Support, label_of, support_prompt
from grading.support.claims import RationaleOutcome, claims, outcome_of
from grading.types import FAILED

QUESTION = "How does privilege contribute to assault?"
INVENTED = (
    "5: The answer is highly relevant, complete, and accurate. The passage **clearly** states that privilege"
    " perpetuates silence. It also notes that culprits go unpunished."
)


def texts(reply: str) -> list[str]:
    return [claim.text for claim in claims(reply, QUESTION)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            INVENTED,
            [
                "The passage clearly states that privilege perpetuates silence.",
                "It also notes that culprits go unpunished.",
            ],
        ),
        ("4", []),
        ("Rating: 4 - mostly relevant", []),
        ("I would give it a 3.", []),
        ('{"grade": 4, "rationale": "It names silence."}', ["It names silence."]),
        ("<think>It is about Mars.</think>\n1. It names silence.\n2. It names\tshame.", None),
        ("Grade: 3\nRationale: Silence is named.", ["Silence is named."]),
        ("It names silence. It names silence.", ["It names silence."]),
    ],
)
def test_claims_are_sentences_that_do_more_than_rate(reply, expected):
    assert texts(reply) == (["It names silence.", "It names shame."] if expected is None else expected)


def test_a_rationale_that_gives_the_question_back_needs_no_model():
    made = claims(
        "The passage provides a clear explanation of how privilege contributes to assault. 5", QUESTION
    )
    assert [claim.restates for claim in made] == [True]
    assert outcome_of(made, {}) is RationaleOutcome.RESTATES


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        ((Support.FULL, Support.NONE), RationaleOutcome.UNSUPPORTED),
        ((FAILED, Support.NONE), RationaleOutcome.UNSUPPORTED),
        ((Support.NONE,), RationaleOutcome.UNCHECKED),
        ((Support.FULL, Support.PARTIAL), RationaleOutcome.PARTIAL),
        ((Support.FULL, Support.FULL), RationaleOutcome.SUPPORTED),
        ((Support.FULL, FAILED), RationaleOutcome.UNCLEAR),
        ((Support.FULL,), RationaleOutcome.UNCHECKED),
    ],
)
def test_one_claim_that_the_passage_does_not_hold_decides(labels, outcome):
    made = claims(INVENTED, QUESTION)
    assert outcome_of(made, dict(zip((claim.md5 for claim in made), labels, strict=False))) is outcome


def test_the_prompt_about_claims_reads_the_labels_of_the_one_about_statements():
    prompt = support_prompt(CLAIM_PROMPT_ID)
    assert prompt.labels == support_prompt().labels
    assert label_of("partial_support", prompt) is Support.PARTIAL
