"""TREC RAG 2024, people and a model on support: agreement, Cohen's kappa and the matrix of labels."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grading.statistics.agreement import cohen_kappa
from reproduce import support_rag24
from reproduce._support import RAGDOLL, read
from reproduce._tables import Artefact, Figure, Files, Table, lines_of

FILE = "opus48_nist_verdicts.jsonl"
WORDS = ("NS", "PS", "FS")
MATRIX = ((1188, 798, 416), (240, 822, 595), (146, 486, 2002))
PAIRS, EQUAL, KAPPA = 6_693, 4_012, 0.394


def figures(files: Files) -> Iterator[Figure]:
    """Yield the matrix of the file's own labels of people, and the agreement with NIST's files."""
    verdicts = {
        (row["run_id"], row["topic_id"], row["sentence_index"], row["citation_slot"]): (
            WORDS.index(row["human_label"]),
            WORDS.index(row["opus_nist_label"]),
        )
        for row in map(json.loads, lines_of(files[FILE]))
    }
    matrix = _matrix(list(verdicts.values()))
    yield Figure("citations labelled by both", PAIRS, int(matrix.sum()))
    yield Figure("equal labels", EQUAL, int(np.trace(matrix)))
    yield Figure("Cohen's kappa", KAPPA, float(cohen_kappa(matrix)), 3)
    for (person, model), count in np.ndenumerate(np.array(MATRIX)):
        yield Figure(f"people {WORDS[person]}, model {WORDS[model]}", count, int(matrix[person, model]))
    official = {
        (answer.run_tag, answer.query_id, place, slot): label
        for name in (support_rag24.FIRST, support_rag24.SECOND)
        for answer in read(files[name])
        for place, sentence in enumerate(answer.labels)
        for slot, label in enumerate(sentence)
    }
    pairs = [(official[key], model) for key, (_, model) in verdicts.items() if official.get(key, -1) >= 0]
    with_official = _matrix(pairs)
    yield Figure("equal labels, people's from NIST's files", EQUAL, int(np.trace(with_official)), 0, 1)
    yield Figure(
        "Cohen's kappa, people's from NIST's files", KAPPA, float(cohen_kappa(with_official)), 3, 0.001
    )


def _matrix(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    matrix = np.zeros((len(WORDS), len(WORDS)), dtype=np.int64)
    np.add.at(matrix, tuple(np.array(pairs).T), 1)
    return matrix


TABLE = Table(
    "Support, TREC RAG 2024: people and Claude Opus 4.8",
    "RAGDoll at a527f97, analysis/opus48-nist-22topic/summary.md",
    figures,
    (
        Artefact(
            FILE,
            f"{RAGDOLL} at a527f97, analysis/opus48-nist-22topic",
            "d3f8d0e579de25219333e6a292189574",
        ),
        *support_rag24.TABLE.artefacts,
    ),
    "Thirteen lines of the file are repeated and count once. One of its labels of people is not NIST's, so "
    "that with NIST's own files 4,011 are equal.",
)
