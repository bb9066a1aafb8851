"""The first five topics of the demo as a collection of their own, which loads in a third of the time."""

from __future__ import annotations

import json
from pathlib import Path

from rubricweb.demo.loading import FOLDER

QUERY_IDS = ("t1", "t2", "t3", "t4", "t5")


def write_five_topics(folder: Path) -> Path:
    """Write the demo's files with these topics alone into `folder`, and return it."""
    (folder / "runs").mkdir(parents=True)
    for path in (*FOLDER.glob("*.jsonl"), FOLDER / "qrels.txt", *(FOLDER / "runs").iterdir()):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = "".join(line for line in lines if _query_id(line) in QUERY_IDS)
        (folder / path.relative_to(FOLDER)).write_text(kept, encoding="utf-8")
    return folder


def _query_id(line: str) -> str:
    if not line.startswith(("{", "[")):
        return line.split(maxsplit=1)[0]
    content = json.loads(line)
    return str(content[0] if isinstance(content, list) else content.get("request_id") or content["query_id"])
