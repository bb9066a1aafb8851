"""Labels of support by answers, as NIST and RAGDoll publish them: counts, and scores by first citations."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.support import Support
from reproduce._tables import lines_of

UNJUDGED = -1
RAGDOLL = "github.com/castorini/RAGDoll"


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with the labels of its citations, sentence by sentence; -1 is none."""

    run_tag: str
    query_id: str
    labels: tuple[tuple[int, ...], ...]

    @property
    def firsts(self) -> list[int]:
        return [sentence[0] for sentence in self.labels if sentence]

    @property
    def precision(self) -> float:
        """Weighted precision by the first citation of each sentence; 0 where none of these is judged."""
        earned = [Support(label).credit for label in self.firsts if label != UNJUDGED]
        return sum(earned) / len(earned) if earned else 0.0


def read(path: Path) -> list[LabelledAnswer]:
    """Return the answers in the file's order. Some lines have `NaN` for a text, which Python reads."""
    return [_answer(json.loads(line)) for line in lines_of(path)]


def _answer(line: dict[str, Any]) -> LabelledAnswer:
    labels = tuple(
        tuple(int(citation["support"]) for citation in sentence["citations"])
        for sentence in line["sentences"]
    )
    return LabelledAnswer(line["run_id"], line.get("topic_id") or line["narrative_id"], labels)


def counts(answers: Sequence[LabelledAnswer]) -> dict[str, int]:
    """Return how many answers, topics, runs, sentences and labels there are, and how many of each label."""
    labels = Counter(label for answer in answers for sentence in answer.labels for label in sentence)
    return {
        "answers": len(answers),
        "topics": len({answer.query_id for answer in answers}),
        "runs": len({answer.run_tag for answer in answers}),
        "sentences": sum(len(answer.labels) for answer in answers),
        "citations": labels.total(),
        **{f"label {label}": labels[label] for label in (-1, 0, 1, 2)},
    }


def run_precisions(answers: Iterable[LabelledAnswer], topics: int) -> dict[str, float]:
    """Return the weighted precision of each run, summed over its answers and divided by all topics."""
    sums: dict[str, float] = defaultdict(float)
    for answer in answers:
        sums[answer.run_tag] += answer.precision
    return {run_tag: total / topics for run_tag, total in sums.items()}
