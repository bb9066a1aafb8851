"""How many calls a server has under way: as many as it takes without refusing any or letting them queue.

Additive increase, multiplicative decrease (Chiu and Jain 1989, Computer Networks and ISDN Systems 17), with
the slow start of TCP (Jacobson 1988, SIGCOMM). A call that is refused as one too many (429, 503) or gets no
reply in time is a sign of overload, and so is a queue. Queueing time is measured as by CoDel (RFC 8289): a
round's is that of its fastest call, since single replies are slow for other reasons than a queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST = 8
"""Calls under way before the server was seen to take more."""
DECREASE = 0.7
"""What is left of the limit after a sign of overload; as in CUBIC (RFC 9438)."""
FORGETTING = 1.05
"""After each round the fastest call so far counts as this much slower: servers can become slower for good."""


class ConcurrencyLimit:
    """Times are seconds of any clock that never goes back."""

    def __init__(self, most: int, longest_queueing: float) -> None:
        """`longest_queueing` in seconds: calls that wait longer at the server are a sign of overload."""
        self._most, self._longest_queueing = most, longest_queueing
        self._limit = float(min(FIRST, most))
        self._is_starting = True
        self._decreased_at = -math.inf
        self._fastest = math.inf
        self._round = self._previous = _Round(self.calls)

    @property
    def calls(self) -> int:
        """How many may be under way now; at least 1."""
        return int(self._limit)

    def note_start(self, under_way: int) -> None:
        """`under_way`: calls, with the one that starts."""
        self._round.under_way = max(self._round.under_way, under_way)

    def note_reply(self, started: float, ended: float) -> None:
        self._round.replies += 1
        self._round.fastest = min(self._round.fastest, ended - started)
        if self._is_used:
            step = 1.0 if self._is_starting else 1.0 / self._limit
            self._limit = min(float(self._most), self._limit + step)
        if self._round.replies >= self._round.length and self._is_queueing():
            self.note_overload(started, ended)

    def note_overload(self, started: float, ended: float) -> None:
        """Calls that were sent before the latest decrease tell nothing of the limit as it is now."""
        if started < self._decreased_at:
            return
        self._limit = max(1.0, self._limit * DECREASE)
        self._is_starting, self._decreased_at = False, ended

    @property
    def _is_used(self) -> bool:
        """Fewer calls than half the limit do not show that the server takes more."""
        return 2 * max(self._round.under_way, self._previous.under_way) >= self.calls

    def _is_queueing(self) -> bool:
        """Whether even the fastest call of the round that ends here had to wait too long."""
        queueing = self._round.fastest - self._fastest
        self._fastest = min(self._fastest * FORGETTING, self._round.fastest)
        self._previous, self._round = self._round, _Round(self.calls)
        return queueing > self._longest_queueing


@dataclass(slots=True)
class _Round:
    """As many replies as the limit allowed calls when it began."""

    length: int
    replies: int = 0
    fastest: float = math.inf
    under_way: int = 0
    """The most calls at once."""
