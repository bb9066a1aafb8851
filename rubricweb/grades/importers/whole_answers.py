"""The answers of a run once more as a run of its own, each as one passage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from grading.formats.responses import Dialect, write_responses
from grading.segmentation import PassagesOf
from rubricweb.accounts.models import User
from rubricweb.corpus import convert
from rubricweb.corpus.models import Run
from rubricweb.grades.importers.collection import ImportFiles, ImportSummary, import_collection

SUFFIX = "-whole"


def add_whole_answers(run: Run, *, by: User | None) -> ImportSummary:
    """Import the run's answers as the run `TAG-whole`, whose passages are its whole answers.

    Sentences of `run` stay passages, so that a bank grades both. Doing it twice changes nothing. Raises
    ValueError for a run without answers, and what imports raise.
    """
    rows = list(run.responses.select_related("run", "topic").order_by("topic__position"))
    if not rows:
        raise ValueError(f"the run {run.run_tag} has no generated answers")
    answers = [
        replace(convert.response(row), run_tag=run.run_tag + SUFFIX, foreign={"topic": row.topic.text})
        for row in rows
    ]
    with TemporaryDirectory(prefix="rubricweb-whole-") as folder:
        path = Path(folder) / "answers.jsonl"
        write_responses(path, answers, Dialect.RAG24)
        files = ImportFiles(responses=(path,), passages_of=PassagesOf.WHOLE, topics_are_closed=True)
        return import_collection(run.collection.slug, files=files, by=by)
