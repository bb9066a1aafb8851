"""The part of a prompt that has exemplars: pairs that people rated.

Its words are part of what a grade means, like those of a prompt: they must not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from grading.prompts.chat import WELL_KNOWN, PromptMarks, fill
from grading.types import Exemplar

BEFORE_EXEMPLARS = (
    "People graded these passages, which are for other topics, on the scale that is explained below.\n\n"
)
_EXEMPLAR = "{kind}: {item}\nPassage: {passage}\nGrade: {grade}\n\n"
_AFTER = "Grade what follows in the same way.\n\n"
_PLACEHOLDER = re.compile(r"\{(kind|item|passage|grade)\}")


def exemplar_block(
    exemplars: Sequence[Exemplar], label_of: Callable[[int], str], marks: PromptMarks = WELL_KNOWN
) -> str:
    """Return what stands before a prompt's own text; empty without exemplars.

    `label_of` is the prompt's name of a rating. Control tokens in the texts are broken, as `fill` does.
    """
    if not exemplars:
        return ""
    texts = (
        {
            "kind": each.kind.value.capitalize(),
            "item": " ".join(each.item.split()),
            "passage": " ".join(each.passage.split()),
            "grade": label_of(each.rating),
        }
        for each in exemplars
    )
    return BEFORE_EXEMPLARS + "".join(fill(_EXEMPLAR, _PLACEHOLDER, each, marks) for each in texts) + _AFTER
