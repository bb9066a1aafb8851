"""Generated responses: each makes passages of its topic's pool, which its run ranks in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import reset_queries

from grading import types
from grading.errors import BadFormat
from grading.formats import Format
from grading.formats.responses import read_answers
from grading.segmentation import MAX_TOKENS, PassagesOf, response_passages
from grading.types import text_md5
from rubricweb.corpus.convert import response_fields
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting, fitting_id, some
from rubricweb.corpus.import_passages import PassageImporter
from rubricweb.corpus.import_runs import TAG_LIMIT, RunImporter, write_rankings
from rubricweb.corpus.models import Passage, Response, Run, Topic

NAME_LIMIT = 100
RESPONSE_SUFFIXES = frozenset({".jsonl", ".json", ".gz", ".txt", ""})
READ_FIELDS = ("sentences", "references", "documents", "foreign", "passages_of")


@dataclass(slots=True)
class _ReadRun:
    """A run with the responses that this import has read of it."""

    row: Run
    at: FilePosition
    rankings: dict[Topic, types.Ranking] = field(default_factory=dict)
    answered: dict[str, FilePosition] = field(default_factory=dict)
    """Where the response stands, by query id."""
    stored: dict[int, Response] = field(default_factory=dict)
    """Responses by topic, those of earlier imports too."""


class ResponseImporter:
    """Imports files of responses one by one, and at the end the rankings that follow from them."""

    def __init__(
        self,
        topics: TopicImporter,
        passages: PassageImporter,
        runs: RunImporter,
        tally: Tally,
        *,
        passages_of: PassagesOf,
        is_replacing: bool,
    ) -> None:
        self._topics, self._passages, self._runs, self._tally = topics, passages, runs, tally
        self._passages_of, self._is_replacing = passages_of, is_replacing
        self._read: dict[str, _ReadRun] = {}
        self._replaced: dict[Topic, set[str]] = {}
        """By topic: doc ids of the passages of responses that the files replace."""

    def read(self, path: Path, *, chosen: Callable[[Path], Format | None]) -> None:
        """Import a file, or all files of a folder and of the folders in it; `chosen` may be a plug-in's."""
        paths, others = response_files(path)
        for file in paths:
            self._read_file(file, chosen(file))
        if others:
            names = some(other.name for other in others)
            self._tally.note(f"left out files that do not end in .jsonl, .json, .gz or .txt: {names}")

    def text_of(self, run_tag: str, query_id: str) -> str | None:
        """Return the whole text of a response; None where the collection has none."""
        topic = self._topics.by_query_id.get(query_id)
        row = Response.objects.filter(topic=topic, run__run_tag=run_tag).first() if topic else None
        return " ".join(sentence["text"] for sentence in row.sentences) if row else None

    def release_passages(self, run: Run, topic: Topic) -> None:
        """Take the passages that the run ranks now out of the pool, if nothing needs them."""
        ranked = run.rankings.filter(topic=topic).values_list("doc_ids", flat=True)
        self._replaced.setdefault(topic, set()).update(chain.from_iterable(ranked))

    def finish(self) -> None:
        """Write the rankings, and take passages out of pools that only replaced responses had."""
        self.write_rankings()
        for topic, doc_ids in self._replaced.items():
            ranked = chain.from_iterable(topic.rankings.values_list("doc_ids", flat=True))
            kept = {*ranked, *topic.judgments.values_list("doc_id", flat=True)}
            gone, _ = topic.pool.filter(passage__doc_id__in=doc_ids - kept).delete()
            self._tally.of("pooled").changed += gone

    def write_rankings(self) -> None:
        """Write the rankings of the responses that were read until now."""
        for run in self._read.values():
            if run.rankings:
                write_rankings(run.row, run.rankings, self._tally, at=run.at, is_replacing=self._is_replacing)
                run.rankings = {}

    def add_whole(self, response: types.Response, topic: Topic, at: FilePosition) -> Response:
        """Store a response that a file of judgments has as one passage, and return its row."""
        self._add(response, topic, at, PassagesOf.WHOLE)
        return self._read[response.run_tag].stored[topic.pk]

    def fill_in(self, row: Response, response: types.Response) -> None:
        """Give a response that is one text the sentences and citations of the file; its passage stays.

        A passage whose text was not known gets that of the response.
        """
        values = response_fields(response)
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=values)
        ranked = row.run.rankings.filter(topic=row.topic).values_list("doc_ids", flat=True)
        textless = Passage.objects.filter(
            collection=row.run.collection_id, doc_id__in=[*chain.from_iterable(ranked)], text=""
        )
        text = " ".join(sentence.text for sentence in response.sentences)
        self._tally.of("passages").changed += textless.update(text=text)
        self._tally.of("responses").changed += 1

    def _read_file(self, path: Path, chosen: Format | None) -> None:
        read = chosen.read if chosen and chosen.plugin else read_answers
        unknown: list[tuple[str, FilePosition]] = []
        n_read = cut = 0
        for response in read(path):
            at = FilePosition(path, response.line or None)
            topic = self._topic(response, at)
            if topic is None:
                unknown.append((response.query_id, at))
                continue
            n_read += 1
            cut += self._add(response, topic, at, self._passages_of)
            reset_queries()  # under DEBUG, Django keeps every statement with its texts
        if unknown and not n_read:
            first, place = unknown[0]
            raise place.error(
                f"query {first} is unknown, as are all others of the file, expected the queries given"
            )
        if unknown:
            self._tally.note(
                f"{path.name}: left out {len(unknown)} responses to {len(dict(unknown))} topics "
                "that the collection lacks"
            )
        if cut:
            self._tally.note(
                f"{path.name}: {cut} passages are parts of texts of more than {MAX_TOKENS} tokens"
            )

    def _topic(self, response: types.Response, at: FilePosition) -> Topic | None:
        """Return the response's topic; without a file of queries, a new one is made.

        An answer of a trace, whose id is the md5 of its question, is to the one topic with that text.
        """
        question = _query(response.foreign)
        topic = self._topics.by_query_id.get(response.query_id)
        if topic is None and response.query_id == text_md5(question):
            topics, text = self._topics.by_query_id.values(), question.strip().casefold()
            alike = [row for row in topics if row.text.strip().casefold() == text]
            topic = alike[0] if len(alike) == 1 else None
        if topic is not None or self._topics.is_closed:
            return topic
        return self._topics.require(response.query_id, text=question, at=at)

    def _add(self, response: types.Response, topic: Topic, at: FilePosition, passages_of: PassagesOf) -> int:
        """Store the response with its passages; return how many of them are parts of a longer text."""
        run = self._run(response, at)
        earlier = run.answered.setdefault(response.query_id, at)
        if earlier is not at:
            raise at.error(
                f"run {response.run_tag} answers topic {response.query_id} here and in {earlier}, "
                "expected one response a topic"
            )
        stored = run.stored.get(topic.pk)
        if stored is not None and stored.passages_of == PassagesOf.WHOLE and not self._is_replacing:
            self._compare_whole(stored, response, at)
            return 0
        passages = response_passages([sentence.text for sentence in response.sentences], passages_of)
        texts = {passage.doc_id: passage.text for passage in passages}
        self._passages.pool(topic, texts.items(), at=at)
        values = response_fields(response) | {"passages_of": passages_of.value}
        self._store(run, topic, values, at)
        if texts:
            scores = tuple(float(len(texts) - place) for place in range(len(texts)))
            run.rankings[topic] = types.Ranking(response.run_tag, response.query_id, tuple(texts), scores)
        else:
            run.row.rankings.filter(topic=topic).delete()
            self._tally.note(f"{at}: the response has no text, so that the run has no passage for its topic")
        return sum(passage.is_part for passage in passages)

    def _run(self, response: types.Response, at: FilePosition) -> _ReadRun:
        run = self._read.get(response.run_tag)
        if run is None:
            fitting_id(response.run_tag, what="the run id", at=at, limit=TAG_LIMIT)
            row = self._runs.run_of_file(response.run_tag)
            stored = {row_of_topic.topic_id: row_of_topic for row_of_topic in row.responses.all()}
            run = self._read[response.run_tag] = _ReadRun(row, at, stored=stored)
        _describe(run.row, response, at)
        return run

    def _compare_whole(self, row: Response, response: types.Response, at: FilePosition) -> None:
        """Complete a whole answer that is one text; another has to be the same, and stays one passage."""
        has_text = row.is_one_text and row.sentences[0]["text"]
        is_cited = any(sentence.citations is not None for sentence in response.sentences)
        if row.is_one_text and (is_cited or not has_text):
            self.fill_in(row, response)
            return
        values = response_fields(response)
        if any(getattr(row, name) != value for name, value in values.items()):
            raise _contradiction(row, values, response.query_id, at)
        self._tally.of("responses").unchanged += 1

    def _store(self, run: _ReadRun, topic: Topic, values: Mapping[str, Any], at: FilePosition) -> None:
        row, counts = run.stored.get(topic.pk), self._tally.of("responses")
        if row is None:
            run.stored[topic.pk] = Response.objects.create(run=run.row, topic=topic, **values)
            counts.new += 1
        elif all(getattr(row, name) == values[name] for name in READ_FIELDS):
            counts.unchanged += 1
        elif self._is_replacing:
            self.release_passages(run.row, topic)
            for name in READ_FIELDS:
                setattr(row, name, values[name])
            row.save(update_fields=READ_FIELDS)
            counts.changed += 1
        else:
            raise _contradiction(row, values, topic.query_id, at)


def response_files(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of responses of a folder, up to two folders deep, and its other files; or the file.

    Raises BadFormat for a folder without any.
    """
    if not path.is_dir():
        return [path], []
    listed = sorted(
        file
        for pattern in ("*", "*/*", "*/*/*")
        for file in path.glob(pattern)
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    paths = [file for file in listed if file.suffix in RESPONSE_SUFFIXES]
    if not paths:
        raise BadFormat(
            "no file of responses in the folder, expected names that end in .jsonl, .json, .gz or .txt",
            file=path.name,
        )
    return paths, [file for file in listed if file.suffix not in RESPONSE_SUFFIXES]


def _contradiction(row: Response, values: Mapping[str, Any], query_id: str, at: FilePosition) -> BadFormat:
    differing = [name.replace("_", " ") for name, value in values.items() if getattr(row, name) != value]
    return at.error(
        f"run {row.run.run_tag} answers topic {query_id} otherwise than before "
        f"({', '.join(differing)}), expected the same response (or --replace)"
    )


def _describe(run: Run, response: types.Response, at: FilePosition) -> None:
    """Fill in what the run does not say of itself yet; what an organizer wrote stays."""
    stated = {"team": fitting(response.team, what="the team", at=at, limit=NAME_LIMIT)}
    stated |= dict(_stated(response.foreign))
    fitting(stated.get("task", ""), what="the task", at=at, limit=NAME_LIMIT)
    changed = [name for name, value in stated.items() if value and not getattr(run, name)]
    if changed:
        for name in changed:
            setattr(run, name, stated[name])
        run.save(update_fields=changed)


def _stated(foreign: Mapping[str, Any]) -> Iterator[tuple[str, str]]:  # Any: what JSON holds
    """Yield the fields of a run that the metadata of its response give, with their values."""
    metadata = foreign.get("metadata")
    if not isinstance(metadata, Mapping):
        return
    names = {"task": "task", "type": "type", "run_desc": "description", "description": "description"}
    for theirs, ours in names.items():
        value = metadata.get(theirs)
        if isinstance(value, str) and (ours != "type" or value in Run.Type.values):
            yield ours, value.strip()


def _query(foreign: Mapping[str, Any]) -> str:  # Any: what JSON holds
    """Return the words of the topic, where the response repeats them (RAG'24: topic; RAG'25: narrative)."""
    metadata = foreign.get("metadata")
    value = metadata.get("narrative") if isinstance(metadata, Mapping) else foreign.get("topic")
    return value if isinstance(value, str) else ""
