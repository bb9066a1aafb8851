"""What a topic is like, in scores from 0 to 10: the prompt for a model, and the reading of its reply.

Rosset et al. 2024, "Researchy Questions", had GPT-4 score eight intrinsic attributes; Pradeep et al. 2024
("Ragnarök", appendix B) draw diverse topics by them, and people sorted the topics of TREC DL into seven
categories (appendix A). The words of the prompt are not published; these are RubricWeb's.
"""

from __future__ import annotations

from collections.abc import Mapping

from grading.errors import ParseFailure
from grading.parsing import json_objects
from grading.prompts.chat import ChatPrompt, Messages

HIGHEST = 10
LONGEST_REPLY = 256
"""Tokens: a JSON object of eight numbers, and some words around it."""

MEANINGS: Mapping[str, str] = {
    "ambiguity": "its intent is open to several readings",
    "incompleteness": "it lacks context or details without which it is hard to answer",
    "assumptive": "it takes something for granted that may sway the answer",
    "multi-faceted": "a full answer has to look at it from several sides",
    "knowledge-intensive": "a thorough answer needs special knowledge and much research",
    "subjective": "opinions about the answer may differ",
    "reasoning-intensive": "the answer takes several steps of reasoning over what is known",
    "harmful": "an answer could do harm",
}
"""What a high score says of a topic, by the name of the attribute."""
CATEGORIES: Mapping[str, str] = {
    "simple": "a simple fact",
    "simple with condition": "a fact under a condition",
    "set": "several short entities",
    "aggregation": "what several passages say together",
    "comparison": "two things or more beside each other",
    "multi-hop": "one piece of information leads to the next",
    "false premise": "the question takes something for true that is not",
}
"""What the answer to a topic is, by category."""
CATEGORY = "category"
"""The attribute that has the category."""

PROMPT = ChatPrompt(
    name="IntrinsicAttributes",
    version="1",
    source="RubricWeb, after Rosset et al. 2024, arXiv 2402.17896, and Pradeep et al. 2024, appendix B",
    template=(
        "Score what the question below is like, each attribute from 0 (not at all) to 10 (very much):\n"
        + "\n".join(f"- {name}: {meaning}" for name, meaning in MEANINGS.items())
        + "\n\nQuestion: {query_text}\n\n"
        + "Respond with a JSON object only, which has a whole number for each of: "
        + ", ".join(MEANINGS)
        + "."
    ),
)


def question(query_text: str) -> Messages:
    """Return the messages that ask about one topic.

    >>> [(role, text)] = question("why have used car prices increased")
    >>> role, "Question: why have used car prices increased" in text
    ('user', True)
    """
    return PROMPT.messages(query_text=query_text.strip())


def parse_scores(reply: str) -> dict[str, int | float]:
    """Return the eight scores of a reply by attribute. Raises ParseFailure where it lacks one.

    Names may have blanks or underscores for hyphens; other keys are left out.

    >>> names = [name.replace("-", "_") for name in MEANINGS]
    >>> scores = parse_scores(f'Sure: {{{", ".join(f"{name!r}: 7" for name in names)}}}'.replace("'", '"'))
    >>> scores["multi-faceted"], len(scores)
    (7, 8)
    """
    for entry in json_objects(reply):
        by_name = {str(key).strip().lower().replace("_", "-").replace(" ", "-"): entry[key] for key in entry}
        if not MEANINGS.keys() & by_name.keys():
            continue
        if missing := [name for name in MEANINGS if not is_score(by_name.get(name))]:
            raise ParseFailure(f"the reply has no score from 0 to {HIGHEST} for {', '.join(missing)}")
        return {name: by_name[name] for name in MEANINGS}  # type: ignore[misc]  # numbers: is_score
    raise ParseFailure("the reply has no JSON object with scores")


def is_score(value: object) -> bool:
    """Return whether it is a number from 0 to 10."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST
