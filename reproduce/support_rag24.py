"""TREC RAG 2024, people's labels of support: the counts of its two files, and the best run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from reproduce._support import RAGDOLL, counts, read, run_precisions
from reproduce._tables import Artefact, Figure, Files, Table

FIRST = "final.citation_judgments_without_prediction.20241025.jsonl"
SECOND = "final.citation_judgments_Webassess.20241031.jsonl"
PRINTED: Mapping[str, tuple[int, ...]] = {
    FIRST: (381, 3406, 2840, 0, 872, 731, 1237),
    SECOND: (549, 4757, 4855, 110, 1857, 1151, 1737),
    "both files": (930, 8163, 7695, 110, 2729, 1882, 2974),
}
COUNTED = ("answers", "sentences", "citations", "label -1", "label 0", "label 1", "label 2")
FIRSTS = (50, 2338, 1652, 2752)
BEST = "IITD-IRL.ag_rag_gpt35_expansion_rrf_20"
BEST_PRECISION = 0.793074


def figures(files: Files) -> Iterator[Figure]:
    """Yield the counts of each file and of both, those of first citations, and the score of the best run."""
    answers = {name: read(files[name]) for name in (FIRST, SECOND)}
    answers["both files"] = both = answers[FIRST] + answers[SECOND]
    for name, printed in PRINTED.items():
        ours = counts(answers[name])
        for what, number in zip(COUNTED, printed, strict=True):
            yield Figure(f"{name}: {what}", number, ours[what])
    firsts = Counter(label for answer in both for label in answer.firsts)
    yield Figure("first citations", sum(FIRSTS), firsts.total())
    for label, number in zip((-1, 0, 1, 2), FIRSTS, strict=True):
        yield Figure(f"first citations: label {label}", number, firsts[label])
    topics, runs = counts(both)["topics"], counts(both)["runs"]
    yield Figure("answers that are not there, of runs x topics", 60, runs * topics - len(both))
    scores = run_precisions(both, topics)
    best = max(scores, key=scores.__getitem__)
    yield Figure(f"weighted precision of the best run, {best}", BEST_PRECISION, scores[best], 6)
    yield Figure(f"runs above {BEST}", 0, sum(score > scores[BEST] for score in scores.values()))


PLACE = f"{RAGDOLL} at a4b8bb49, data/trec-rag-2024/human-support-labels"
TABLE = Table(
    "Support, TREC RAG 2024: people's labels",
    "RAGDoll at 1cef91e, guide of human support labels, sections 1, 2, 3 and 8",
    figures,
    (
        Artefact(FIRST, PLACE, "e30ecf5296329d71470af8832bd5b669"),
        Artefact(SECOND, PLACE, "4001ee6501010306760b25c8d866e9bb"),
    ),
    "The best run by the first citation of each sentence, summed over its answers and divided by 22 topics.",
)
