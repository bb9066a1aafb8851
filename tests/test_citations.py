"""Citations name papers and sections that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "RUBRIC": [
        "4.1",
        "4.2",
        "4.2.1",
        "4.3",
        "5.1",
        "5.2",
        "5.3",
        "6.1",
        "6.2",
        "6.3",
        "6.4",
        "6.5",
        "6.6",
        "6.7",
    ],
    "EXAM++": [
        "4.1.1",
        "4.1.2",
        "4.2.1",
        "4.2.2",
        "4.3",
        "4.3.1",
        "4.3.2",
        "5.1",
        "5.2",
        "5.3",
        "5.4",
        "5.5",
        "5.6",
    ],
    "Workbench": ["3.1", "3.2", "3.3", "3.4", "3.5", "4.1", "4.2", "4.3", "4.4", "4.5", "6"],
}
"""Numbered sections of the papers that the code cites by a short name."""
CITATION = re.compile(r"\b(RUBRIC|EXAM\+\+|Workbench)(?: \([^()]*\))?,? (\d(?:\.[1-9])+)")
TITLES = (
    "Pencils Down! Automatic Rubric-based Evaluation of Retrieve/Generate Systems",
    "EXAM++: LLM-based Answerability Metrics for IR Evaluation",
    "A Workbench for Autograding Retrieve/Generate Systems",
    "TREMA-UNH at TREC: RAG Systems and RUBRIC-style Evaluation",
    "Ragnarök: A Reusable RAG Framework and Baselines for TREC 2024 Retrieval-Augmented Generation Track",
)


def test_cited_sections_exist():
    wrong = []
    for folder, pattern in (
        ("grading", "*.py"),
        ("grading", "*.toml"),
        ("rubricweb", "*.py"),
        ("docs", "*.md"),
    ):
        for path in (ROOT / folder).rglob(pattern):
            for paper, section in CITATION.findall(path.read_text(encoding="utf-8")):
                if section not in SECTIONS[paper]:
                    wrong.append(f"{path.relative_to(ROOT)}: {paper} {section}")
    assert not wrong


def test_the_readme_names_the_five_papers():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert [title for title in TITLES if title not in readme] == []
