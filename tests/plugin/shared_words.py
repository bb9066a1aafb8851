"""A judge that counts shared words, and a measure of how many passages are of any use."""

import numpy as np

from grading.graders import Backend
from grading.measures import ItemMeasure
from grading.prompts import Prompt
from grading.types import Grade, ItemKind, Outcome, Purpose


class SharedWordsGrader:
    device = "cpu"

    def __init__(self, spec):
        self.spec = spec

    def grade(self, pairs):
        for pair in pairs:
            item = set(pair.item.text.casefold().split())
            shared = item & set(pair.passage.text.casefold().split())
            rating = round(5 * len(shared) / max(len(item), 1))
            yield Grade(pair.item.item_id, pair.passage.passage_id, rating, Outcome.NUMERIC)

    def close(self):
        pass


KINDS = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
PROMPT = Prompt("SharedWords", "1", Purpose.RATE, KINDS, (0, 5), "", "no paper", min_grade=4)
GRADER = Backend(
    "shared_words", "Shared words", "shared_words:SharedWordsGrader", ("SharedWords",), False, "words"
)


def useful_passages(topic):
    useful = (topic.ratings >= topic.min_grade).any(axis=1)
    first = topic.ranked[:, : topic.cutoff]
    return np.where(first >= 0, useful[first], False).sum(axis=1) / topic.cutoff


MEASURE = ItemMeasure(
    name="useful_passages",
    label="Useful passages",
    denominator="first passages that cover an item / cutoff",
    citation="no paper",
    scores=useful_passages,
)
