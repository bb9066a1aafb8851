"""TREC RAG 2025, people's labels of support: the counts of the file without unjudged sentences."""

from __future__ import annotations

from collections.abc import Iterator

from reproduce._support import RAGDOLL, counts, read
from reproduce._tables import Artefact, Figure, Files, Table

FILE = "rag25_human_support_labels_without_unjudged_sentences.jsonl"
REFERENCE = {
    "answers": 992,
    "topics": 17,
    "runs": 76,
    "sentences": 13_423,
    "citations": 12_790,
    "label -1": 0,
    "label 0": 5_173,
    "label 1": 3_599,
    "label 2": 4_018,
}


def figures(files: Files) -> Iterator[Figure]:
    """Yield the counts."""
    answers = read(files[FILE])
    ours = counts(answers)
    for what, number in REFERENCE.items():
        yield Figure(what, number, ours[what])
    empty = sum(not answer.labels for answer in answers)
    yield Figure("answers without sentences", 6, empty)


TABLE = Table(
    "Support, TREC RAG 2025: people's labels",
    "no table prints these counts: they were counted apart, by another program, in the same public file",
    figures,
    (
        Artefact(
            FILE,
            f"{RAGDOLL} at a4b8bb49, data/trec-rag-2025/human-support-labels",
            "c0e316d98c66faf7510c2a504caa5e78",
        ),
    ),
)
