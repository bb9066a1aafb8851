"""Import a collection, or more of one: files in, one transaction, one summary."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from django.db import reset_queries, transaction

from grading.errors import BadFormat
from grading.formats import Content, Format, registry
from grading.formats.events import RATINGS as RATINGS_OF_PEOPLE
from grading.formats.graded import read_graded
from grading.formats.graded_records import GradedLine
from grading.formats.nugget_grades import graded_lines, read_labels
from grading.segmentation import PassagesOf
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.importers import BankImporter
from rubricweb.core import audit, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.import_base import Counts, FilePosition, Tally, TopicImporter, rows_in_words
from rubricweb.corpus.import_judgments import JudgmentImporter, SeveralJudgments
from rubricweb.corpus.import_passages import DocIdCheck, PassageFileImporter, PassageImporter
from rubricweb.corpus.import_responses import ResponseImporter
from rubricweb.corpus.import_runs import RunImporter
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import OfficialFile, import_official
from rubricweb.corpus.pooling import extend_pool
from rubricweb.grades.import_assignments import AssignmentImporter, Importers
from rubricweb.grades.import_grades import GradedCells, GradeImporter, JudgeImporter, remove_grades_of
from rubricweb.grades.import_ratings import (
    Accounts,
    RatingEventImporter,
    RatingImporter,
    WorkOfPeople,
    importer_of,
)
from rubricweb.grades.selectors import take_imported_default
from rubricweb.grades.verification import verify_again

logger = logging.getLogger(__name__)

CORPUS = (
    "collections", "topics", "subtopics", "passages", "pooled", "judgments", "runs", "rankings", "responses",
    "official_scores",
)  # fmt: skip
BANKS = ("banks", "items", "revisions", "answer_keys")
GRADES = ("grades",)
ALIKE = {Content.SUPPORT: (Content.LABELLED_ANSWERS,), Content.LABELLED_ANSWERS: (Content.SUPPORT,)}
"""What may stand in files of the same option."""
DEFAULT_BANK = "main"
NUGGET_GRADER = "AutoJudge"
OBJECTS = 200_000
"""Garbage collector threshold during an import, in new objects."""


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """The files and options of an import. Tuples of paths may name several; `runs` is a folder."""

    name: str = ""
    """The collection's name; empty keeps it, or takes the slug for a new collection."""
    queries: Path | None = None
    """Topics in any of the formats."""
    passages: tuple[Path, ...] = ()
    """Passages without grades, and reranker requests."""
    is_segmenting: bool = False
    """Whether to cut the documents of `passages` into windows of sentences."""
    candidates_run: str = ""
    """Tag of a run made from the order of candidates in reranker requests; empty for none."""
    graded: tuple[Path, ...] = ()
    labels: Path | None = None
    """UMBRELA's output for the reranker requests `labels_of`: labels of a grader, no judgments."""
    labels_of: Path | None = None
    judge_labels: tuple[Path, ...] = ()
    """Qrels of judges, whose names are in `authors`: labels of graders, no judgments."""
    scale: int | None = None
    """Highest label of the scale of `judge_labels`; None for the highest that they have."""
    assignments: tuple[Path, ...] = ()
    """Assignments of nuggets to whole answers."""
    nugget_grades: tuple[Path, ...] = ()
    """Grades of nuggets as AutoJudge's judges write them."""
    ratings: tuple[Path, ...] = ()
    """Human ratings from other tools, or from RubricWeb's Export."""
    flags: tuple[Path, ...] = ()
    votes: tuple[Path, ...] = ()
    support: tuple[Path, ...] = ()
    """Flags, votes and labels of support from RubricWeb's Export, and those of NIST or RAGDoll by answer."""
    battles: tuple[Path, ...] = ()
    authors: Mapping[Path, str] = field(default_factory=dict)
    """Who made what is in files that name nobody, such as `judge_labels`: `people`, or a grader's name.

    For `battles` that is who voted where a line names nobody, for `nugget_grades` by default NUGGET_GRADER.
    """
    after_prediction_of: str = ""
    """The model whose predictions these authors corrected; empty where they labelled from scratch."""
    banks: tuple[Path, ...] = ()
    bank_name: str = DEFAULT_BANK
    runs: Path | None = None
    run_files: tuple[Path, ...] = ()
    responses: tuple[Path, ...] = ()
    """Files of responses, or folders of them."""
    passages_of: PassagesOf = PassagesOf.SENTENCE
    """Parts of a response that become passages."""
    qrels: Path | None = None
    official: Path | None = None
    official_measure: str = ""
    """Measure of a leaderboard with several; empty for the preferred one."""
    read_as: Mapping[Path, str] = field(default_factory=dict)
    """Names of the formats of files for which somebody chose one."""
    min_relevant: int | None = None
    """Lowest relevant judgment; None keeps it."""
    judgments: SeveralJudgments | None = None
    """Which of several judgments of a passage counts; None: the highest, or with `replace` the last."""
    replace: bool = False
    """Whether values replace contradicting ones of an earlier import."""
    topics_are_closed: bool = False
    """Whether to add no topics: lines on others are left out, or refused where nothing else remains."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    collection: Collection
    counts: dict[str, Counts]
    notes: tuple[str, ...]
    """Notes for the person who imports, such as topics left out."""
    reordered: dict[str, int]
    """Number of topics that trec_eval 9 (by score, then passage id) orders differently, by run tag."""
    has_changed: bool


@transaction.atomic
def import_collection(slug: str, *, files: ImportFiles, by: User | None) -> ImportSummary:
    """Create the collection from these files, or add to it.

    BadFormat means that nothing has changed.
    """
    tally = Tally()
    collection = _collection(slug, files, tally, by=by)
    with _rare_garbage_collection():
        _Import(collection, files, tally, by=by).run()
    is_corpus, is_bank, is_graded = (tally.has_changed(kinds) for kinds in (CORPUS, BANKS, GRADES))
    if is_graded:
        take_imported_default(collection)
    if is_corpus:
        collection.stamp = new_stamp()
        collection.save(update_fields=["stamp"])
        _extend_pool(collection, tally)
    for has_changed, event in ((is_corpus, "runs"), (is_bank, "items"), (is_graded, "grades")):
        if has_changed:
            events.publish_on_commit(collection.channel, event)
    has_changed = tally.has_changed(tally.counts)
    if has_changed:
        audit.record("collection imported", collection, by=by, detail=_summary(tally))
        transaction.on_commit(lambda: logger.info("imported into collection %s: %s", slug, _summary(tally)))
    return ImportSummary(collection, tally.counts, tally.all_notes, tally.reordered, has_changed)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Run Python's cyclic garbage collector less often inside the block.

    The objects of a line have no cycles, and looking for them takes a quarter of an import's time.
    """
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _extend_pool(collection: Collection, tally: Tally) -> None:
    """Pool what the new runs contribute by the collection's rule."""
    plan = extend_pool(collection)
    if plan is not None and (plan.added or plan.textless):
        tally.of("pooled").new += plan.added
        lacking = f"; {plan.textless:,} more have no text yet" if plan.textless else ""
        tally.note(f"the pool grew by {plan.added:,} passages ({plan.rule.text}){lacking}")


def _collection(slug: str, files: ImportFiles, tally: Tally, *, by: User | None) -> Collection:
    """Return the collection, locked so that two imports into it take turns."""
    collection: Collection
    fields: dict[str, object] = {"name": files.name} if files.name else {}
    if files.min_relevant is not None:
        fields["min_relevant"] = files.min_relevant
    collection, is_new = Collection.objects.get_or_create(slug=slug, defaults={"name": slug, **fields})
    collection = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    changed = [field for field, value in fields.items() if getattr(collection, field) != value]
    if is_new:
        tally.of("collections").new += 1
        if by is not None:
            set_role(by, collection, role=Role.ORGANIZER, by=by)
    elif changed:
        for field in changed:
            setattr(collection, field, fields[field])
        collection.save(update_fields=changed)
        tally.of("collections").changed += 1
    else:
        tally.of("collections").unchanged += 1
    return collection


class _Import:
    """The steps of an import: files that define things come before files that refer to them."""

    def __init__(self, collection: Collection, files: ImportFiles, tally: Tally, *, by: User | None) -> None:
        self.collection, self.files, self.tally, self.by = collection, files, tally, by
        self.topics = TopicImporter(collection, tally, is_closed=files.topics_are_closed)
        self.passages = PassageImporter(collection, tally, is_replacing=files.replace)
        several = files.judgments or (SeveralJudgments.LAST if files.replace else SeveralJudgments.HIGHEST)
        self.doc_ids = DocIdCheck(collection, tally)
        self.judgments = JudgmentImporter(
            self.topics, self.doc_ids, tally, several=several, is_replacing=files.replace
        )
        self.runs = RunImporter(collection, self.topics, self.doc_ids, tally, is_replacing=files.replace)
        self.passage_files = PassageFileImporter(
            self.topics,
            self.passages,
            self.runs,
            is_segmenting=files.is_segmenting,
            tally=tally,
            run_tag=files.candidates_run,
        )
        self.responses = ResponseImporter(
            self.topics,
            self.passages,
            self.runs,
            tally,
            passages_of=files.passages_of,
            is_replacing=files.replace,
        )
        self.banks = BankImporter(collection, self.topics, tally, by=by)
        self.grades = GradeImporter(tally, is_replacing=files.replace)
        rows = self.topics, self.passages, self.banks, self.grades
        self.judges = JudgeImporter(collection, tally, rows)
        self.work = WorkOfPeople(
            collection,
            self.topics,
            Accounts(collection),
            tally,
            is_replacing=files.replace,
            responses=self.responses,
            authors=files.authors,
            after_prediction_of=files.after_prediction_of,
        )
        importers = Importers(self.topics, self.passages, self.runs, self.responses, self.banks, self.grades)
        self.assignments = AssignmentImporter(self.work, importers)
        self.ratings = RatingImporter(self.work, self.judgments)
        self.rating_events = RatingEventImporter(self.work)

    def run(self) -> None:
        files = self.files
        if files.queries:
            chosen = self._chosen(files.queries, Content.TOPICS)
            self.topics.read_topics(files.queries, chosen=chosen, is_replacing=files.replace)
        for path in files.passages:
            self.passage_files.read(path, chosen=self._chosen(path, Content.PASSAGES))
        remove_grades_of(self.passages.reworded, self.tally)
        for path in files.banks:
            self.banks.read_bank(path, bank_name=files.bank_name)
        verify_again(self.banks.keyed)
        self._read_grades()
        for path in files.responses:
            self.responses.read(path, chosen=partial(self._chosen, content=Content.RESPONSES))
        self._read_work({Content.LABELLED_ANSWERS: files.support})  # which may make answers
        chosen_run = partial(self._chosen, content=Content.RUN)
        if files.runs:
            self.runs.read_folder(files.runs, chosen=chosen_run)
        self.runs.read_files(files.run_files, chosen=chosen_run)
        if files.assignments:
            self.responses.write_rankings()
            self.assignments.read(files.assignments, authors=files.authors, bank_name=files.bank_name)
        self._read_foreign_ratings()
        if files.qrels:
            self.judgments.read_qrels(files.qrels)
        if files.official:
            chosen = self._chosen(files.official, Content.LEADERBOARD)
            file = OfficialFile(files.official, files.official_measure, chosen.name if chosen else "")
            by_query_id = self.topics.by_query_id
            import_official(self.collection, file, by_query_id, self.tally, is_replacing=files.replace)
        judged = self.ratings, self.judgments, self.judges
        for importer in (*judged, self.runs, self.responses, self.banks, self.topics):
            importer.finish()
        self.doc_ids.finish()
        self._read_work(
            {Content.FLAGS: files.flags, Content.VOTES: files.votes, Content.SUPPORT: files.support}
        )
        self.work.finish(by=self.by)

    def _read_work(self, files: Mapping[Content, tuple[Path, ...]]) -> None:
        """Read the work of people on what the earlier files brought, of each file what is of its content."""
        for content, paths in files.items():
            formats = {path: registry.recognise(path, content, *ALIKE.get(content, ())) for path in paths}
            if own := [path for path in paths if formats[path].content is content]:
                importer = importer_of(content)(self.work)
                for path in own:
                    importer.read(path, formats[path].read(path))

    def _chosen(self, path: Path, content: Content) -> Format | None:
        """Return the format that somebody chose for the file, or that of a plug-in which it has.

        Raises BadFormat if its content has another.
        """
        name = self.files.read_as.get(path)
        file_format = registry.find(name) if name else registry.plugged(path, content)
        if file_format and file_format.content is not content:
            raise BadFormat(f"read as {file_format.label}, which is no {content}", file=path.name)
        return file_format

    def _read_foreign_ratings(self) -> None:
        """Read ratings from other tools' models and people of what the earlier files brought."""
        for path in self.files.nugget_grades:
            llm = self.files.authors.get(path) or NUGGET_GRADER
            for line in graded_lines(path, llm=llm, response_of=self.responses.text_of):
                self._read_line(line, at=FilePosition(path, line.line))
        for path in self.files.ratings:
            file_format = registry.recognise(path, Content.RATINGS)
            importer = self.rating_events if file_format is RATINGS_OF_PEOPLE else self.ratings
            importer.read(path, file_format.read(path))
        for path in self.files.battles:
            read = registry.recognise(path, Content.BATTLES).read(path)
            importer_of(Content.BATTLES)(self.work).read(path, read, voter=self.files.authors.get(path, ""))

    def _read_grades(self) -> None:
        files = self.files
        for path in files.graded:
            self._read_graded(path)
        if files.labels and files.labels_of:
            for labelled in read_labels(files.labels, files.labels_of):
                at = FilePosition(files.labels, labelled.graded.line)
                self.topics.require(labelled.graded.query_id, text=labelled.query_text, at=at)
                self._read_line(labelled.graded, at=at)
        self.judges.read(files.judge_labels, judges=files.authors, scale=files.scale)

    def _read_graded(self, path: Path) -> None:
        ignored = 0
        for line in read_graded(path):
            self._read_line(line, at=FilePosition(path, line.line))
            ignored += line.ignored_entries
            reset_queries()  # under DEBUG, Django keeps every statement with its texts
            del line  # before the next one is read: each may be a topic with all its grades
        if ignored:
            self.tally.note(
                f"{path.name}: left out {ignored} grading entries that repeat llm, options, prompt class and "
                "purpose of an earlier one on the same passage (the first counts)"
            )

    def _read_line(self, line: GradedLine, *, at: FilePosition) -> None:
        topic = self.topics.require(line.query_id, at=at)
        passage_of = self.passages.pool(topic, ((p.doc_id, p.text) for p in line.passages), at=at)
        self.judgments.read_line(topic, line, at=at)
        self.runs.read_line(topic, line, at=at)
        kinds = {
            grade.item_id: grade.by.kind for p in reversed(line.passages) for grade in reversed(p.grades)
        }
        revision_of = self.banks.graded_wordings(topic, dict(reversed(kinds.items())), at=at)
        self.grades.add(GradedCells(topic, line.passages, revision_of, passage_of, at))


def _summary(tally: Tally) -> str:
    """Summarize what was added or changed: "1 collection, 25 topics, 290,000 grades"."""
    return rows_in_words({kind: counts.new + counts.changed for kind, counts in tally.counts.items()})


__all__ = ["DEFAULT_BANK", "NUGGET_GRADER", "ImportFiles", "ImportSummary", "import_collection"]
