"""Where a reply's thinking ends and its answer begins.

Models that reason write their thoughts before the answer, in marks of their own. These are the marks that
published chat templates write, as the reasoning parsers of vLLM and SGLang know them (vllm/reasoning,
sglang/srt/parser/reasoning_parser.py, 2026): tags of several names, with a namespace before or after it
(Qwen, DeepSeek, GLM, Seed-OSS, MiniMax, Hunyuan, EXAONE), Mistral's brackets, Kimi's triangles, Cohere's,
Apertus' and Gemma 4's tokens, the channels of gpt-oss, and Granite's sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAG = (
    r"<(?P<end>/?)(?:[a-z0-9_]+:)?"
    r"(?P<name>think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|inner_monologue)"
    r"(?::[a-z0-9_]+)?(?:\s[^<>]{0,80})?>"
)
_SAME = {"thinking": "think", "thought": "think", "thoughts": "think", "reason": "reasoning"}
"""Names that models mix up: each of them closes the others."""
_PAIRS = (
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|think|>", "<|/think|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|think_start|>", "<|think_end|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>", "<channel|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|content_thinking|>", "<|end_message|>"),
    ("[unused16]", "[unused17]"),
)
_FAMILY = {mark.lower(): (pair[0], mark == pair[0]) for pair in _PAIRS for mark in pair}
_MARK = re.compile("|".join([_TAG, *(re.escape(mark) for pair in _PAIRS for mark in pair)]), re.IGNORECASE)
_CLOSES_TEXT_TOO = "<|content_thinking|>"
"""The pair whose closing mark ends answers as well, so that it tells nothing by itself."""
_ANY = "any"

# Around the answer of a model that thought before it.
_FRAMES = re.compile(
    r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>|<\|(?:begin|end)_of_solution\|>"
    r"|<\|(?:open|close)\|>(?:response|message)<\|sep\|>"
    r"|<\|(?:content_text|message_model|end_message|content_model_end_sampling)\|>"
)
_WRAPPED = re.compile(
    r"\s*<(answer|response|output|final|final_answer|solution)>(.*?)(?:</\1>\s*)?", re.IGNORECASE | re.DOTALL
)

# gpt-oss (harmony): <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
_MESSAGE = "<|message|>"
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|eom|eot|start|channel)\|>")
_HEADER = re.compile(r"<\|channel\|>\s*(?P<channel>\w+)|\bto=(?P<recipient>[\w.-]+)")
# The same where the server has removed the tokens.
_BARE_ANALYSIS = re.compile(r"\s*(?:assistant)?analysis(?=[A-Z\"'(])")
_BARE_FINAL = "assistantfinal"

_GRANITE = re.compile(r"\s*Here(?:'s| is) my thought process:")
_GRANITE_ANSWER = re.compile(r"Here(?:'s| is) my response:")


@dataclass(frozen=True, slots=True)
class Split:
    """A reply in two parts."""

    answer: str
    thought: str = ""
    is_open: bool = False
    """Whether the thinking was not closed: there is no answer then."""


def split(text: str, *, is_inside: bool = False, has_ended: bool = True) -> Split:
    """Return the answer without its thinking, whose marks go too.

    `is_inside`: the prompt ended with an opening mark, so the reply begins with thinking. `has_ended`: the
    model ended the reply by itself. A closing mark without an opening one closes what the template opened.

    >>> split("<think>Is it 2?</think>4").answer, split("Is it 2?</think>4").answer
    ('4', '4')
    >>> split("<think>Rating: 0 would mean").is_open
    True
    """
    if _MESSAGE in text or "<|channel|>" in text:
        return _of_channels(text)
    if bare := _BARE_ANALYSIS.match(text):
        thought, final, answer = text[bare.end() :].rpartition(_BARE_FINAL)
        return Split(answer, thought) if final else Split("", answer, is_open=True)
    if granite := _GRANITE.match(text):
        response = _GRANITE_ANSWER.search(text, granite.end())
        if response:
            return Split(text[response.end() :], text[granite.end() : response.start()])
        if not has_ended:
            return Split("", text, is_open=True)
    return _of_marks(text, is_inside=is_inside)


def is_left_open(prompt: str) -> bool:
    """Return whether a prompt, as the chat template wrote it, ends within thinking.

    >>> is_left_open("<|im_start|>assistant\\n<think>\\n"), is_left_open("<think>\\n\\n</think>\\n\\n")
    (True, False)
    """
    end = prompt.rstrip()[-100:]
    if end.endswith(f"<|channel|>analysis{_MESSAGE}"):
        return True
    marks = [mark for mark in _MARK.finditer(end) if mark.end() == len(end)]
    return bool(marks) and _read(marks[0])[1]


def _of_marks(text: str, *, is_inside: bool) -> Split:
    answer: list[str] = []
    thought: list[str] = []
    family, last, has_marks = _ANY if is_inside else "", 0, is_inside
    for mark in _MARK.finditer(text):
        name, opens = _read(mark)
        piece = text[last : mark.start()]
        if family and not opens and family in (name, _ANY):
            thought.append(piece)
            family = ""
        elif not family and opens:
            answer.append(piece)
            family = name
        elif not family and name != _CLOSES_TEXT_TOO:
            thought += [*answer, piece]  # the template had opened it
            answer.clear()
        else:
            continue
        last, has_marks = mark.end(), True
    (thought if family else answer).append(text[last:])
    rest = "".join(answer)
    if "<|" in rest:
        rest = _FRAMES.sub("", rest)
    if has_marks and (wrapped := _WRAPPED.fullmatch(rest)):
        rest = wrapped[2]
    return Split(rest, "".join(thought), is_open=bool(family))


def _of_channels(text: str) -> Split:
    """Take what is addressed to the user for the answer: no analysis, and no call of a tool."""
    header, *parts = text.split(_MESSAGE)
    answer: list[str] = []
    thought: list[str] = []
    for part in parts:
        end = _MESSAGE_END.search(part)
        body = part[: end.start()] if end else part
        fields = {
            name: value
            for match in _HEADER.finditer(header)
            for name, value in match.groupdict().items()
            if value
        }
        is_answer = fields.get("channel", "final") == "final" and fields.get("recipient", "user") == "user"
        (answer if is_answer else thought).append(body)
        header = part[end.start() :] if end else ""
    if not answer:
        return Split("", "".join(thought) or text, is_open=True)
    return Split("".join(answer), "".join(thought))


def _read(mark: re.Match[str]) -> tuple[str, bool]:
    """Return the family of a mark, and whether it opens."""
    if name := mark["name"]:
        return _SAME.get(name.lower(), name.lower()), not mark["end"]
    return _FAMILY[mark[0].lower()]
