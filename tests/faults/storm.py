"""A storm: faults of a seeded order at random moments, until enough have happened and all work has ended."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tests.faults import work
from tests.faults.services import LEASE_SECONDS, RedisService, Service, Services
from tests.faults.visitors import Downloads, Ratings

POLL_SECONDS = 0.1
UP_SECONDS = 30.0
"""So long a fault waits for its victim, which may hang on something else that is broken."""
ROUND_SECONDS = 180.0
"""After the last fault of a round: what has not ended then never does."""


class Fault(NamedTuple):
    """What happens next."""

    after: float
    """Seconds since the last one was over."""
    victim: str
    is_frozen: bool
    """It stands still and goes on; else it is killed and started anew."""
    lasts: float
    """Seconds until then."""
    is_early: bool
    """It may happen while its victim still starts."""


def faults(seed: int, victims: list[str]) -> Iterator[Fault]:
    """The same seed has the same faults in the same order, whatever becomes of them. Redis is only killed."""
    dice = random.Random(seed)
    while True:
        victim = dice.choice(victims)
        is_frozen = dice.random() < 0.15 and victim != "redis"
        lasts = dice.uniform(0.5, 2 * LEASE_SECONDS) if is_frozen else dice.uniform(0, 0.3)
        yield Fault(dice.uniform(0.2, 2.5), victim, is_frozen, lasts, dice.random() < 0.2)


@dataclass
class Report:
    """What happened, and what is wrong afterwards."""

    happened: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    again: Counter[str] = field(default_factory=Counter)
    """By kind of work: how often it was given up, since its worker was killed again and again."""
    wrong: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return sum(n for name, n in self.happened.items() if name.startswith("kill"))


class Storm:
    """Rounds of all kinds of work over `services`, while one thread breaks them."""

    def __init__(self, services: Services, seed: int, *, kills: int, seconds: float = float("inf")) -> None:
        """It ends after so many kills, or after so many seconds."""
        self.services, self.kills, self.report = services, kills, Report()
        self.by_name = {service.name: service for service in services.breakable}
        self.schedule = faults(seed, list(self.by_name))
        self.numbers = itertools.count(1)
        self.is_over = threading.Event()
        self.until = time.monotonic() + seconds

    def blow(self) -> Report:
        """Until `kills` have happened and the work of the last round has ended."""
        visitors = [
            Downloads(self.services.url, "downloads"),
            Ratings(self.services.url, "ratings", cells=40 * self.kills),
        ]
        wanted = lambda: not self.is_over.is_set()  # noqa: E731
        threads = [threading.Thread(target=one.go_on, args=(wanted,)) for one in visitors]
        breaker = threading.Thread(target=self._break)
        for thread in (*threads, breaker):
            thread.start()
        try:
            while breaker.is_alive():
                self._round(breaker)
            # On a busy machine a visitor may not have been answered once when the last fault is over.
            wait_until(lambda: all(one.has_succeeded for one in visitors), ROUND_SECONDS)
        finally:
            self.is_over.set()
            for thread in (breaker, *threads):
                thread.join()
        self.report.wrong += [fault for one in visitors for fault in one.faults()]
        return self.report

    def _break(self) -> None:
        while self.report.kills < self.kills and time.monotonic() < self.until and not self.is_over.is_set():
            fault = next(self.schedule)
            self.is_over.wait(fault.after)
            victim = self.by_name[fault.victim]
            if not fault.is_early:
                wait_until(partial(self.services.is_up, victim), UP_SECONDS)
            if fault.is_frozen and isinstance(victim, Service):
                freeze(victim, fault.lasts)
            else:
                kill(victim, fault.lasts)
            self.report.happened[f"{'freeze' if fault.is_frozen else 'kill'} {fault.victim}"] += 1

    def _round(self, breaker: threading.Thread) -> None:
        started = [kind(f"{kind.__name__.lower()}-{next(self.numbers)}") for kind in work.KINDS]
        left, since = list(started), time.monotonic()
        while left and time.monotonic() - since < ROUND_SECONDS:
            if breaker.is_alive():
                since = time.monotonic()
            left = work.unfinished(left)
            time.sleep(POLL_SECONDS)
        self.report.rounds += 1
        self.report.wrong += [f"{type(one).__name__} did not end" for one in left]
        for one in started:
            name = type(one).__name__
            self.report.again[name] += one.again
            self.report.wrong += [f"{name}: {fault}" for fault in one.faults() if one not in left]


def wait_until(is_true: Callable[[], bool], seconds: float) -> None:
    """Return when it is true, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_true() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def kill(victim: Service | RedisService, seconds: float) -> None:
    victim.kill()
    time.sleep(seconds)
    victim.start()


def freeze(victim: Service, seconds: float) -> None:
    victim.freeze()
    time.sleep(seconds)
    victim.thaw()
