"""Language models that write, made from the graders' back-ends. To add one: its line in WRITERS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from grading.errors import UnknownGrader
from grading.generation.drafting import TextModel
from grading.graders import hf_model
from grading.graders.registry import Backend, known_backends

WRITERS = {
    "hf_seq2seq": "grading.generation.models:Seq2SeqText",
    "hf_causal": "grading.generation.models:CausalText",
}
"""By back-end: `module:Class`, called with the model's name."""

LONGEST_REPLY = 512
"""Tokens."""


def drafting_backends() -> tuple[Backend, ...]:
    """The back-ends whose models can write, in the order in which they are offered."""
    return tuple(backend for backend in known_backends() if backend.name in WRITERS)


def drafting_backend(name: str) -> Backend:
    """Raises UnknownGrader, which names those that can write."""
    able = {backend.name: backend for backend in drafting_backends()}
    if name not in able:
        raise UnknownGrader(f"{name} cannot write questions or nuggets; these can: {', '.join(able)}")
    return able[name]


def text_model(backend: str, llm: str) -> TextModel:
    """The model ready to write. Raises UnknownGrader, or GraderUnavailable with what is missing."""
    module, _, name = WRITERS[drafting_backend(backend).name].partition(":")
    make = cast("Callable[[str], TextModel]", getattr(import_module(module), name))
    return make(llm)


class _LoadedText:
    """A model of this machine: greedy at first; asked again it samples, or it would repeat itself."""

    task: hf_model.Task

    def __init__(self, llm: str) -> None:
        """Raises GraderUnavailable. A model that grades in this process already is not loaded again."""
        self._loaded = hf_model.load(llm, self.task)
        self._was_asked = False

    def _generated(self, asked: str, *, special: bool = True) -> tuple[list[int], int]:
        """The tokens that came, and how many were sent."""
        import torch

        loaded = self._loaded
        sent = loaded.token_ids([asked], special=special)
        tokens = torch.tensor(sent, device=loaded.device)
        with torch.inference_mode():
            generated = loaded.model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=LONGEST_REPLY,
                num_beams=1,
                do_sample=self._was_asked,
                pad_token_id=loaded.pad,
            )
        self._was_asked = True
        return generated[0].tolist(), len(sent[0])

    def _text(self, tokens: list[int]) -> str:
        return str(self._loaded.tokenizer.decode(tokens, skip_special_tokens=True))


class Seq2SeqText(_LoadedText):
    """The T5 family."""

    task = hf_model.SEQ2SEQ

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        return self._text(self._generated(_plain(messages))[0])


class CausalText(_LoadedText):
    """Llama, OLMo, GPT-2: asked by the tokenizer's chat template where it has one."""

    task = hf_model.CAUSAL

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        tokenizer = self._loaded.tokenizer
        has_chat = bool(tokenizer.chat_template)
        chat = [{"role": role, "content": text} for role, text in messages]
        asked = (
            tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            if has_chat
            else _plain(messages)
        )
        tokens, sent = self._generated(asked, special=not has_chat)  # a template writes the start mark itself
        return self._text(tokens[sent:])


def _plain(messages: Sequence[tuple[str, str]]) -> str:
    return "\n\n".join(text for _, text in messages)
