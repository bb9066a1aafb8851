"""Battles of two models as the arenas publish them: `model_a,model_b,winner`, as CSV or JSON lines.

One line is one vote, and model_a is the answer that was shown on the left. `winner` is `model_a`, `model_b`,
`tie` or that both were bad, of which arenas have three spellings. arena-rank counts every other word as a
tie, so that a misspelled winner changes a board in silence: here it is refused.

The votes of RAGDoll's arena, `judgments.jsonl`, have a line for what a model said of two answers to a topic.
`judge_verdict` is about the places: A stood on the left. `preferred_run_id` names the run that it means, none
for a tie. `pair` has the two runs in an order of its own. A line whose `status` is not `completed` has no
verdict: it is read and written again, and is no vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.events import Verdict
from grading.formats.json_lines import JsonDict, encode_json, in_words, json_object
from grading.formats.reading import lines, write_lines
from grading.formats.tables import csv_line, csv_rows, with_formula, without_formula

MODELS = ("model_a", "model_b")
REQUIRED = (*MODELS, "winner")
TOPIC_KEYS = ("question_id", "topic_id", "narrative_id", "qid", "query_id")
VOTER_KEYS = ("judge", "voter")
ASPECTS = ("answer", "evidence")
WORDS = {
    "model_a": Verdict.LEFT,
    "model_b": Verdict.RIGHT,
    "tie": Verdict.TIE,
    "both_bad": Verdict.BOTH_BAD,
    "tie (bothbad)": Verdict.BOTH_BAD,
    "Tie (Both Bad)": Verdict.BOTH_BAD,
}
"""What `winner` may be; the first word of each verdict is arena-rank's, which is written."""
WORD_OF = {verdict: word for word, verdict in reversed(WORDS.items())}
_SHAPE = "an object with model_a, model_b and winner"


@dataclass(frozen=True, slots=True)
class ArenaBattle:
    """One vote on two models, with the columns beside it in the file's order."""

    model_a: str
    """Shown on the left."""
    model_b: str
    winner: str
    """The word of the file; empty where a judge gave no verdict."""
    columns: Mapping[str, object] = field(default_factory=dict)
    line: int = field(default=0, compare=False)
    judge: str = field(default="", compare=False)
    """Who voted, where no column of VOTER_KEYS says it."""
    query: str = field(default="", compare=False)
    """The topic's words, where the file has them."""

    @property
    def verdict(self) -> Verdict:
        return WORDS[self.winner] if self.winner else Verdict.NONE

    @property
    def aspect(self) -> str:
        """Return what the vote is on, of ASPECTS."""
        return str(self.columns.get("aspect") or ASPECTS[0])

    @property
    def query_id(self) -> str:
        """Return the topic that the answers are to; empty where the file names none."""
        return _named(self.columns, TOPIC_KEYS)

    @property
    def voter(self) -> str:
        """Return who voted, a person or a model; empty where the file names nobody."""
        return _named(self.columns, VOTER_KEYS) or self.judge

    @property
    def fields(self) -> dict[str, object]:
        """Return all columns, those that every file has first."""
        return {"model_a": self.model_a, "model_b": self.model_b, "winner": self.winner, **self.columns}


def read_csv(path: Path) -> Iterator[ArenaBattle]:
    """Yield the battles in the file's order. Raises `BadFormat` with file and line."""
    for number, cells in csv_rows(path, REQUIRED):
        yield _placed(path, number, {name: with_formula(cell) for name, cell in cells.items()})


def read_json(path: Path) -> Iterator[ArenaBattle]:
    """Yield the battles in the file's order. Raises `BadFormat` with file and line."""
    for number, text in lines(path):
        try:
            values = json_object(text, shape=_SHAPE)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        yield _placed(path, number, values)


def _placed(path: Path, line: int, values: JsonDict) -> ArenaBattle:
    try:
        return _battle(values, line)
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=line) from error


def _battle(values: JsonDict, line: int) -> ArenaBattle:
    """Return the battle. Raises `BadFormat` without a place."""
    for name in REQUIRED:
        if not isinstance(values.get(name), str) or not (values[name].strip() or name == "winner"):
            is_text = isinstance(values.get(name), str)
            given = "missing" if name not in values else "empty" if is_text else in_words(values[name])
            raise BadFormat(f"{name} is {given}, expected text")
    first, second, winner = (values[name] for name in REQUIRED)
    if winner not in WORDS:
        raise BadFormat(f"winner is {winner!r}, expected {', '.join(WORDS)}")
    if first == second:
        raise BadFormat(f"{first} against itself, expected two models")
    check_columns(values)
    columns = {name: value for name, value in values.items() if name not in REQUIRED}
    return ArenaBattle(first, second, winner, columns, line)


def check_columns(values: JsonDict) -> None:
    """Raise `BadFormat`, without a place, for a topic, voter or aspect that is none, or two that differ."""
    if values.get("aspect", ASPECTS[0]) not in ASPECTS:
        raise BadFormat(f"aspect is {values['aspect']!r}, expected {' or '.join(ASPECTS)}")
    for keys in (TOPIC_KEYS, VOTER_KEYS):
        _check_ids(values, keys)


def _check_ids(values: JsonDict, keys: tuple[str, ...]) -> None:
    given = {name: values[name] for name in keys if values.get(name) not in (None, "")}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadFormat(f"{name} is {in_words(value)}, expected text or a whole number")
    if len({str(value) for value in given.values()}) > 1:
        stated = " and ".join(f"{name} {str(value)!r}" for name, value in given.items())
        raise BadFormat(f"{stated} differ, expected one of them or both alike")


def _named(columns: Mapping[str, object], keys: tuple[str, ...]) -> str:
    return next((str(columns[key]).strip() for key in keys if columns.get(key) not in (None, "")), "")


def write_json(path: Path, battles: Iterable[ArenaBattle]) -> None:
    """Write JSON lines: model_a, model_b and winner first."""
    write_lines(path, (encode_json(battle.fields) for battle in battles))


def write_csv(path: Path, battles: Iterable[ArenaBattle]) -> None:
    """Write one header line and a line a battle, as `csv_lines` does."""
    write_lines(path, (line.encode() for line in csv_lines(battles)))


def csv_lines(battles: Iterable[ArenaBattle]) -> Iterator[str]:
    """Yield the header and a line a battle; columns that some battles lack are empty there.

    Texts that a spreadsheet would take for formulas begin with an apostrophe, which `read_csv` takes off.
    """
    rows = [battle.fields for battle in battles]
    names = list(dict.fromkeys([*REQUIRED, *(name for row in rows for name in row)]))
    for cells in (names, *([_cell(row.get(name)) for name in names] for row in rows)):
        yield csv_line(cells)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return without_formula(value if isinstance(value, str) else encode_json(value).decode())


def _is_csv(sample: Sample) -> bool:
    header = {name.strip('"') for name in sample.lines[0].split(",")}
    return not sample.is_json and header.issuperset(REQUIRED)


def _is_json(sample: Sample) -> bool:
    return sample.first_object.keys() >= set(REQUIRED)


_format = partial(Format, content=Content.BATTLES, is_lossless=True, source="LMArena, arena-rank")
CSV, JSON = FORMATS = (
    _format("arena-csv", "Arena battles (CSV)", recognises=_is_csv, read=read_csv, write=write_csv),
    _format(
        "arena-jsonl", "Arena battles (JSON lines)", recognises=_is_json, read=read_json, write=write_json
    ),
)


COMPLETED = "completed"
WINNERS = {"A": "model_a", "B": "model_b", "Tie": "tie", "Tie (Both Bad)": "Tie (Both Bad)"}
"""What each verdict is as the winner of a battle."""
SIDES = ("assistant_a_run_id", "assistant_b_run_id")
KEYS = ("pair", "judge_verdict", "preferred_run_id")
_JUDGED_SHAPE = "an object with status, pair, judge_verdict and preferred_run_id"
_VERDICTS = ", ".join(WINNERS)


def read_judgments(path: Path) -> Iterator[ArenaBattle]:
    """Yield the battles in the file's order, without a winner where the judge gave no verdict.

    Raises `BadFormat` with file and line for a pair that is none, and for a verdict that is unknown, or that
    names another run than `preferred_run_id`.
    """
    for number, text in lines(path):
        try:
            yield _judged_battle(json_object(text, shape=_JUDGED_SHAPE), number)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error


def write_judgments(path: Path, battles: Iterable[ArenaBattle]) -> None:
    """Write the lines as they were read."""
    write_lines(path, (encode_json(battle.columns) for battle in battles))


def _judged_battle(raw: JsonDict, line: int) -> ArenaBattle:
    check_columns(raw)
    if not isinstance(raw.get("status"), str):
        raise BadFormat(f"status is {in_words(raw.get('status'))}, expected {COMPLETED} or another word")
    winner, preferred = _winner(raw), raw.get("preferred_run_id")
    left, right = _sides(raw, winner, _pair(raw))
    winning = {"model_a": left, "model_b": right}.get(winner)
    if preferred != winning:
        problem = f"preferred_run_id is {_quoted(preferred)} and judge_verdict {raw.get('judge_verdict')}"
        raise BadFormat(f"{problem}, expected {_quoted(winning)}")
    query = raw.get("query")
    return ArenaBattle(
        left, right, winner, raw, line, judge=_judge(raw), query=query if isinstance(query, str) else ""
    )


def _winner(raw: JsonDict) -> str:
    """Return the winner in the words of battles; empty where the judge gave no verdict."""
    verdict, status = raw.get("judge_verdict"), raw["status"]
    if status != COMPLETED:
        if verdict is not None:
            raise BadFormat(f"a verdict with status {status!r}, expected null, or status {COMPLETED}")
        return ""
    if not isinstance(verdict, str) or verdict not in WINNERS:
        raise BadFormat(f"judge_verdict is {_quoted(verdict)}, expected {_VERDICTS}")
    return WINNERS[verdict]


def _pair(raw: JsonDict) -> tuple[str, str]:
    pair = raw.get("pair")
    if not isinstance(pair, list) or [run for run in pair if not (isinstance(run, str) and run.strip())]:
        raise BadFormat(f"pair is {in_words(pair)}, expected the names of two runs")
    if len(pair) != len(SIDES) or pair[0] == pair[1]:
        raise BadFormat(f"pair has {', '.join(pair) or 'nothing'}, expected two runs")
    return pair[0], pair[1]


def _sides(raw: JsonDict, winner: str, pair: tuple[str, str]) -> tuple[str, str]:
    """Return who stood left and right; where the line does not name them, as its verdict has it."""
    if any(raw.get(key) is not None for key in SIDES):
        stated = tuple(raw.get(key) for key in SIDES)
        if stated not in (pair, pair[::-1]):
            stated_pair = " and ".join(map(_quoted, stated))
            raise BadFormat(
                f"{' and '.join(SIDES)} are {stated_pair}, expected the pair {' and '.join(pair)}"
            )
        return pair if stated == pair else (pair[1], pair[0])
    preferred = raw.get("preferred_run_id")
    is_turned = (winner, preferred) in (("model_a", pair[1]), ("model_b", pair[0]))
    return (pair[1], pair[0]) if is_turned else pair


def _judge(raw: JsonDict) -> str:
    """Return the model that judged, with how much it thought where that is said."""
    model, thinking = (raw.get(key) for key in ("model", "thinking"))
    if not isinstance(model, str) or not model.strip():
        return ""
    return (
        f"{model.strip()} ({thinking})" if isinstance(thinking, str) and thinking.strip() else model.strip()
    )


def _quoted(value: object) -> str:
    return "none" if value is None else f"{value!r}" if isinstance(value, str) else in_words(value)


def _recognises(sample: Sample) -> bool:
    return sample.first_object.keys() >= set(KEYS)


RAGDOLL_BATTLES = Format(
    "ragdoll-battles",
    "Arena judgments of RAGDoll",
    Content.BATTLES,
    _recognises,
    read_judgments,
    write_judgments,
    is_lossless=True,
    source="RAGDoll (castorini): arena",
)
