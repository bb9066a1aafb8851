"""Answers against answer keys."""

from grading.verify.answer_key import Verdict, closeness, verify
from grading.verify.normal import normal

__all__ = ["Verdict", "closeness", "normal", "verify"]
