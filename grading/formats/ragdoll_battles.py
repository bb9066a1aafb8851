"""The votes of RAGDoll's arena, `judgments.jsonl`: a line is what a model said of two answers to a topic.

`judge_verdict` is about the places: A stood on the left. `preferred_run_id` names the run that it means, none
for a tie. `pair` has the two runs in an order of its own. A line whose `status` is not `completed` has no
verdict: it is read and written again, and is no vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.battles import ArenaBattle, check_columns
from grading.formats.json_lines import JsonDict, encode_json, in_words, json_object
from grading.formats.reading import lines, write_lines

COMPLETED = "completed"
WINNERS = {"A": "model_a", "B": "model_b", "Tie": "tie", "Tie (Both Bad)": "Tie (Both Bad)"}
"""What each verdict is as the winner of a battle."""
SIDES = ("assistant_a_run_id", "assistant_b_run_id")
KEYS = ("pair", "judge_verdict", "preferred_run_id")
_SHAPE = "an object with status, pair, judge_verdict and preferred_run_id"
_VERDICTS = ", ".join(WINNERS)


def read_judgments(path: Path) -> Iterator[ArenaBattle]:
    """Yield the battles in the file's order, without a winner where the judge gave no verdict.

    Raises `BadFormat` with file and line for a pair that is none, and for a verdict that is unknown, or that
    names another run than `preferred_run_id`.
    """
    for number, text in lines(path):
        try:
            yield _battle(json_object(text, shape=_SHAPE), number)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error


def write_judgments(path: Path, battles: Iterable[ArenaBattle]) -> None:
    """Write the lines as they were read."""
    write_lines(path, (encode_json(battle.columns) for battle in battles))


def _battle(raw: JsonDict, line: int) -> ArenaBattle:
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
