"""Import grades, and remove those of passages whose text changes.

A file of a judge's qrels is the labels of a direct grader, one a passage, without a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from grading.errors import BadFormat
from grading.formats.assignments import PEOPLE
from grading.formats.graded_records import DIRECT_ITEM, ConfigKey, GradedLine, GradedPassage, ImportedGrade
from grading.formats.judge_qrels import FILE_MD5, SCALES, JudgeFile, judge_lines, read_judge, scale_of_files
from grading.types import ItemKind, Outcome, Purpose
from rubricweb.banks.importers import BankImporter
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting_name, some
from rubricweb.corpus.import_passages import PassageImporter
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades import configs, replies, store, verification
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp, Pair, ReplyBlock
from rubricweb.grades.selectors import graders

BATCH = 500
NAME_LIMIT = 200
REPLACED_ROWS = 200
MOST_ON_SQLITE = 2_000_000
"""Most grades of one import, during which nobody else can write to SQLite."""

Value = tuple[int | None, str, str, str]
"""Rating, outcome, answer and reply of a grade."""
Cells = dict[Pair, ImportedGrade]
Values = dict[Pair, Value]
StoredValue = tuple[int | None, str, str, str | None]
Stored = dict[Pair, StoredValue]
"""Stored values by cell; a dropped reply is None, and equals any."""
_TEXTS = {outcome: outcome.value for outcome in Outcome}
"""Outcomes as plain strings, which databases take without a look at their class."""
_ANSWERING = frozenset({Purpose.EXTRACT, Purpose.VERIFY})


def remove_grades_of(passage_ids: Iterable[int], tally: Tally) -> None:
    """Delete grades of texts that are gone: those cells are missing again.

    Ratings by people stay, since nobody can order them anew; a note says how many are of the old texts.
    """
    reworded = sorted(passage_ids)
    removed = human = 0
    for start in range(0, len(reworded), BATCH):
        some = reworded[start : start + BATCH]
        grades = Grade.objects.filter(passage__in=some)
        for config_id, topic_id in sorted(set(grades.values_list("config", "topic"))):
            removed += store.remove_grades(GraderConfig.objects.get(pk=config_id), topic_id, grades)
        human += HumanGrade.objects.filter(passage__in=some).count()
    if reworded:
        tally.of("grades").changed += removed
        note = f"{removed:,} grades of the old texts were removed, so that these pairs need a grade"
        if human:
            note += f"; {human:,} ratings by people are of the old texts and stay"
        tally.note(f"{len(reworded):,} passages have another text now: {note}")


@dataclass(frozen=True, slots=True)
class GradedCells:
    """The passages of one line, with the keys of the rows that it names."""

    topic: Topic
    passages: Iterable[GradedPassage]
    revision_of: Mapping[str, int]
    passage_of: Mapping[str, int]
    at: FilePosition

    def name(self, cell: Pair) -> str:
        """Return the cell for messages: item and passage by their ids."""
        item_id = next(uid for uid, pk in self.revision_of.items() if pk == cell[0])
        doc_id = next(doc_id for doc_id, pk in self.passage_of.items() if pk == cell[1])
        return f"item {item_id} on passage {doc_id}"


class GradeImporter:
    """An importer of grades; one that contradicts another is refused, unless the files replace."""

    def __init__(self, tally: Tally, *, is_replacing: bool) -> None:
        self._tally, self._is_replacing = tally, is_replacing
        self._configs: dict[ConfigKey, GraderConfig] = {}

    def add(self, line: GradedCells) -> None:
        """Write the grades of one line of a graded file."""
        stamps = MatrixStamp.objects.filter(topic=line.topic, grades__gt=0)
        graded = set(stamps.values_list("config_id", flat=True))
        for config, cells in self._by_config(line).items():
            before = _stored(config, line.topic) if config.pk in graded else {}
            self._write(config, cells, before, line)

    def _by_config(self, line: GradedCells) -> dict[GraderConfig, Cells]:
        by_key: dict[ConfigKey, Cells] = {}
        for passage in line.passages:
            passage_id = line.passage_of[passage.doc_id]
            by, cells = None, Cells()
            for grade in passage.grades:
                if grade.by is not by:
                    by = grade.by
                    cells = by_key.setdefault(by.config, {})
                cell = line.revision_of[grade.item_id], passage_id
                first = cells.setdefault(cell, grade)
                if first is not grade and value_of(first) != value_of(grade):
                    raise _contradiction(line, cell, value_of(grade), value_of(first))
        return {self._config(key, line.at): cells for key, cells in by_key.items()}

    def _config(self, key: ConfigKey, at: FilePosition) -> GraderConfig:
        if key not in self._configs:
            llm, prompt_class, purpose, options = key
            fitting_name(llm, what="the llm", at=at, limit=NAME_LIMIT)
            fitting_name(prompt_class, what="the prompt_class", at=at, limit=NAME_LIMIT)
            self._configs[key] = configs.imported_config(llm, prompt_class, purpose, dict(options))
        return self._configs[key]

    def _write(self, config: GraderConfig, cells: Cells, before: Stored, line: GradedCells) -> None:
        fresh = {cell: grade for cell, grade in cells.items() if cell not in before} if before else cells
        again = {cell: value_of(cells[cell]) for cell in before if cell in cells}
        otherwise = {cell: value for cell, value in again.items() if not _is_same(value, before[cell])}
        if otherwise and not self._is_replacing:
            cell = next(iter(otherwise))
            raise _contradiction(line, cell, otherwise[cell], before[cell])
        if fresh:
            # In the order of the index, so that a database appends to it.
            rows = [(*cell, *value_of(fresh[cell])) for cell in sorted(fresh)]
            store.save_new_grades(config, line.topic.pk, rows)
        if otherwise:
            _replace(config, line.topic, otherwise)
        counts = self._tally.of("grades")
        counts.new += len(fresh)
        counts.changed += len(otherwise)
        counts.unchanged += len(cells) - len(fresh) - len(otherwise)
        if connection.vendor == "sqlite" and counts.new + counts.changed + counts.unchanged > MOST_ON_SQLITE:
            raise BadFormat(
                f"the files have more than {MOST_ON_SQLITE:,} grades, the most that an import into SQLite "
                "takes, since nobody else can save meanwhile; expected PostgreSQL (DATABASE_URL) for as many"
            )


def value_of(grade: ImportedGrade) -> Value:
    """Return the stored value: a rating's reply, an extraction's answer, or a failure's reason."""
    outcome = _TEXTS[grade.outcome]
    if grade.outcome is Outcome.FAILED:
        return None, outcome, grade.answer, grade.reason
    if grade.by.purpose in _ANSWERING:
        return grade.rating, outcome, grade.answer, ""
    return grade.rating, outcome, "", grade.answer


def _is_same(value: Value, before: StoredValue) -> bool:
    return value == before or (before[3] is None and value[:3] == before[:3])


def _stored(config: GraderConfig, topic: Topic) -> Stored:
    """Return the stored values of the config and topic."""
    rows = Grade.objects.by(config).for_topic(topic)
    fields = rows.values_list(*store.NEW, "reply_block")
    values, block_of = Stored(), {}
    for revision, passage, *value, block in fields.iterator(chunk_size=5_000):
        values[revision, passage] = tuple(value)
        if block is not None:
            block_of[revision, passage] = block
    texts = replies.read(ReplyBlock.objects.filter(config=config, topic=topic)) if block_of else {}
    for cell, block in block_of.items():
        values[cell] = (*values[cell][:3], texts.get(block, {}).get(cell))
    return values


def _replace(config: GraderConfig, topic: Topic, cells: Values) -> None:
    answers = {
        cell: answer if outcome != Outcome.FAILED else None for cell, (_, outcome, answer, _) in cells.items()
    }
    verification.drop_verdicts(config, topic.pk, answers)
    store.recount(config, topic.pk)
    long = {cell: reply for cell, (_, outcome, _, reply) in cells.items() if replies.is_long(outcome, reply)}
    block_of = replies.store(config.pk, topic.pk, long)
    rows = [
        row for row in Grade.objects.by(config).for_topic(topic) if (row.revision_id, row.passage_id) in cells
    ]
    for row in rows:
        cell = (row.revision_id, row.passage_id)
        row.rating, row.outcome, row.answer, row.reply = cells[cell]
        row.reply_block_id = block_of.get(cell)
        if cell in long:
            row.reply = ""
    columns = ["rating", "outcome", "answer", "reply", "reply_block"]
    Grade.objects.bulk_update(rows, columns, batch_size=REPLACED_ROWS)


def _contradiction(line: GradedCells, cell: Pair, value: Value, before: StoredValue) -> BadFormat:
    return line.at.error(
        f"{line.name(cell)} is {_in_words(value)} here and {_in_words(before)} before, "
        "expected the same grade (--replace takes that of the newer import)"
    )


def _in_words(value: StoredValue) -> str:
    rating, outcome, answer, reply = value
    if outcome == Outcome.FAILED:
        return f"failed ({reply})"
    text = answer or reply or ""
    quoted = repr(text if len(text) <= 60 else text[:60] + "…")
    if rating is None:
        return f"answered {quoted}"
    return f"rated {rating}" + (f" (reply {quoted})" if text else "")


class JudgeImporter:
    """An importer of judges' qrels. A judge has the labels of one file in a collection."""

    def __init__(
        self,
        collection: Collection,
        tally: Tally,
        rows: tuple[TopicImporter, PassageImporter, BankImporter, GradeImporter],
    ) -> None:
        self._collection, self._tally = collection, tally
        self._topics, self._passages, self._banks, self._grades = rows

    def read(self, paths: Sequence[Path], *, judges: Mapping[Path, str], scale: int | None) -> None:
        """Import the files, each by the judge of that name, on one scale from 0.

        Without a `scale` its top is the highest label of all files. Raises BadFormat.
        """
        files = [read_judge(path) for path in paths]
        if not files:
            return
        top = scale_of_files(files) if scale is None else scale
        if scale is None:
            names = some(path.name for path in paths)
            self._tally.note(f"{names}: the scale is 0 to {top}, by the highest label; --scale names another")
        digests = self._digests()
        for file in files:
            judge = judges[file.path]
            if judge == PEOPLE:
                problem = (
                    f"the labels are by {PEOPLE}, expected a grader's name: people's are judgments (--qrels)"
                )
                raise FilePosition(file.path).error(problem)
            before = digests.setdefault(judge, file.md5)
            if before != file.md5:
                problem = (
                    f"{judge} has labels of another file (md5 {before}), expected another name for these, "
                    "since a new version of a judge is another grader"
                )
                raise FilePosition(file.path).error(problem)
            self._read(file, judge, top)

    def _digests(self) -> dict[str, str]:
        """Return the digests of the files of the collection's judges, by their names."""
        configs = [row.config for row in graders(self._collection)]
        of_files = [config for config in configs if config.prompt_class in SCALES]
        return {config.llm: str(config.options.get(FILE_MD5)) for config in of_files}

    def _read(self, file: JudgeFile, judge: str, top: int) -> None:
        unknown: Counter[str] = Counter()
        n_read = 0
        for line in judge_lines(file, judge=judge, top=top):
            at = FilePosition(file.path, line.line)
            if self._topics.is_closed and line.query_id not in self._topics.by_query_id:
                unknown[line.query_id] += len(line.passages)
                continue
            self._add(self._topics.require(line.query_id, at=at), line, at)
            n_read += 1
        if unknown and not n_read:
            problem = "no topic of the file is known, expected labels for the queries given"
            raise FilePosition(file.path, file.labels[0][0]).error(problem)
        if unknown:
            self._tally.note(
                f"{file.path.name}: left out {unknown.total():,} labels of {len(unknown)} topics that the "
                f"collection lacks{self._topics.lookalikes(unknown)}"
            )

    def _add(self, topic: Topic, line: GradedLine, at: FilePosition) -> None:
        doc_ids = (passage.doc_id for passage in line.passages)
        passage_of = self._passages.pool_by_id(topic, doc_ids, at=at)
        revision_of = self._banks.graded_wordings(topic, {DIRECT_ITEM: ItemKind.DIRECT}, at=at)
        self._grades.add(GradedCells(topic, line.passages, revision_of, passage_of, at))

    def finish(self) -> None:
        """Note which labelled passages have no text."""
        if textless := self._passages.textless:
            self._tally.note(
                f"{len(textless):,} labelled passages have no text yet ({some(sorted(textless))}): their "
                "labels count; --passages supplies texts"
            )
