"""Small files in the Workbench's and TREC's formats, written by the tests that import them."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command

from grading.types import item_id

LLM = "google/flan-t5-large"
RATING_PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
RED, FALL = "Which pigment makes leaves red?", "When does chlorophyll break down?"
TEXTS = {
    "d1": "Anthocyanins make maple leaves red.",
    "d2": "Chlorophyll breaks down when days grow short.",
    "d3": "A recipe for apple pie.",
}


def uid(text: str, query_id: str = "t1", facet_id: str = "") -> str:
    return item_id(query_id, text, facet_id)


def rated(ratings: dict[str, int], *, llm: str = LLM, prompt_class: str = RATING_PROMPT) -> dict[str, Any]:
    """One entry of `exam_grades`: item id -> rating, each said by the model as that digit."""
    return {
        "correctAnswered": [item for item, rating in ratings.items() if rating >= 4],
        "wrongAnswered": [item for item, rating in ratings.items() if rating < 4],
        "answers": [[item, str(rating)] for item, rating in ratings.items()],
        "llm": llm,
        "llm_options": {},
        "exam_ratio": 0.5,
        "prompt_info": {"prompt_class": prompt_class, "is_self_rated": True},
        "self_ratings": [{"question_id": item, "self_rating": rating} for item, rating in ratings.items()],
        "prompt_type": "question",
    }


def extracted(answers: dict[str, str]) -> dict[str, Any]:
    entry = rated({})
    entry["answers"] = [[item, answer] for item, answer in answers.items()]
    entry["prompt_info"] = {"prompt_class": "Extraction", "is_self_rated": False, "check_answer_key": False}
    del entry["self_ratings"]
    return entry


def direct(*, is_relevant: bool, llm: str = "labeller") -> dict[str, Any]:
    return {
        "correctAnswered": is_relevant,
        "answer": "Yes" if is_relevant else "No",
        "llm": llm,
        "llm_options": {},
        "prompt_info": {"prompt_class": "FagB", "is_self_rated": False},
        "prompt_type": "direct_grading",
    }


def passage(
    doc_id: str,
    *entries: dict[str, Any],
    text: str = "",
    judged: dict[str, int] | None = None,
    ranks: dict[str, tuple[float, float]] | None = None,
    labels: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """`judged`: query id -> relevance; `ranks`: run tag -> (rank, score); `labels`: direct grades."""
    judgments = [
        {"paragraphId": doc_id, "query": query, "relevance": relevance, "titleQuery": query}
        for query, relevance in (judged or {}).items()
    ]
    rankings = [
        {"method": tag, "paragraphId": doc_id, "queryId": "t1", "rank": rank, "score": score}
        for tag, (rank, score) in (ranks or {}).items()
    ]
    return {
        "paragraph_id": doc_id,
        "text": text or TEXTS[doc_id],
        "paragraph_data": {"judgments": judgments, "rankings": rankings},
        "exam_grades": list(entries),
        "grades": labels or [],
    }


def bank_line(
    *texts: str, query_id: str = "t1", facet_id: str = "", query_text: str = "why leaves turn red"
) -> Any:
    items = [{"question_id": uid(text, query_id, facet_id), "question_text": text} for text in texts]
    line: dict[str, Any] = {"query_id": query_id, "query_text": query_text, "items": items}
    return {**line, "facet_id": facet_id} if facet_id else line


def response(
    run_id: str, query_id: str, *sentences: str | tuple[str, list[int]], **metadata: object
) -> dict[str, Any]:
    """A line of a RAG'25 run; a sentence is a text that cites the first reference, or has its citations."""
    described = {"team_id": "maple", "run_id": run_id, "type": "automatic", "narrative_id": query_id}
    answer = [(one, [0]) if isinstance(one, str) else one for one in sentences]
    return {
        "metadata": {**described, "narrative": f"about {query_id}", **metadata},
        "references": ["msmarco_v2.1_doc_00_1#1_2", "msmarco_v2.1_doc_00_2#3_4"],
        "answer": [{"text": text, "citations": citations} for text, citations in answer],
    }


class Folder:
    """Writes files and imports them by the command."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    def lines(self, name: str, *lines: Any) -> Path:
        return self.write(name, "".join(json.dumps(line) + "\n" for line in lines))

    def graded(self, *passages: dict[str, Any], query_id: str = "t1", name: str = "graded.jsonl") -> Path:
        """A graded file of one line."""
        return self.lines(name, [query_id, list(passages)])

    def queries(self, **texts: str) -> Path:
        return self.write("queries.json", json.dumps(texts or {"t1": "why leaves turn red"}, indent=1))

    def load(self, *arguments: object, slug: str = "autumn") -> dict[str, Any]:
        """Run `import_collection --json` and return its document."""
        out = io.StringIO()
        call_command("import_collection", slug, *map(str, arguments), "--json", stdout=out)
        document: dict[str, Any] = json.loads(out.getvalue())
        return document


def counts(**kinds: tuple[int, int, int]) -> dict[str, dict[str, int]]:
    """kind -> (new, changed, unchanged), as the command prints them."""
    return {
        kind: dict(zip(("new", "changed", "unchanged"), numbers, strict=True))
        for kind, numbers in kinds.items()
    }


def database() -> dict[str, list[dict[str, Any]]]:
    """Every row of every table of ours: equal before and after means that nothing has changed."""
    ours = [model for model in apps.get_models() if model.__module__.startswith("rubricweb.")]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in ours}
