"""Everything that `grading` raises.

GradingError
├── BadFormat           a file is not what it should be: names file, line and what was expected
│   └── Unclear         a file may be something else than it seems: names the formats to choose from
├── UnknownMeasure      no measure of that name
├── UnknownSlice        topics have no such attribute, or no topic the value
├── UnknownPrompt       no prompt class of that name
├── BadPrompt           a prompt that somebody wrote cannot be asked: says what to correct
│   └── UnknownPlaceholder  its text names a placeholder that does not exist
├── UnknownGrader       no grader back-end of that name
├── GraderUnavailable   the back-end cannot run here (library, weights or server missing)
│   ├── BadOption       an option that the back-end does not have, or a value that it cannot have
│   └── BadSecret       a key or password that cannot be sent
├── NoReply             a model could not be asked, or gave no answer (graders/replies.py)
├── TooFewRatings       labels cannot be calibrated yet (statistics/calibrated_labels.py)
├── TryLater            a server cannot be reached, or asks to be asked later
└── ParseFailure        a raw reply that holds no rating
"""

from __future__ import annotations

from collections.abc import Sequence


class GradingError(Exception):
    """Root of the tree."""


MAX_PROBLEM_CHARS = 600


class BadFormat(GradingError):
    """A file is not what it should be.

    Problems quote what files hold, which may be a megabyte: only their first and last words are kept.
    """

    def __init__(self, problem: str, *, file: str = "", line: int | None = None) -> None:
        if len(problem) > MAX_PROBLEM_CHARS:
            half = MAX_PROBLEM_CHARS // 2
            problem = f"{problem[:half]} ... {problem[-half:]}"
        self.problem, self.file, self.line = problem, file, line
        place = f"{file}:{line}" if line is not None else file
        super().__init__(f"{place}: {problem}" if place else problem)


class Unclear(BadFormat):
    """A file may be something else than it seems, which somebody has to say before it is read."""

    def __init__(
        self, problem: str, *, formats: Sequence[str], file: str = "", line: int | None = None
    ) -> None:
        """Keep in `formats` the names of the formats that the file may be read as."""
        self.formats = tuple(formats)
        super().__init__(problem, file=file, line=line)


class UnknownMeasure(GradingError):
    """No measure of that name."""


class UnknownSlice(GradingError):
    """Topics have no such attribute, or no topic has the value; the message says what there is."""


class UnknownPrompt(GradingError):
    """No prompt class of that name."""


class BadPrompt(GradingError):
    """A prompt that somebody wrote cannot be asked; the message says what to correct."""

    def __init__(self, problem: str, *, part: str = "") -> None:
        """Keep the part to correct: prompt_class, kinds, template, scale or labels."""
        self.part = part
        super().__init__(problem)


class UnknownPlaceholder(BadPrompt):
    """A prompt's text names placeholders that do not exist; the message names them and those that do."""


class UnknownGrader(GradingError):
    """No grader back-end of that name."""


class GraderUnavailable(GradingError):
    """The back-end cannot run here; the message says what to install or start."""


class TryLater(GradingError):
    """A server cannot be reached, or asks to be asked later; nothing is lost."""


class BadOption(GraderUnavailable):
    """An option that the back-end does not have, or a value that it cannot have."""


class BadSecret(GraderUnavailable):
    """A key or password that cannot be sent; the message names the setting and never the value."""


class ParseFailure(GradingError):
    """A raw reply that holds no rating."""
