"""Answers against answer keys."""

from grading.verify.answer_key import Verdict, verify
from grading.verify.normal import normal

__all__ = ["Verdict", "normal", "verify"]
