"""The prompts that graders use: published ones, as data in TOML files, and people's own."""

from grading.prompts.custom import (
    as_options,
    covering_from,
    from_options,
    from_template,
    is_own,
)
from grading.prompts.prompt import PLACEHOLDERS, ParseRule, Prompt, get, published

__all__ = [
    "PLACEHOLDERS",
    "ParseRule",
    "Prompt",
    "as_options",
    "covering_from",
    "from_options",
    "from_template",
    "get",
    "is_own",
    "published",
]
