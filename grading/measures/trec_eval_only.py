"""Measures that only pytrec_eval computes, run by run. What they are is in the help of trec_eval."""

from __future__ import annotations

from grading.measures.base import MULTIPLE, RECALL_LEVEL, K, LabelMeasure, NumberInName, Threshold

CITATION = "trec_eval"


def _measure(
    name: str,
    denominator: str,
    *,
    citation: str = CITATION,
    number: NumberInName | None = None,
    threshold: Threshold = Threshold.PROMPT,
) -> LabelMeasure:
    return LabelMeasure(
        name=name,
        label=name,
        denominator=denominator,
        citation=citation,
        scores=None,
        number=number,
        threshold=threshold,
    )


TREC_EVAL_ONLY = (
    _measure("11pt_avg", "mean of the interpolated precisions at recall 0, 0.1, ... 1"),
    _measure("G", "gain, discounted by the gain missed before / ideal gain", threshold=Threshold.NONE),
    _measure("Rndcg", "nDCG at R levels", threshold=Threshold.NONE),
    _measure("binG", "relevant passages, each / log2(2 + those not relevant above it), / relevant passages"),
    _measure("infAP", "average precision, inferred from a sample", citation="Yilmaz and Aslam 2006"),
    _measure("ndcg_rel", "nDCG, averaged over relevant passages", threshold=Threshold.NONE),
    _measure("set_F", "harmonic mean of set_P and set_recall"),
    _measure("set_P", "relevant passages / passages of the run"),
    _measure("set_map", "set_P times set_recall"),
    _measure("set_recall", "relevant passages of the run / relevant passages of the topic"),
    _measure("set_relative_P", "relevant passages of the run / the most that could be"),
    _measure("utility", "relevant passages of the run - others of it"),
    _measure("relative_P", "relevant passages of the first k / the most that could be", number=K),
    _measure("iprec_at_recall", "highest precision from recall X on", number=RECALL_LEVEL),
    _measure("Rprec_mult", "precision at X times the number of relevant passages", number=MULTIPLE),
)
