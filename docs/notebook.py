"""Make the notebook from its section of the help: `python docs/notebook.py`. Outputs are not stored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "help" / "programs.md"
TITLE = "## From files to a leaderboard in Python"
NOTEBOOK = DOCS / "notebooks" / "from-files-to-a-leaderboard.ipynb"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def section() -> str:
    """Return the section of the page with its headings one level up."""
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(r"^#(#+ )", r"\1", text[text.index(TITLE) :], flags=re.MULTILINE)


def cells(markdown: str) -> list[dict[str, Any]]:
    """Return a cell for each block of Python, and one for the words between two of them."""
    lines = markdown.splitlines()
    found, begin = [], 0
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.type == "fence" and token.info == "python" and token.map:
            found += [_words(lines[begin : token.map[0]]), _code(token.content)]
            begin = token.map[1]
    found.append(_words(lines[begin:]))
    whole = [cell for cell in found if cell["source"]]
    return [{"id": f"cell-{number}", **cell} for number, cell in enumerate(whole, start=1)]


def notebook(markdown: str) -> str:
    """Return the notebook as the text of its file, in nbformat 4.5."""
    document = {
        "cells": cells(markdown),
        "metadata": {"kernelspec": KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _words(lines: list[str]) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _source("\n".join(lines))}


def _code(text: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "metadata": {}, "source": _source(text), **empty}


def _source(text: str) -> list[str]:
    return text.strip().splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(section()), encoding="utf-8")
