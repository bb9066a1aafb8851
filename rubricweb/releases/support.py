"""The part of a release with labels of support: each author's, answer by answer, and the scores by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from grading.formats.support_labels import AnswerLabels, write_labelled_answers
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection
from rubricweb.exports.files import joined
from rubricweb.exports.support import labelled_answers, lost_contradictions, score_rows
from rubricweb.leaderboards.board.files import PER_TOPIC
from rubricweb.releases.parts import Contents, ReleaseFile, ReleasePart, sort_keys, text_file
from rubricweb.support.board import Counting
from rubricweb.support.labels import SupportRater, raters
from rubricweb.support.models import SupportEvent

WITHOUT_RUNS = "the texts of the sentences, since the release leaves the runs out"
SCORES = "ir_measures"
"""The format of the scores."""


def support_files(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield the labels and the scores of each author; where runs stay out, labels have no texts."""
    collection = contents.collection
    for rater in authors(collection):
        stem = f"support/{joined(rater.name.lower())}"
        lost = (
            *(() if contents.options.has_runs else (WITHOUT_RUNS,)),
            *lost_contradictions(_answers(contents, rater)),
        )
        about = f"labels of support by {rater.name.lower()}, an answer a line, as NIST and RAGDoll have them"
        yield ReleaseFile(f"{stem}.jsonl", partial(_write_labels, contents, rater), about, lost)
        about = "weighted precision and recall of each run by the first citation of each sentence"
        yield text_file(f"{stem}_first.{SCORES}", about, partial(_scores, collection, rater))


def authors(collection: Collection) -> list[SupportRater]:
    """Return whose labels of support the collection has."""
    has_people = SupportEvent.objects.filter(topic__collection=collection).exists()
    return [rater for rater in raters(collection) if rater.judge or rater.is_imported or has_people]


def _write_labels(contents: Contents, rater: SupportRater, path: Path) -> None:
    write_labelled_answers(path, _answers(contents, rater))
    sort_keys(path)


def _answers(contents: Contents, rater: SupportRater) -> Iterator[AnswerLabels]:
    answers = labelled_answers(contents.collection, rater)
    return answers if contents.options.has_runs else map(_without_texts, answers)


def _without_texts(answer: AnswerLabels) -> AnswerLabels:
    sentences = tuple(replace(sentence, text="") for sentence in answer.sentences)
    return replace(answer, sentences=sentences, foreign={})


def _scores(collection: Collection, rater: SupportRater) -> Iterator[str]:
    yield from PER_TOPIC[SCORES](score_rows(collection, rater, Counting()))


SUPPORT = ReleasePart(
    "support",
    "Labels of support",
    "Whether what an answer cites supports its sentences: 2 full, 1 partial, 0 none, -1 not judged.",
    support_files,
    lambda contents: counted(len(authors(contents.collection)), "author"),
)
