"""Import runs, from run files and from the rankings that passages carry; run files take precedence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from grading import types
from grading.errors import BadFormat
from grading.formats.graded_records import GradedLine
from grading.formats.trec import comments_note, read_run_file, trec_eval_order
from grading.types import is_one_word
from rubricweb.core import database
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting_id, some
from rubricweb.corpus.import_passages import ID_LIMIT, DocIdCheck
from rubricweb.corpus.models import Collection, Ranking, Run, Topic

Entry = tuple[str, float]
TAG_LIMIT = 200
RUN_SUFFIXES = frozenset({".run", ".txt", ".gz", ""})
Ranks = dict[str, tuple[int, float]]
"""Doc id -> rank and score, in the file's order."""


def write_rankings(
    run: Run, by_topic: Mapping[Topic, types.Ranking], tally: Tally, *, at: FilePosition, is_replacing: bool
) -> None:
    """Update the run's rankings from a file.

    Rankings gathered from passages may grow, since a later graded file may hold more or less of the pool, as
    long as the order is the same. A run file is complete: it must agree, or replace.
    """
    before = {ranking.topic_id: ranking for ranking in run.rankings.all()}
    fresh, counts = [], tally.of("rankings")
    for topic, ranking in by_topic.items():
        old = before.get(topic.pk)
        if old is None:
            fresh.append(_row(run, topic, ranking, at=at))
        elif _says_the_same(old, ranking, is_part_enough=not run.is_from_file):
            counts.unchanged += 1
        elif is_replacing or (not run.is_from_file and _is_part(_entries(old), _new_entries(ranking))):
            old.doc_ids, old.scores = list(ranking.doc_ids), list(ranking.scores)
            old.save(update_fields=["doc_ids", "scores"])
            counts.changed += 1
        else:
            raise at.with_columns(ranking.query_id).error(
                f"run {run.run_tag} ranks the passages of query {ranking.query_id} otherwise than before, "
                "expected the same ranking (or --replace)"
            )
    database.create(fresh)
    counts.new += len(fresh)


def tag_of(name: str, tags: frozenset[str]) -> str:
    """Return the tag of the run that a file of judgments means, of a collection's `tags`.

    Files of one track differ in whether the team stands before the name: `citi.best` and `best` are one run
    where the collection has one of them. Names may have dots themselves, so that nothing else is cut.

    >>> tags = frozenset({"best", "lab.sparse.v1", "a.base", "b.base"})
    >>> [tag_of(name, tags) for name in ("citi.best", "sparse.v1", "base", "new.run")]
    ['best', 'lab.sparse.v1', 'base', 'new.run']
    """
    rest = name.partition(".")[2]
    if name in tags or rest in tags:
        return name if name in tags else rest
    longer = [tag for tag in tags if tag.partition(".")[2] == name]
    return longer[0] if len(longer) == 1 else name


def renamed_note(tag_by_name: Mapping[str, str]) -> str:
    """Return a note on runs that a file names otherwise than the collection."""
    listed = some(f"{name} ({tag})" for name, tag in tag_by_name.items())
    number = len(tag_by_name)
    return f"{number:,} runs have another name in the collection, by the team before the first dot: {listed}"


def _row(run: Run, topic: Topic, ranking: types.Ranking, *, at: FilePosition) -> Ranking:
    for doc_id in ranking.doc_ids:
        if len(doc_id) > ID_LIMIT or not is_one_word(doc_id):
            fitting_id(doc_id, what="the doc_id", at=at.with_columns(doc_id), limit=ID_LIMIT)
    return Ranking(run=run, topic=topic, doc_ids=list(ranking.doc_ids), scores=list(ranking.scores))


def _says_the_same(old: Ranking, ranking: types.Ranking, *, is_part_enough: bool) -> bool:
    entries, new = _entries(old), _new_entries(ranking)
    return entries == new or (is_part_enough and _is_part(new, entries))


def _entries(old: Ranking) -> list[Entry]:
    return [(doc_id, float(score)) for doc_id, score in zip(old.doc_ids, old.scores, strict=True)]


def _new_entries(ranking: types.Ranking) -> list[Entry]:
    return list(zip(ranking.doc_ids, ranking.scores, strict=True))


def _is_part(part: Sequence[Entry], whole: Sequence[Entry]) -> bool:
    """Return whether the entries of `part` are in `whole`, in the same order."""
    rest = iter(whole)
    return all(entry in rest for entry in part)


class RunImporter:
    """Imports run files at once, and gathers the ranks of passages until `finish`, as lines share topics."""

    def __init__(
        self,
        collection: Collection,
        topics: TopicImporter,
        doc_ids: DocIdCheck,
        tally: Tally,
        *,
        is_replacing: bool,
    ) -> None:
        self._collection, self._topics, self._tally = collection, topics, tally
        self._doc_ids = doc_ids
        self._is_replacing = is_replacing
        self._runs: dict[str, Run] = {run.run_tag: run for run in collection.runs.all()}
        self._files: dict[str, Path] = {}
        self._gathered: dict[str, dict[int, Ranks]] = {}
        self._line_of: dict[str, FilePosition] = {}

    def read_line(self, topic: Topic, line: GradedLine, *, at: FilePosition) -> None:
        """Gather the ranks of the line's passages, one rank per run."""
        for passage in line.passages:
            for ranked in passage.rankings:
                self.rank(ranked.run_tag, topic, passage.doc_id, (ranked.rank, ranked.score), at=at)

    def rank(
        self, run_tag: str, topic: Topic, doc_id: str, placed: tuple[int, float], *, at: FilePosition
    ) -> None:
        """Gather one rank with its score; `finish` writes the ranking."""
        if run_tag not in self._gathered:
            fitting_id(run_tag, what="a ranking's method", at=at, limit=TAG_LIMIT)
        ranks = self._gathered.setdefault(run_tag, {}).setdefault(topic.pk, {})
        if ranks.setdefault(doc_id, placed) != placed:
            raise at.error(
                f"passage {doc_id} has rank {placed[0]} (score {placed[1]:g}) and rank "
                "{} (score {:g})".format(*ranks[doc_id])
                + f" in run {run_tag}, expected one rank"
            )
        self._line_of[run_tag] = at

    def read_folder(self, folder: Path, *, chosen: Callable[[Path], object]) -> None:
        """Import every run file of the folder."""
        run_paths, others = run_files(folder)
        self.read_files(run_paths, chosen=chosen)
        if others:
            self._tally.note(
                f"left out files that do not end in .run, .txt or .gz: {some(p.name for p in others)}"
            )

    def read_files(self, paths: Iterable[Path], *, chosen: Callable[[Path], object]) -> None:
        """Import run files; `chosen` says whether somebody said that a file is a run. Raises BadFormat."""
        for path in paths:
            self._read_file(path, is_chosen=bool(chosen(path)))

    def finish(self) -> None:
        """Write the gathered rankings of runs without a run file."""
        outranked = 0
        topics = {topic.pk: topic for topic in self._topics.by_query_id.values()}
        for run_tag, of_topics in self._gathered.items():
            run = self._runs.get(run_tag)
            if run and run.is_from_file:
                outranked += 1
                continue
            rankings = [_ranking(run_tag, topics[topic_id], ranks) for topic_id, ranks in of_topics.items()]
            self._write(self._run(run_tag), rankings, at=self._line_of[run_tag])
        if outranked:
            self._tally.note(
                f"{outranked} runs have a run file: the ranks that passages have of them were left out"
            )

    def _read_file(self, path: Path, *, is_chosen: bool) -> None:
        file = read_run_file(path, is_chosen=is_chosen)
        by_topic = {ranking.query_id: ranking for ranking in file.rankings()}
        run_tag, at = file.run_tag, FilePosition(path)
        if file.comments:
            self._tally.note(f"{path.name}: {comments_note(file.comments, 'a run')}")
        fitting_id(run_tag, what="the run tag", at=at.with_columns(run_tag), limit=TAG_LIMIT)
        if run_tag in self._files:
            problem = f"run {run_tag} is also in {self._files[run_tag].name}, expected one file a run"
            raise at.with_columns(run_tag).error(problem)
        self._files[run_tag] = path
        of_topics = [
            ranking for query_id, ranking in by_topic.items() if query_id in self._topics.by_query_id
        ]
        self._say_unknown(
            at, [query_id for query_id in by_topic if query_id not in self._topics.by_query_id], of_topics
        )
        if of_topics:
            doc_ids = chain.from_iterable(ranking.doc_ids for ranking in of_topics)
            self._doc_ids.compare(doc_ids, file=path.name)
            run = self.run_of_file(run_tag)
            self._write(run, of_topics, at=at)

    def _say_unknown(self, at: FilePosition, unknown: list[str], of_topics: list[types.Ranking]) -> None:
        if not unknown:
            return
        if self._topics.is_closed and not of_topics:
            raise at.with_columns(unknown[0]).error(
                f"query {unknown[0]} is unknown, as are all others of the file, expected the queries given"
            )
        rest = self._topics.lookalikes(unknown) + ("" if of_topics else ", which are all it has")
        self._tally.note(f"{at.path.name}: left out {len(unknown)} topics that the collection lacks{rest}")

    def _run(self, run_tag: str) -> Run:
        run: Run | None = self._runs.get(run_tag)
        if run is None:
            run = self._runs[run_tag] = self._collection.runs.create(run_tag=run_tag)
            self._tally.of("runs").new += 1
        else:
            self._tally.of("runs").unchanged += 1
        return run

    def run_of_file(self, run_tag: str) -> Run:
        """Return the run; a run file replaces rankings that passages brought earlier."""
        run = self._runs.get(run_tag)
        if run is None:
            run = self._runs[run_tag] = self._collection.runs.create(run_tag=run_tag, is_from_file=True)
            self._tally.of("runs").new += 1
        elif run.is_from_file:
            self._tally.of("runs").unchanged += 1
        else:
            run.rankings.all().delete()
            run.is_from_file = True
            run.save(update_fields=["is_from_file"])
            self._tally.of("runs").changed += 1
        return run

    def _write(self, run: Run, rankings: list[types.Ranking], *, at: FilePosition) -> None:
        by_topic = {self._topics.by_query_id[ranking.query_id]: ranking for ranking in rankings}
        write_rankings(run, by_topic, self._tally, at=at, is_replacing=self._is_replacing)
        if self._is_replacing and run.is_from_file:
            gone, _ = run.rankings.exclude(topic__in=list(by_topic)).delete()  # a run file is complete
            self._tally.of("rankings").changed += gone
        self._compare_with_trec_eval(rankings)

    def _compare_with_trec_eval(self, rankings: list[types.Ranking]) -> None:
        orders = [(trec_eval_order(ranking), ranking) for ranking in rankings]
        if otherwise := sum(order != ranking.doc_ids for order, ranking in orders):
            self._tally.reordered[rankings[0].run_tag] = otherwise
        if close := sum(order != trec_eval_order(ranking, types.TrecEval.TEN) for order, ranking in orders):
            self._tally.close[rankings[0].run_tag] = close


def run_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folder's run files by name, and its other files. Raises BadFormat without a run file."""
    if not folder.is_dir():
        raise BadFormat("cannot be opened, expected a folder of run files", file=folder.name)
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    runs = [path for path in paths if path.suffix in RUN_SUFFIXES]
    if not runs:
        raise BadFormat(
            "no run file in the folder, expected names that end in .run, .txt or .gz", file=folder.name
        )
    return runs, [path for path in paths if path.suffix not in RUN_SUFFIXES]


def _ranking(run_tag: str, topic: Topic, ranks: Ranks) -> types.Ranking:
    """Return the ranking by rank; ties keep the order of the files."""
    ordered: Iterable[tuple[str, tuple[int, float]]] = sorted(ranks.items(), key=lambda entry: entry[1][0])
    doc_ids, places = zip(*ordered, strict=True)
    return types.Ranking(run_tag, topic.query_id, doc_ids, tuple(score for _, score in places))
