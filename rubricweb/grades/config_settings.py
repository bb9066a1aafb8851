"""The options that tell grader configs of the same model and prompt apart."""

from __future__ import annotations

from grading.graders.backend_options import ATTEMPT, Value
from grading.graders.base import ANSWERS_BY, PROMPT
from grading.graders.hf_model import SMOLLM2

MODEL_NAMES = {"lexical": "word overlap", SMOLLM2: "SmolLM2 135M", "google/flan-t5-large": "FLAN-T5 large"}


class HasSettings:
    """Mixin of `GraderConfig`."""

    backend: str
    llm: str
    options: dict[str, Value]

    @property
    def settings(self) -> dict[str, Value]:
        """Its options other than the prompt and the source of answers."""
        return {name: value for name, value in self.options.items() if name not in (PROMPT, ANSWERS_BY)}

    @property
    def settings_words(self) -> str:
        """The end of its name, if it has such options: ", attempt 2, max_new_tokens 100"."""
        ordered = sorted(self.settings.items(), key=lambda setting: (setting[0] != ATTEMPT, setting[0]))
        return "".join(f", {name} {_word(value)}" for name, value in ordered)

    @property
    def model_name(self) -> str:
        """Its model for people, without the folder or the owner: "flan-t5-large"."""
        return MODEL_NAMES.get(self.llm) or self.llm.rstrip("/").rpartition("/")[2]

    @property
    def team(self) -> tuple[str, str, str]:
        """Equal for configs of a model that grade together, such as those of questions and of nuggets."""
        return self.backend, self.llm, self.settings_words


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
