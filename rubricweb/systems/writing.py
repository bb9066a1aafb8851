"""What the chunks of a job made becomes an ordinary run, by the importers that read other teams' files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from grading.formats.passages import write_passages
from grading.formats.responses import Dialect, write_responses
from grading.formats.trec import write_run as write_trec_run
from grading.systems.base import Answer
from grading.systems.pipeline import Answering, Made
from grading.types import Response
from rubricweb.corpus.actions import accept_run
from rubricweb.corpus.models import Run, Topic
from rubricweb.grades.importers import ImportFiles, import_collection
from rubricweb.systems import specs
from rubricweb.systems.corpora import open_corpus
from rubricweb.systems.models import SystemJob


def write_run(job: SystemJob) -> None:
    """Import the run in the transaction that ends the job, and let it count unless it was withdrawn."""
    made = [
        (chunk.topic, specs.made_from_json(chunk.result or {}, job.run.run_tag, chunk.topic.query_id))
        for chunk in job.chunks.select_related("topic")
    ]
    with TemporaryDirectory(prefix="rubricweb-run-") as folder:
        path = Path(folder) / "run"
        passages = _passages_of_corpus(job, [one for _, one in made], Path(folder) / "passages.jsonl")
        if job.system.answering is Answering.NONE:
            write_trec_run(path, [one.ranking for _, one in made if one.ranking.doc_ids])
            files = ImportFiles(passages=passages, run_files=(path,), topics_are_closed=True)
        else:
            responses = [_response(job.run, topic, one.answer) for topic, one in made if one.answer]
            write_responses(path, responses, Dialect.RAG24)
            files = ImportFiles(passages=passages, responses=(path,), topics_are_closed=True)
        import_collection(job.collection.slug, files=files, by=job.by)
    job.run.refresh_from_db()
    if job.run.is_unfinished:  # not withdrawn meanwhile
        accept_run(job.run, by=job.by)


def _passages_of_corpus(job: SystemJob, made: Sequence[Made], path: Path) -> tuple[Path, ...]:
    """Write the passages that the run names and only its corpus has, so that they can be read and graded."""
    if not job.system.corpus:
        return ()
    ranked = (one.ranking.doc_ids if one.answer is None else _ids(one.answer) for one in made)
    named = list(dict.fromkeys(doc_id for doc_ids in ranked for doc_id in doc_ids))
    known = job.collection.passages.filter(doc_id__in=named).values_list("doc_id", flat=True)
    only_there = open_corpus(job.system.corpus).passages([one for one in named if one not in set(known)])
    write_passages(path, only_there)
    return (path,) if only_there else ()


def _ids(answer: Answer) -> list[str]:
    return [source.passage_id for source in answer.sources]


def _response(run: Run, topic: Topic, answer: Answer) -> Response:
    response = answer.response(run.run_tag, topic.query_id, team=run.team)
    return replace(response, foreign={"topic": topic.text})
