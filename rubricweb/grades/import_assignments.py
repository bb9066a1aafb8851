"""Import assignments of nuggets: answers, nuggets, and grades of whole answers by a grader or people.

An answer is one passage, which no other run shares, since two runs with equal answers may have other
assignments. A response that the collection has is found by run and topic, and keeps its sentences: only where
it is one text, as such files have it, must the words be the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grading import types
from grading.formats.assignments import PEOPLE, AssignedAnswer, read_assigned
from grading.formats.graded_records import GradedPassage
from grading.segmentation import PassagesOf
from grading.types import ItemKind, text_md5
from rubricweb.accounts.models import User
from rubricweb.banks.convert import KeptLine, keep_lines
from rubricweb.banks.importers import BankImporter
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting_id, fitting_name, some
from rubricweb.corpus.import_passages import PassageImporter
from rubricweb.corpus.import_responses import ResponseImporter
from rubricweb.corpus.import_runs import TAG_LIMIT, RunImporter, renamed_note, tag_of, write_rankings
from rubricweb.corpus.models import Ranking, Response, Run, Topic
from rubricweb.grades.human_ratings import Cell, add_imported
from rubricweb.grades.import_assessments import are_assessments, assessed_answers
from rubricweb.grades.import_grades import NAME_LIMIT, GradedCells, GradeImporter
from rubricweb.grades.import_ratings import WorkOfPeople, in_portions

WHOLE_SUFFIX = "-whole"
"""End of the tag of a run whose passages are the whole answers of another."""


@dataclass(frozen=True, slots=True)
class Importers:
    """The importers of what a line has."""

    topics: TopicImporter
    passages: PassageImporter
    runs: RunImporter
    responses: ResponseImporter
    banks: BankImporter
    grades: GradeImporter


@dataclass(slots=True)
class _Placed:
    """An answer with its rows."""

    answer: AssignedAnswer
    run: Run
    doc_id: str
    text: str

    @property
    def at(self) -> FilePosition:
        return FilePosition(self.answer.path, self.answer.line)


@dataclass(slots=True)
class _TopicRows:
    """The answers of a topic that the collection has, by run tag."""

    topic: Topic
    responses: dict[str, Response] = field(default_factory=dict)
    ranked: dict[str, list[str]] = field(default_factory=dict)
    """The passage of each run that has one."""
    texts: dict[str, str] = field(default_factory=dict)
    """By doc id, of these passages."""

    def runs_of(self, doc_id: str) -> set[str]:
        return {run_tag for run_tag, doc_ids in self.ranked.items() if doc_id in doc_ids}


class AssignmentImporter:
    """An importer of assignment files, each with its author."""

    def __init__(self, work: WorkOfPeople, rows: Importers) -> None:
        self._work, self._rows, self._is_replacing = work, rows, work.is_replacing
        self._collection = work.collection
        self._topics: dict[int, _TopicRows] = {}
        self._runs: dict[str, Run] = {}
        self._tags: frozenset[str] = frozenset()
        """Of the runs that the collection had before the files of an author."""
        self._renamed: dict[str, str] = {}
        self._cut: set[str] = set()
        self._textless: set[str] = set()

    @property
    def _tally(self) -> Tally:
        return self._work.tally

    def read(self, paths: Sequence[Path], *, authors: Mapping[Path, str], bank_name: str) -> None:
        """Import the files. Raises BadFormat."""
        for path in paths:
            if not authors.get(path):
                problem = "assessments without an author, which the file does not name"
                raise FilePosition(path, 1).error(f"{problem}, expected {PEOPLE} or a grader's name (--by)")
        for author in dict.fromkeys(authors[path] for path in paths):
            of_author = [path for path in paths if authors[path] == author]
            fitting_name(author, what="the author", at=FilePosition(of_author[0]), limit=NAME_LIMIT)
            assessed = [path for path in of_author if are_assessments(path)]
            if assigned := [path for path in of_author if path not in assessed]:
                self._read(read_assigned(assigned), author, bank_name)
            if assessed:
                bank = self._collection.banks.filter(name=bank_name).first()
                self._read(assessed_answers(assessed, bank, bank_name), author, bank_name)

    def _read(self, answers: list[AssignedAnswer], author: str, bank_name: str) -> None:
        answers = self._of_known_topics(answers)
        self._tags = frozenset(self._collection.runs.values_list("run_tag", flat=True))
        self._renamed = {}
        for path in dict.fromkeys(answer.path for answer in answers):
            of_file = [answer for answer in answers if answer.path == path]
            if dialect := of_file[0].dialect:
                lines = [replace(answer.bank_line, foreign=None) for answer in of_file]
                self._rows.banks.add_lines(path, dialect, lines, bank_name=bank_name)
        by_topic: dict[Topic, list[AssignedAnswer]] = {}
        for answer in answers:
            by_topic.setdefault(self._rows.topics.by_query_id[answer.query_id], []).append(answer)
        placed = {topic: self._place_all(topic, listed) for topic, listed in by_topic.items()}
        for topic, listed in placed.items():
            self._grade(topic, listed, author)
        number_of = {id(answer): number for number, answer in enumerate(answers)}
        kept = [
            (topic, _kept(row, author, number_of[id(row.answer)]))
            for topic, listed in placed.items()
            for row in listed
        ]
        is_new = keep_lines(self._collection.banks.get(name=bank_name), kept)
        self._tally.of("banks").changed += is_new and not self._tally.of("banks").new
        self._note(answers)

    def _of_known_topics(self, answers: list[AssignedAnswer]) -> list[AssignedAnswer]:
        """Leave out answers to topics that nobody may add. Raises BadFormat where none is left."""
        topics = self._rows.topics
        if not topics.is_closed:
            return answers
        answerable = [answer for answer in answers if answer.query_id in topics.by_query_id]
        unknown = dict.fromkeys(a.query_id for a in answers if a.query_id not in topics.by_query_id)
        if not answerable:
            problem = "no topic of the file is known, expected answers to the queries given"
            raise FilePosition(answers[0].path, answers[0].line).error(problem)
        if unknown:
            number = len(answers) - len(answerable)
            self._tally.note(
                f"{answers[0].path.name}: left out {number:,} answers to {len(unknown)} topics that the "
                f"collection lacks{topics.lookalikes(unknown)}"
            )
        return answerable

    def _place_all(self, topic: Topic, answers: list[AssignedAnswer]) -> list[_Placed]:
        """Give every answer its response and its passage."""
        placed = [self._place(topic, answer) for answer in answers]
        for row in placed:
            self._rows.passages.pool(topic, [(row.doc_id, row.text)], at=row.at)
            ranking = types.Ranking(row.run.run_tag, topic.query_id, (row.doc_id,), (1.0,))
            write_rankings(row.run, {topic: ranking}, self._tally, at=row.at, is_replacing=self._is_replacing)
        return placed

    def _place(self, topic: Topic, answer: AssignedAnswer) -> _Placed:
        at = FilePosition(answer.path, answer.line)
        rows = self._rows_of(topic)
        fitting_id(answer.run_id, what="the run_id", at=at, limit=TAG_LIMIT)
        run_tag = tag_of(answer.run_id, self._tags)
        if run_tag != answer.run_id:
            self._renamed[answer.run_id] = run_tag
        stored = rows.responses.get(run_tag)
        if stored is None:
            fields = _fields(answer.text or "")
            stored = Response.objects.create(run=self._run(run_tag), topic=topic, **fields)
            rows.responses[run_tag] = stored
            self._tally.of("responses").new += 1
        elif stored.passages_of != PassagesOf.WHOLE:
            self._cut.add(run_tag)
            stored = self._whole_of(stored, rows)
        elif stored.is_one_text and not self._is_same(stored, answer, at):
            self._release(stored, rows)
            for name, value in _fields(answer.text or "").items():
                setattr(stored, name, value)
            stored.save()
            self._tally.of("responses").changed += 1
        else:
            self._tally.of("responses").unchanged += 1
        return self._passage(answer, stored, rows)

    def _run(self, run_tag: str) -> Run:
        if run_tag not in self._runs:
            self._runs[run_tag] = self._rows.runs.run_of_file(run_tag)
        return self._runs[run_tag]

    def _rows_of(self, topic: Topic) -> _TopicRows:
        if topic.pk not in self._topics:
            rows = self._topics[topic.pk] = _TopicRows(topic)
            for response in Response.objects.filter(topic=topic).select_related("run"):
                rows.responses[response.run.run_tag] = response
            ranked = Ranking.objects.filter(topic=topic).values_list("run__run_tag", "doc_ids")
            rows.ranked = {run_tag: doc_ids for run_tag, doc_ids in ranked if len(doc_ids) == 1}
            for doc_ids in in_portions(doc_id for alone in rows.ranked.values() for doc_id in alone):
                named = self._collection.passages.filter(doc_id__in=doc_ids)
                rows.texts |= dict(named.values_list("doc_id", "text"))
        return self._topics[topic.pk]

    def _is_same(self, stored: Response, answer: AssignedAnswer, at: FilePosition) -> bool:
        """Return whether the response has the answer's words. Raises BadFormat, unless the files replace."""
        if answer.text is None or _text_of(stored).split() == answer.text.split():
            return True
        if self._is_replacing:
            return False
        raise at.error(
            f"answer_text of run {answer.run_id} on topic {answer.query_id} is another than that of its "
            "response in the collection, expected the same words (or --replace)"
        )

    def _whole_of(self, stored: Response, rows: _TopicRows) -> Response:
        """Return the response of the run of whole answers beside one whose sentences are passages."""
        run_tag = stored.run.run_tag + WHOLE_SUFFIX
        if run_tag not in rows.responses:
            run = self._run(run_tag)
            rows.responses[run_tag] = Response.objects.create(
                run=run,
                topic=rows.topic,
                sentences=stored.sentences,
                references=stored.references,
                documents=stored.documents,
                foreign={"topic": rows.topic.text},
                passages_of=PassagesOf.WHOLE.value,
            )
            self._tally.of("responses").new += 1
        return rows.responses[run_tag]

    def _passage(self, answer: AssignedAnswer, response: Response, rows: _TopicRows) -> _Placed:
        """Return the answer with the passage that is its run's alone."""
        run = response.run
        doc_id = next(iter(rows.ranked.get(run.run_tag, ())), "")
        text = rows.texts.get(doc_id, "") or _text_of(response).strip() or (answer.text or "").strip()
        if not text and answer.text is None:
            self._textless.add(run.run_tag)
            doc_id = doc_id or f"{run.run_tag}.{rows.topic.query_id}"
        doc_id = doc_id or text_md5(text)
        if rows.runs_of(doc_id) - {run.run_tag}:
            self._release(response, rows)
            doc_id = f"{text_md5(text)}.{run.run_tag}"
        rows.ranked[run.run_tag], rows.texts[doc_id] = [doc_id], text
        return _Placed(answer, run, doc_id, text)

    def _release(self, response: Response, rows: _TopicRows) -> None:
        """Have the response's run rank no passage for the topic any more."""
        self._rows.responses.release_passages(response.run, rows.topic)
        response.run.rankings.filter(topic=rows.topic).delete()
        rows.ranked.pop(response.run.run_tag, None)

    def _grade(self, topic: Topic, placed: list[_Placed], author: str) -> None:
        """Write the assignments as grades of the author, who may be people.

        Those of people are ratings too: the grades are the board as it was published and never change, while
        the ratings are what graders are checked against, and people here may add to them.
        """
        doc_ids = [row.doc_id for row in placed]
        passage_of = dict(self._work.passages(doc_ids))
        nuggets = {i.item_id: ItemKind.NUGGET for row in placed for i in row.answer.bank_line.items}
        revision_of = self._rows.banks.graded_wordings(topic, nuggets, at=placed[0].at)
        passages = [
            GradedPassage(row.doc_id, row.text, [], [], list(row.answer.grades(author))) for row in placed
        ]
        self._rows.grades.add(GradedCells(topic, passages, revision_of, passage_of, placed[0].at))
        if author == PEOPLE:
            self._rate(topic, placed, (revision_of, passage_of))

    def _rate(
        self, topic: Topic, placed: list[_Placed], keys: tuple[Mapping[str, int], Mapping[str, int]]
    ) -> None:
        revision_of, passage_of = keys
        channel = self._collection.channel
        ratings = [
            (
                Cell(topic.pk, revision_of[item.item_id], passage_of[row.doc_id], channel),
                self._pooled_author,
                rating,
            )
            for row in placed
            for item, rating in zip(row.answer.bank_line.items, row.answer.ratings, strict=True)
            if rating is not None
        ]
        new, changed, unchanged = add_imported(ratings, channel=channel)
        counts = self._tally.of("human_ratings")
        counts.new, counts.changed = counts.new + new, counts.changed + changed
        counts.unchanged += unchanged

    @cached_property
    def _pooled_author(self) -> User:
        """Return the account that stands for people whose names no file has."""
        return self._work.accounts.outside(PEOPLE)

    def _note(self, answers: list[AssignedAnswer]) -> None:
        name = answers[0].path.name
        empty = [answer for answer in answers if not answer.ratings]
        if empty:
            listed = some(f"{answer.run_id} on {answer.query_id}" for answer in empty)
            self._tally.note(f"{name}: answers to which no nugget was assigned, which count 0: {listed}")
        if self._renamed:
            self._tally.note(f"{name}: {renamed_note(self._renamed)}")
        if self._textless:
            self._tally.note(
                f"{name}: reports whose text is not known yet, which --responses supplies, of "
                f"{some(sorted(self._textless))}"
            )
        if self._cut:
            self._tally.note(
                f"the sentences of {some(sorted(self._cut))} are passages here: their whole answers are the "
                f"runs that end in {WHOLE_SUFFIX}, which have the assignments"
            )


def _text_of(response: Response) -> str:
    return " ".join(sentence["text"] for sentence in response.sentences)


def _fields(text: str) -> dict[str, object]:
    """Return the columns of a response that is one text, whose citations nobody knows."""
    return {
        "sentences": [{"text": text, "citations": None}],
        "references": None,
        "documents": {},
        "foreign": {},
        "passages_of": PassagesOf.WHOLE.value,
    }


def _kept(row: _Placed, author: str, number: int) -> KeptLine:
    """Return the line to keep: without the answer's text where its response has the same."""
    raw = row.answer.foreign
    if row.text == raw.get("answer_text"):
        raw = {key: value for key, value in raw.items() if key != "answer_text"}
    return KeptLine(author, row.run.run_tag, number, dict(raw))
