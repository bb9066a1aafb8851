"""`rubricweb check_submission FILE... --track rag26`: does the track take these files?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from django.core.management import CommandError

from grading.errors import BadFormat
from grading.formats.topics import read_topics
from grading.submissions import Finding, Severity, check_file, named_rules, track_names
from rubricweb.core.reader import OperatorCommand


class Command(OperatorCommand):
    help = (
        "Check runs and responses by the rules of a track. Each finding is an error, for which the track "
        "refuses the file, or a warning. The exit status is 1 where there is an error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument(
            "--track", required=True, help=f"{', '.join(track_names())}, or a TOML file of rules of your own"
        )
        parser.add_argument("--topics", type=Path, help="the track's topics, of which none may be missing")
        parser.add_argument("--strict", action="store_true", help="warnings are errors")
        parser.add_argument("--json", action="store_true", help="findings as JSON, one a line")

    def handle(
        self, *, files: list[Path], track: str, topics: Path | None, strict: bool, **options: object
    ) -> None:
        try:
            rules = named_rules(track)
            entries = read_topics(topics) if topics else []
        except BadFormat as error:
            raise CommandError(str(error)) from error
        if strict:
            rules = rules.strict()
        findings = [finding for path in files for finding in check_file(path, rules, entries)]
        self._report(findings, as_json=bool(options["json"]))
        counts = Counter(finding.severity for finding in findings)
        errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
        counted = [_counted(len(files), "file"), _counted(errors, "error"), _counted(warnings, "warning")]
        self.stderr.write(f"{rules.label}: {', '.join(counted)}.")
        if errors:
            sys.exit(1)

    def _report(self, findings: Iterable[Finding], *, as_json: bool) -> None:
        for finding in findings:
            self.stdout.write(json.dumps(asdict(finding), ensure_ascii=False) if as_json else str(finding))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
