"""TREC files: qrels (4 columns) and runs (6 columns), any white space between columns.

Blank lines are skipped, and comments, which begin with #, as in trec_eval 10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from grading.errors import BadFormat, Unclear
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import is_real, is_whole, real, whole
from grading.formats.reading import MAX_HELD_BYTES, column_count, lines, write_lines
from grading.types import Qrel, Ranking, TrecEval, is_one_word

COMMENT = "#"
"""What a line begins with that trec_eval 10 skips."""
_QREL = "4 columns: query_id 0 doc_id relevance"
_RUN = "6 columns: query_id Q0 doc_id rank score run_tag"
_LABELS = frozenset(range(5))
"""Labels of TREC RAG 2025, 0 to 4."""
_JUDGMENTS = (
    "the ranks are {} to {} and the scores lie between 0 and 1, as in the relevance judgments of TREC RAG "
    "2025 (topic Q0 segment judgment confidence run_id), expected a run"
)
TREC_RUN = "trec-run"

Ranks = dict[str, tuple[int, float]]
"""Doc id -> rank and score, in the file's order."""


def numbered_qrels(path: Path) -> Iterator[tuple[int, Qrel]]:
    """Yield (line, qrel) as the file has them, several judgments of one passage included.

    Raises `BadFormat` for another number of columns and a relevance that is no whole number.
    """
    for line, columns in _rows(path, _QREL):
        query_id, _, doc_id, relevance = columns
        yield line, Qrel(query_id, doc_id, _whole(relevance, what="the relevance", file=path.name, line=line))


def read_qrels(path: Path) -> Iterator[Qrel]:
    """Yield the qrels as the file has them. Raises `BadFormat`, also where a topic judges a passage twice."""
    first_use: dict[tuple[str, str], int] = {}
    for line, qrel in numbered_qrels(path):
        first = first_use.setdefault((qrel.query_id, qrel.doc_id), line)
        if first != line:
            problem = (
                f"{qrel.doc_id} is judged twice for {qrel.query_id} (first on line {first}), "
                "expected one judgment"
            )
            raise BadFormat(problem, file=path.name, line=line)
        yield qrel


def _every_qrel(path: Path) -> Iterator[Qrel]:
    """Yield all qrels, as an import takes them, for which it has a rule where they judge a passage twice."""
    return (qrel for _, qrel in numbered_qrels(path))


def write_qrels(path: Path, qrels: Iterable[Qrel]) -> None:
    """Write `query_id 0 doc_id relevance`, as given. Raises `BadFormat` for an id with white space."""
    write_lines(path, (line.encode() for line in qrels_lines(qrels)))


def qrels_lines(qrels: Iterable[Qrel]) -> Iterator[str]:
    """Yield the lines of a qrels file, without line breaks.

    >>> list(qrels_lines([Qrel("q1", "d7", 4)]))
    ['q1 0 d7 4']
    """
    for qrel in qrels:
        yield f"{_first_column(qrel.query_id)} 0 {_column(qrel.doc_id)} {qrel.relevance}"


def read_run(path: Path) -> Iterator[Ranking]:
    """Yield one ranking a topic, best rank first; ranks may start at 0 or 1 and have gaps.

    Raises `BadFormat` for a second run tag, a passage twice in a topic, a rank below 0, and ranks or scores
    that are no finite numbers; `Unclear` where ranks repeat in a topic, or are labels with confidences.
    """
    return read_run_file(path).rankings()


def read_any_run(path: Path) -> Iterator[Ranking]:
    """Read a run whatever its ranks are.

    Equal ranks are ordered by score, then as the file has them; see `read_run`.
    """
    return read_run_file(path, is_chosen=True).rankings()


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run as its file has it."""

    run_tag: str
    ranks: Mapping[str, Ranks]
    """Ranks by topic."""
    comments: tuple[str, ...]
    """Lines that were skipped although they have the columns of a run."""

    def rankings(self) -> Iterator[Ranking]:
        """Yield one ranking a topic, in the file's order of topics."""
        for query_id, ranks in self.ranks.items():
            # Equal ranks are ordered by score, then as the file has them.
            by_rank = sorted(ranks.items(), key=lambda entry: (entry[1][0], -entry[1][1]))
            yield Ranking(
                self.run_tag,
                query_id,
                tuple(doc_id for doc_id, _ in by_rank),
                tuple(s for _, (_, s) in by_rank),
            )


def read_run_file(path: Path, *, is_chosen: bool = False) -> RunFile:
    """Read a whole run. Raises as `read_run`; where somebody chose to read it as a run, no `Unclear`."""
    run_tag = ""
    comments: list[str] = []
    ranks: dict[str, Ranks] = {}
    for line, columns in _rows(path, _RUN, comments):
        query_id, _, doc_id, rank, score, tag = columns
        run_tag = run_tag or tag
        if tag != run_tag:
            problem = f"run tag {tag} after {run_tag}, expected one run tag a file"
            raise BadFormat(problem, file=path.name, line=line)
        of_topic = ranks.setdefault(query_id, {})
        if doc_id in of_topic:
            problem = f"{doc_id} is ranked twice for {query_id}, expected each passage once a topic"
            raise BadFormat(problem, file=path.name, line=line)
        position = _whole(rank, what="the rank", file=path.name, line=line)
        if position < 0:
            raise BadFormat(f"the rank is {position}, expected 0 or more", file=path.name, line=line)
        of_topic[doc_id] = position, _score(score, file=path.name, line=line)
    if not is_chosen:
        _refuse_doubtful(path, ranks)
    return RunFile(run_tag, ranks, tuple(comments))


def _refuse_doubtful(path: Path, ranks: Mapping[str, Ranks]) -> None:
    """Raise `Unclear` where ranks repeat in a topic, or are labels with confidences."""
    repeated = next((pair for pair in map(_repeated, ranks.items()) if pair), None)
    if not repeated and not any(map(_ascends, ranks.values())):
        return
    placed = [place for of_topic in ranks.values() for place in of_topic.values()]
    labels = {rank for rank, _ in placed}
    if len(labels) > 1 and labels <= _LABELS and all(0 <= score <= 1 for _, score in placed):
        problem = _JUDGMENTS.format(min(labels), max(labels))
    elif repeated:
        problem = f"rank {repeated[1]} stands more than once in topic {repeated[0]}, expected each rank once"
    else:
        return
    rows = [line for line, row in _rows(path, _RUN) if repeated in (None, (row[0], int(row[3])))]
    raise Unclear(problem, formats=[TREC_RUN], file=path.name, line=rows[1 if repeated else 0])


def _repeated(of_topic: tuple[str, Ranks]) -> tuple[str, int] | None:
    """Return (topic, rank) of a rank that stands twice in it."""
    query_id, ranks = of_topic
    counts = Counter(rank for rank, _ in ranks.values())
    return next(((query_id, rank) for rank, times in counts.items() if times > 1), None)


def _ascends(of_topic: Ranks) -> bool:
    """Return whether a score is higher than that of a better rank."""
    scores = [score for _, score in sorted(of_topic.values(), key=lambda place: place[0])]
    return any(below > above for above, below in pairwise(scores))


def write_run(path: Path, rankings: Iterable[Ranking]) -> None:
    """Write `query_id Q0 doc_id rank score run_tag`, ranks from 1.

    Raises `BadFormat` for an id with white space.
    """
    write_lines(
        path,
        (
            _run_line(ranking, doc_id, rank, score)
            for ranking in rankings
            for rank, (doc_id, score) in enumerate(zip(ranking.doc_ids, ranking.scores, strict=True), start=1)
        ),
    )


def trec_eval_order(ranking: Ranking, version: TrecEval = TrecEval.NINE) -> tuple[str, ...]:
    """Return the order in which trec_eval sees the ranking: score, then document id, both descending.

    Version 9 compares scores in single precision, 10 in double. Where the order differs from
    `ranking.doc_ids`, trec_eval ignores the rank column of the run file.

    >>> trec_eval_order(Ranking("bm25", "q1", ("d1", "d2", "d3"), (1.0, 1.0, 2.0)))
    ('d3', 'd2', 'd1')
    >>> close = Ranking("dense", "q1", ("d1", "d2"), (0.975230281, 0.975230279))
    >>> trec_eval_order(close), trec_eval_order(close, TrecEval.TEN)
    (('d2', 'd1'), ('d1', 'd2'))
    """
    with np.errstate(over="ignore"):
        scores = np.asarray(ranking.scores, dtype=np.float32 if version is TrecEval.NINE else np.float64)
    by_id = sorted(zip(scores.tolist(), ranking.doc_ids, strict=True), reverse=True)
    return tuple(doc_id for _, doc_id in by_id)


def _rows(path: Path, shape: str, comments: list[str] | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, columns) of each row.

    Raises `BadFormat` for another number of columns, and where all lines are comments.

    Comments that have the columns of a row go to `comments`.
    """
    count, line, is_empty = int(shape[0]), 1, True
    for line, text in lines(path, max_bytes=MAX_HELD_BYTES):
        columns = text.split()
        if text.startswith(COMMENT):
            if comments is not None and len(columns) == count:
                comments.append(text)
        elif len(columns) == count:
            is_empty = False
            yield line, columns
        elif columns:
            raise BadFormat(f"{column_count(columns)}, expected {shape}", file=path.name, line=line)
    if is_empty:
        raise BadFormat(f"all lines are comments, expected {shape}", file=path.name, line=line)


def _whole(text: str, *, what: str, file: str, line: int) -> int:
    try:
        return whole(text, what=what)
    except BadFormat as error:
        raise BadFormat(error.problem, file=file, line=line) from error


def _score(text: str, *, file: str, line: int) -> float:
    try:
        return real(text, what="the score")
    except BadFormat as error:
        raise BadFormat(error.problem, file=file, line=line) from error


def _run_line(ranking: Ranking, doc_id: str, rank: int, score: float) -> bytes:
    query_id, run_tag = _first_column(ranking.query_id), _column(ranking.run_tag)
    return f"{query_id} Q0 {_column(doc_id)} {rank} {score!r} {run_tag}".encode()


def _first_column(text: str) -> str:
    if text.startswith(COMMENT):
        raise BadFormat(f"the id {text!r} begins with #, which trec_eval 10 skips as a comment")
    return _column(text)


def _column(text: str) -> str:
    """Return an id that can stand in a file whose columns are parted by white space."""
    if not is_one_word(text):
        raise BadFormat(
            f"the id {text!r} is empty or holds white space or control characters, expected one word"
        )
    return text


def _first_row(sample: Sample) -> list[str]:
    """Return the columns of the first line that is no comment; none where all are."""
    texts = (text for _, text in lines(sample.path) if text.strip() and not text.startswith(COMMENT))
    return next((text.split() for text in texts), [])


def _is_run(sample: Sample) -> bool:
    first = _first_row(sample)
    if sample.is_json or len(first) != 6 or not is_whole(first[3]) or not is_real(first[4]):
        return False
    return all(cells[0] != "all" for cells in sample.all_words())  # a leaderboard of the format "ranking"


def _is_qrels(sample: Sample) -> bool:
    return not sample.is_json and are_qrels([_first_row(sample), *sample.fields()])


def are_qrels(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether columns 1, 3 and 4 are those of qrels, not of a leaderboard of counts.

    Column 2 is 0 or Q0, which the first row tells, or in all rows the number of a round or subtopic.

    >>> are_qrels([["40", "4.5", "d1", "2"]]), are_qrels([["bm25", "all", "num_ret", "100"]])
    (True, False)
    """
    rows = [row for row in rows if row and not row[0].startswith(COMMENT)]
    judged = [row for row in rows if len(row) == 4 and is_whole(row[3])]
    if judged[:1] == rows[:1] and rows and rows[0][1].casefold() in ("0", "q0"):
        return True
    return bool(rows) and judged == rows and all(is_real(row[1]) for row in rows)


def qrels_notes(path: Path) -> list[str]:
    """Return what a file of qrels says that its judgments do not keep, a sentence each."""
    comments: list[str] = []
    values = [*dict.fromkeys(row[1].casefold() for _, row in _rows(path, _QREL, comments))]
    notes = [comments_note(comments, "qrels")] if comments else []
    if len(values) > 1:
        some = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
        notes.append(
            f"column 2 differs ({some}), as of rounds or subtopics: it is not kept, and what they say of a "
            "passage is merged"
        )
    return notes


def comments_note(comments: Sequence[str], noun: str) -> str:
    """Say that lines were skipped which may be meant."""
    return (
        f"skipped {len(comments):,} lines that begin with #, as trec_eval 10 does, although they have the "
        f"columns of {noun}, such as {comments[0]}"
    )


FORMATS = (
    Format(
        TREC_RUN,
        "TREC run",
        Content.RUN,
        _is_run,
        read_run,
        write_run,
        is_lossless=True,
        source="trec_eval",
        insist=read_any_run,
    ),
    Format(
        "trec-qrels",
        "TREC qrels",
        Content.QRELS,
        _is_qrels,
        _every_qrel,
        write_qrels,
        is_lossless=True,
        source="trec_eval",
    ),
)
