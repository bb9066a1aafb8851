"""`rubricweb gate`: does a new run score clearly worse than the run in use? For teams that ship a RAG system.

It sends answers to a server, has graded what is missing, compares two runs by the rule of the board, and ends
with a status that a pipeline understands. RUBRIC_URL has the server's address, RUBRIC_TOKEN a token.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

from rubricweb.client.clients import Client
from rubricweb.client.core import ClientError, JobEnded
from rubricweb.client.rows import Plan

MARGIN = 0.05
RARE = 3
"""Rule of three: what was seen on none of n topics strikes at most RARE / n of all, with confidence 95 %."""
FAILED = 3
"""The exit status where there is no verdict: a wrong option, a refused file, a failed job."""


class Outcome(IntEnum):
    """The verdict, as the exit status."""

    NOT_WORSE = 0
    WORSE = 1
    CANNOT_TELL = 2


OUTCOMES = {
    Outcome.NOT_WORSE: "not worse",
    Outcome.WORSE: "clearly worse",
    Outcome.CANNOT_TELL: "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Compares a run with another, in scores of the board's measure.

    `low` and `high` are None without an interval, `difference` where no topic counts for both.
    """

    run: str
    against: str
    margin: float
    topics: int
    """Those that count for both."""
    equal_topics: int
    """Those on which both score the same."""
    difference: float | None
    """The run's mean minus the other's."""
    low: float | None
    """The ends of the 95 % interval of the difference."""
    high: float | None
    is_clear: bool
    """Whether the board calls the two apart, which counts all of its pairs."""

    @property
    def is_equal(self) -> bool:
        """Return whether both score the same on every topic, so that there is no interval."""
        return 0 < self.topics == self.equal_topics

    @property
    def outcome(self) -> Outcome:
        """Return the verdict.

        NOT_WORSE: the interval lies above -margin, or the board has the run clearly ahead, or both score the
        same on every topic and what these topics cannot show is within the margin. WORSE: none of these, and
        the board has the run clearly behind. CANNOT_TELL: these topics leave both open.
        """
        if self.difference is None:
            return Outcome.CANNOT_TELL
        lowest = -RARE / self.topics if self.is_equal else self.low
        is_within = lowest is not None and lowest >= -self.margin
        if is_within or (self.is_clear and self.difference > 0):
            return Outcome.NOT_WORSE
        return Outcome.WORSE if self.is_clear else Outcome.CANNOT_TELL

    @property
    def topics_needed(self) -> int | None:
        """Return about how many topics would show that the run is not worse by more than the margin.

        The width of an interval shrinks with the root of their number. None where the run is behind by the
        margin or more, which no number of topics would make good, or where there is no interval.
        """
        if self.is_equal and self.margin:
            return math.ceil(RARE / self.margin)
        if self.difference is None or self.low is None or self.difference <= -self.margin:
            return None
        share = (self.difference - self.low) / (self.difference + self.margin)
        return math.ceil(self.topics * share**2)

    @property
    def sentence(self) -> str:
        """Return what people read: the verdict, and what it stands on."""
        text = f"{self.run} against {self.against}: {OUTCOMES[self.outcome]}"
        if self.difference is None:
            return f"{text}; no topic counts for both."
        text += f". Difference {self.difference:+z.3f}"
        if self.is_equal:
            text += ", the same score on each topic"
        elif self.low is not None:
            text += f", 95 % {self.low:+z.3f} to {self.high:+z.3f}"
        text += f", over {self.topics} topics; margin {self.margin:g}."
        if self.outcome is Outcome.CANNOT_TELL and (needed := self.topics_needed):
            text += f" About {needed:,} topics would tell, if the difference stays what it is."
        return text


def verdict_of(comparison: dict[str, Any], run: str, against: str, margin: float) -> Verdict:
    """Return the verdict on `run` from the API's comparison, which has the better run first."""
    sign = 1 if comparison["first"] == run else -1
    difference = comparison["difference"]
    ends: Sequence[float | None] = (None, None)
    if comparison["low"] is not None:
        ends = sorted((sign * comparison["low"], sign * comparison["high"]))
    return Verdict(
        run=run,
        against=against,
        margin=margin,
        topics=comparison["topics"],
        equal_topics=comparison["equal_topics"],
        difference=None if difference is None else sign * difference,
        low=ends[0],
        high=ends[1],
        is_clear=comparison["is_clear"],
    )


def _json(verdict: Verdict) -> str:
    document = {"outcome": OUTCOMES[verdict.outcome], "status": int(verdict.outcome), **asdict(verdict)}
    return (
        json.dumps({**document, "topics_needed": verdict.topics_needed, "sentence": verdict.sentence}) + "\n"
    )


def _markdown(verdict: Verdict) -> str:
    def signed(value: float | None) -> str:
        return "-" if value is None else f"{value:+z.3f}"

    columns = ("run", "against", "difference", "95 % interval", "topics", "margin", "verdict")
    values = (
        verdict.run,
        verdict.against,
        signed(verdict.difference),
        f"{signed(verdict.low)} to {signed(verdict.high)}",
        str(verdict.topics),
        f"{verdict.margin:g}",
        f"**{OUTCOMES[verdict.outcome]}**",
    )
    cells = [value.replace("|", "\\|") for value in values]
    lines = ["| " + " | ".join(line) + " |" for line in (columns, ["---"] * len(columns), cells)]
    return "\n".join([*lines, "", verdict.sentence]) + "\n"


def _junit(verdict: Verdict) -> str:
    """Return one test case, which fails where the run is worse and is an error where nothing can be told."""
    failed = verdict.outcome is Outcome.WORSE
    unknown = verdict.outcome is Outcome.CANNOT_TELL
    suite = ET.Element(
        "testsuite", name="rubricweb gate", tests="1", failures=f"{failed:d}", errors=f"{unknown:d}"
    )
    case = ET.SubElement(suite, "testcase", classname=verdict.against, name=verdict.run)
    if verdict.outcome is not Outcome.NOT_WORSE:
        problem = ET.SubElement(case, "failure" if failed else "error", message=OUTCOMES[verdict.outcome])
        problem.text = verdict.sentence
    ET.SubElement(case, "system-out").text = verdict.sentence
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


WRITERS: dict[str, Callable[[Verdict], str]] = {
    "text": lambda verdict: f"{verdict.sentence}\n",
    "json": _json,
    "markdown": _markdown,
    "junit": _junit,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a status that is no verdict; argparse's own is 2."""
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: {message}\n")


def add_arguments(gate: argparse.ArgumentParser) -> None:
    gate.add_argument("--collection", required=True, metavar="SLUG")
    gate.add_argument("--run", required=True, metavar="R", help="the new run")
    gate.add_argument("--against", required=True, metavar="B", help="the run in use")
    text = "answers or rankings to send first; they replace what the run had (default: nothing)"
    gate.add_argument("--answers", nargs="+", default=[], metavar="FILE", help=text)
    gate.add_argument("--no-grading", action="store_true", help="compare by the grades that are there")
    text = "grade nothing, and exit with 3, where it takes more calls of models"
    gate.add_argument("--most-calls", type=int, metavar="N", help=text)
    text = "likewise, where it costs more dollars, or nobody knows how many"
    gate.add_argument("--most-dollars", type=float, metavar="D", help=text)
    text = f"in scores of the measure: so much worse is no worse ({MARGIN:g})"
    gate.add_argument("--margin", type=float, default=MARGIN, metavar="M", help=text)
    text = "an option of the board, as in its address: measure=rubric_cover, min_grade=4; repeatable"
    gate.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "seconds to wait for an import and for each grading job (3600)"
    gate.add_argument("--timeout", type=float, default=3600.0, metavar="S", help=text)
    text = "text (default), json, markdown or junit; and a file to write: junit=gate.xml; repeatable"
    gate.add_argument("--format", action="append", default=[], metavar="F[=FILE]", help=text)


def send(client: Client, slug: str, paths: Sequence[str], timeout: float) -> None:
    """Import files and wait. Raises ClientError, JobEnded with what the check objects to."""
    begun = client.upload_files(slug, *paths)
    client.wait_for_import(slug, begun["id"], timeout=timeout)
    client.check_import(slug, begun["id"], replace=True)
    checked = client.wait_for_import(slug, begun["id"], timeout=timeout)
    if not checked["is_ready"]:
        problems = [f"{file['name']}: {file['problem']}" for file in checked["files"] if file["problem"]]
        raise JobEnded({**checked, "state": "refused", "error": "; ".join(problems) or checked["problem"]})
    client.start_import(slug, begun["id"])
    client.wait_for_import(slug, begun["id"], timeout=timeout)


def grade_missing(
    client: Client,
    slug: str,
    runs: Sequence[str],
    timeout: float,
    *,
    most_calls: int | None = None,
    most_dollars: float | None = None,
) -> None:
    """Have graded what these runs lack, and wait. The price is printed before. Raises ClientError."""
    planned = client.plan(slug, runs=runs)
    if planned["cells"]:
        print(f"rubricweb gate: {price_words(planned)}", file=sys.stderr)  # noqa: T201
    limits: dict[str, Any] = {"most_calls": most_calls, "most_dollars": most_dollars}
    for job in client.start_grading(slug, runs=runs, **limits):
        client.wait_for_job(slug, job["id"], timeout=timeout)


def price_words(plan: Plan) -> str:
    """Return what grading will take, in words."""
    text, price = f"grading {plan['cells']:,} pairs", plan["price"]
    if price is None or price["calls"] is None:
        return text
    dollars = price["dollars"]
    cost = "price unknown" if dollars is None else f"about ${dollars:,.2f}"
    return f"{text}, {price['calls']:,} model calls, {cost}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdict, and return the exit status."""
    gate = _Parser(
        prog="rubricweb gate",
        description="Compare a run with the run in use by the rule of the board. The exit status is 0 where "
        "it is not worse by more than a margin, 1 where it is clearly worse, 2 where the topics cannot tell, "
        "and 3 where there is no verdict. RUBRIC_URL has the server's address, RUBRIC_TOKEN a token.",
    )
    add_arguments(gate)
    given = gate.parse_args(arguments)
    options = dict(each.partition("=")[::2] for each in given.option)
    outputs = [each.partition("=")[::2] for each in given.format or ["text"]]
    if unknown := [name for name, _ in outputs if name not in WRITERS]:
        gate.error(f"--format is {unknown[0]!r}, expected {', '.join(WRITERS)}")
    if not 0 <= given.margin < math.inf:
        gate.error(f"--margin is {given.margin:g}, expected at least 0")
    try:
        with Client() as client:
            if given.answers:
                send(client, given.collection, given.answers, given.timeout)
            if not given.no_grading:
                grade_missing(
                    client,
                    given.collection,
                    (given.run, given.against),
                    given.timeout,
                    most_calls=given.most_calls,
                    most_dollars=given.most_dollars,
                )
            comparison = client.comparison(given.collection, first=given.run, second=given.against, **options)
    except (ClientError, OSError) as error:
        print(f"rubricweb gate: {error}", file=sys.stderr)  # noqa: T201
        return FAILED
    verdict = verdict_of(comparison, given.run, given.against, given.margin)
    for name, path in outputs:
        text = WRITERS[name](verdict)
        if path:
            Path(path).write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    return verdict.outcome
