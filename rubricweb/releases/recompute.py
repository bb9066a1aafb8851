"""Recompute the leaderboards of this release from its grades, rubrics and runs, and compare the scores.

`python boards/recompute.py` in the folder of the release needs Python 3.11 and nothing else. It computes
Rubric-Cover@k: of a topic's questions and nuggets those that the first k passages of a run cover, where a
passage covers what is graded at least t in it; a run's score is the mean over topics, 0 for a topic that it
lacks. Further columns are measures of trec_eval, which reads `qrels/` and `runs/` as they are.
It exits with 1 where a score differs by more than 0.000001.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLOSE = 1e-6
PLAIN = {"measure": "rubric_cover", "definition": "papers", "by_subtopic": False, "importance": None}
PLAIN |= {"ratings": "grader", "missing": "zero"}
"""What a board must say of itself for the formula above to be its own."""

Grades = dict[tuple[str, str], dict[str, int]]
"""By topic and passage: the rating of each item."""
Rankings = dict[str, dict[str, list[str]]]
"""By run and topic: the passages, best first."""


def main(folder: Path) -> int:
    """Compare every board of the release in `folder`, and return the exit status."""
    rankings = dict(read_runs(folder))
    differing = 0
    for path in sorted(folder.glob("boards/*.json")):
        board = json.loads(path.read_bytes().decode())
        if reason := why_not(board, folder):
            say(f"{path.name}: not recomputed, {reason}")
            continue
        scores = cover(board, read_items(bank_file(board, folder), board["kinds"]), folder, rankings)
        wrong = [row for row in board["rows"] if abs(scores[row["run_tag"]] - row["score"]) > CLOSE]
        differing += len(wrong)
        say(f"{path.name}: {len(board['rows']) - len(wrong)} of {len(board['rows'])} scores agree")
        for row in wrong:
            say(f"  {row['run_tag']}: {row['score']} in the release, {scores[row['run_tag']]} recomputed")
    return 1 if differing else 0


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def why_not(board: dict[str, Any], folder: Path) -> str:
    """Return why this script cannot recompute a board; empty if it can."""
    other = [f"{name} is {board.get(name)}" for name, value in PLAIN.items() if board.get(name) != value]
    if other:
        return f"another measure than plain Rubric-Cover: {', '.join(other)}"
    if not bank_file(board, folder).is_file():
        return "its rubric is not in the release"
    items = read_items(bank_file(board, folder), board["kinds"])
    if (count := sum(map(len, items.values()))) != board["items"]:
        return (
            f"it counts {board['items']} items and the release has {count}: some are secret or have no text"
        )
    return ""


def bank_file(board: dict[str, Any], folder: Path) -> Path:
    """Return the file of the board's rubric."""
    name = re.sub(r"[^A-Za-z0-9.@_-]+", "-", board["bank"] or "").strip("-.")
    return folder / "banks" / f"{name}_workbench.jsonl"


def read_items(path: Path, kinds: list[str]) -> dict[str, set[str]]:
    """Return the ids of the items of these kinds by topic."""
    items: dict[str, set[str]] = defaultdict(set)
    for line in path.read_bytes().decode().split("\n"):
        if line.strip():
            topic = json.loads(line)
            ids = (item.get(f"{kind}_id") for item in topic["items"] for kind in kinds)
            items[str(topic["query_id"])].update(str(name) for name in ids if name is not None)
    return dict(items)


def read_runs(folder: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each run's name with its rankings, by score and rank as the file has them."""
    for path in sorted(folder.glob("runs/*.run")):
        rankings: dict[str, list[str]] = defaultdict(list)
        run_tag = ""
        for line in path.read_bytes().decode().split("\n"):
            if line.strip():
                query_id, _, doc_id, _, _, run_tag = line.split(" ")
                rankings[query_id].append(doc_id)
        yield run_tag, dict(rankings)


def read_grades(board: dict[str, Any], folder: Path) -> Grades:
    """Return the ratings of the board's grader."""
    grader, grades = board["grader"], {}
    with gzip.open(folder / "grades" / "graded.jsonl.gz", "rb") as file:
        for line in file:
            query_id, passages = json.loads(line)
            for passage in passages:
                ratings: dict[str, int] = {}
                for entry in passage.get("exam_grades") or ():
                    if is_by(entry, grader):
                        for rated in entry.get("self_ratings") or ():
                            item = rated.get("question_id", rated.get("nugget_id"))
                            ratings[str(item)] = int(rated["self_rating"])
                grades[str(query_id), str(passage["paragraph_id"])] = ratings
    return grades


def is_by(entry: dict[str, Any], grader: dict[str, Any]) -> bool:
    """Return whether a grader made an entry of the graded file."""
    options = entry.get("llm_options") or {}
    same_options = all(options.get(name) == value for name, value in grader["options"].items())
    prompt_class = (entry.get("prompt_info") or {}).get("prompt_class")
    return same_options and (entry["llm"], prompt_class) == (grader["llm"], grader["prompt_class"])


def cover(
    board: dict[str, Any], items: dict[str, set[str]], folder: Path, rankings: Rankings
) -> dict[str, float]:
    """Return Rubric-Cover of each run on the board."""
    grades = read_grades(board, folder)
    scores = {}
    for row in board["rows"]:
        ranked = rankings.get(row["run_tag"], {})
        by_topic = []
        for query_id, own in items.items():
            if own:
                top = ranked.get(query_id, [])[: board["cutoff"]]
                rated = [grades.get((query_id, doc_id), {}) for doc_id in top]
                covered = {item for each in rated for item in each if each[item] >= board["min_grade"]} & own
                by_topic.append(len(covered) / len(own))
        scores[row["run_tag"]] = sum(by_topic) / len(by_topic)
    return scores


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).resolve().parent.parent))
