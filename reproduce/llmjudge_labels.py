"""LLMJudge challenge (LLM4Eval 2024): judged pairs, topics and labels of its two sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reproduce._tables import Artefact, Figure, Files, Table, lines_of

SETS = {
    "llm4eval_dev_qrel_2024.txt": ("development", 7_263, (4_538, 1_403, 625, 697)),
    "llmjudge_test_qrel_idx.txt": ("test", 4_423, (2_005, 1_233, 808, 377)),
}


def figures(files: Files) -> Iterator[Figure]:
    """Yield the counts of each set."""
    for file, (name, pairs, by_label) in SETS.items():
        rows = [line.split() for line in lines_of(files[file])]
        labels = Counter(int(row[3]) for row in rows)
        yield Figure(f"{name}: judged pairs", pairs, len(rows))
        yield Figure(f"{name}: topics", 25, len({row[0] for row in rows}))
        for label, number in enumerate(by_label):
            yield Figure(f"{name}: label {label}", number, labels[label])


PLACE = "github.com/llm4eval/LLMJudge at 81159c6, data"
TABLE = Table(
    "LLMJudge: the judged pairs of the challenge",
    "Rahmani et al., LLMJudge (arXiv 2408.08896); its table could not be read: counted apart in the files",
    figures,
    (
        Artefact("llm4eval_dev_qrel_2024.txt", PLACE, "f3fec5395be9c57659916a87257a9988"),
        Artefact("llmjudge_test_qrel_idx.txt", PLACE, "55285d687b60978dbae14df5af61ea73"),
    ),
)
