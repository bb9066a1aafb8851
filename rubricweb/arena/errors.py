"""Why the arena refuses; the texts are for the person who votes."""

from __future__ import annotations


class ArenaError(Exception):
    """Root of the arena's refusals."""


class NothingToDraw(ArenaError):
    """The person has seen every pair of answers, or there are none."""

    def __init__(self) -> None:
        super().__init__("There is no pair of answers that you have not seen.")


class NotTwoAnswers(ArenaError):
    """The two runs did not both answer the topic."""

    def __init__(self) -> None:
        super().__init__("Choose two different runs that both answered the topic.")


class VotedMeanwhile(ArenaError):
    """The same person voted on the battle in another window."""

    def __init__(self) -> None:
        super().__init__("You have voted in another window. That vote is shown.")


class NothingToTakeBack(ArenaError):
    """The battle has no vote that holds."""

    def __init__(self) -> None:
        super().__init__("There is no vote to withdraw.")


class NothingVoted(ArenaError):
    """Only a vote that holds has a reason."""

    def __init__(self) -> None:
        super().__init__("There is no vote whose reason this could be.")


class AdoptedAlready(ArenaError):
    """The question is a topic of the collection."""

    def __init__(self) -> None:
        super().__init__("This question is a topic already.")


class TopicTaken(ArenaError):
    """The collection has a topic of the chosen id."""

    def __init__(self) -> None:
        super().__init__("This collection has a topic of that id. Choose another one.")
