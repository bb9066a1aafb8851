"""TREC RAG 2026, development data: five judges of one pool, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterator

from grading.statistics.agreement import cohen_kappa, contingency
from reproduce._tables import Artefact, Figure, Files, Table, lines_of

GRADES = range(5)
PREFIX = "rag25-climbmix-umbrela-"
JUDGES = {
    "GPT-5.5": f"{PREFIX}codex-gpt5.5-medium-reasoning-v1.qrels",
    "Qwen v2": f"{PREFIX}qwen3.5-9b-v2.qrels",
    "Ministral v2": f"{PREFIX}ministral-3-14b-instruct-2512-v2.qrels",
    "Qwen v1": f"{PREFIX}qwen3.5-9b-v1.qrels",
    "Ministral v1": f"{PREFIX}ministral-3-14b-instruct-2512-v1.qrels",
}
KAPPAS = {
    ("GPT-5.5", "Qwen v2"): 0.3009,
    ("GPT-5.5", "Ministral v2"): 0.2111,
    ("Qwen v2", "Ministral v2"): 0.3741,
    ("Qwen v2", "Qwen v1"): 0.7751,
    ("Ministral v2", "Ministral v1"): 0.5168,
}


def figures(files: Files) -> Iterator[Figure]:
    """Yield the judgments and topics of each file, and the kappa of each two judges."""
    labels: dict[str, dict[tuple[str, str], int]] = {}
    for judge, name in JUDGES.items():
        rows = [line.split() for line in lines_of(files[name])]
        labels[judge] = {(topic, doc_id): int(grade) for topic, _, doc_id, grade in rows}
        yield Figure(f"{judge}: judgments", 26_341, len(rows))
        yield Figure(f"{judge}: topics", 22, len({topic for topic, _ in labels[judge]}))
    for (first, second), kappa in KAPPAS.items():
        pairs = sorted(labels[first])
        both = ([labels[judge][pair] for pair in pairs] for judge in (first, second))
        table = contingency(*both, rows=list(GRADES), columns=list(GRADES))
        yield Figure(f"kappa of {first} and {second}", kappa, float(cohen_kappa(table)), 4)


FOLDER = "trec-rag-2026/development-data/rag25-dev-umbrela-qrels"
PLACE = f"github.com/TREC-RAG/trec-rag-data at 1de1b22, {FOLDER}"
TABLE = Table(
    "TREC RAG 2026, development data: three judges of one pool",
    "README of the data (counts); no paper prints the kappas, which were computed apart with scikit-learn",
    figures,
    (
        Artefact(JUDGES["GPT-5.5"], PLACE, "ac0bbe1834adaebe9ebaf5dfcca4df9a"),
        Artefact(JUDGES["Qwen v2"], PLACE, "9133d8ac957e324be2bcc8f0418944db"),
        Artefact(JUDGES["Ministral v2"], PLACE, "ec8bf0720d71cc1db423f91eeb8ed86a"),
        Artefact(JUDGES["Qwen v1"], f"{PLACE}/older-versions", "4b6df992d0171808b3e46860db7c79c9"),
        Artefact(JUDGES["Ministral v1"], f"{PLACE}/older-versions", "9aeb0a6f16e69a26874e593546d1f5f4"),
    ),
    "Two judges of the same passages agree no better than .37; two versions of one judge up to .78.",
)
