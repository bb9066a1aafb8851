"""Import the qrels of judges: each file is the labels of a direct grader, one a passage, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from grading.formats.assignments import PEOPLE
from grading.formats.graded_records import DIRECT_ITEM, GradedLine
from grading.formats.judge_qrels import FILE_MD5, SCALES, JudgeFile, judge_lines, read_judge, scale_of_files
from grading.types import ItemKind
from rubricweb.banks.importers import BankImporter
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, some
from rubricweb.corpus.import_passages import PassageImporter
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.import_grades import GradedCells, GradeImporter
from rubricweb.grades.selectors import graders


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
