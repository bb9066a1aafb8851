"""The demo: a collection to look at, the people at work on it, and the command that starts everything."""

from grading.graders.hf_model import SMOLLM2

SLUG = "demo"
PASSWORD = "rubric-demo"  # noqa: S105 - printed on every start; these accounts exist on nobody's server
MODELS = {"smollm2": SMOLLM2}
"""The values of `make demo MODEL=...`."""
