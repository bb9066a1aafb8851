"""What a track takes: rules as data, and the check of submitted files by them."""

from grading.submissions.check import Inspection, check, check_file, inspect_file
from grading.submissions.rules import (
    Finding,
    Rules,
    Severity,
    named_rules,
    parse_rules,
    read_rules,
    rules_as_json,
    rules_from_json,
    rules_of,
    track_names,
)

__all__ = [
    "Finding",
    "Inspection",
    "Rules",
    "Severity",
    "check",
    "check_file",
    "inspect_file",
    "named_rules",
    "parse_rules",
    "read_rules",
    "rules_as_json",
    "rules_from_json",
    "rules_of",
    "track_names",
]
