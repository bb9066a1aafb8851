"""What a track takes: rules as data, and the check of submitted files by them."""

from grading.submissions.check import check, check_file
from grading.submissions.findings import Finding, Severity
from grading.submissions.rules import Rules, parse_rules, read_rules, rules_of, tracks

__all__ = [
    "Finding",
    "Rules",
    "Severity",
    "check",
    "check_file",
    "parse_rules",
    "read_rules",
    "rules_of",
    "tracks",
]
