"""Replies as servers and models really send them, and what is right to make of each.

A body is a chat completion in JSON; RATING is what the answer in it says, NOTHING that it holds none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from grading.types import ErrorClass

Body = Any  # JSON of any shape
RATING = 4


@dataclass(frozen=True)
class Odd:
    name: str
    body: Body = field(repr=False)
    fails: ErrorClass | None = None
    """None where the rating is to be read."""
    is_asked_again: bool = False


def reply(content: object = "4", finish: object = "stop", *, choice: Body = None, **message: object) -> Body:
    """A chat completion with the usual fields."""
    entry = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, **message},
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return body | {"choices": [entry | (choice or {})]}


def with_logprobs(*entries: object) -> Body:
    return reply(choice={"logprobs": {"content": [*entries]}})


def token(text: object = "4", logprob: object = -0.1, **more: object) -> Body:
    return {"token": text, "logprob": logprob, "top_logprobs": [{"token": text, "logprob": logprob}], **more}


ENDED = ["stop", "STOP", "eos", "eos_token", "EOS_TOKEN", "end_turn", "stop_sequence", "COMPLETE", None]
ENDED += ["FINISH_REASON_STOP", {"type": "stop", "matched": 2}, "length", "MAX_TOKENS", "max_tokens"]
FILTERED = ["SAFETY", "content_filter", "content_filter: PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST"]
FILTERED += ["guardrail_intervened", "refusal"]
BROKEN_OFF = ["error", "ERROR", "abort", "insufficient_system_resource"]
OTHERS = ["tool_calls", "tool_use", "OTHER", "LANGUAGE", 7, ["stop"], {"reason": "stop"}]

_THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "perhaps 2"}]}
_CALL = {"id": "1", "type": "function", "function": {"name": "rate", "arguments": '{"rating": 2}'}}
_NO_ANSWER, _SERVER, _RATE = ErrorClass.OTHER, ErrorClass.SERVER, ErrorClass.RATE

_PASSING = True
"""Asked again."""

ODD = [
    *(Odd(f"ended by {finish}", reply(finish=finish)) for finish in ENDED),
    *(Odd(f"filtered, {finish}", reply("Rating: 2", finish), _NO_ANSWER) for finish in FILTERED),
    *(Odd(f"filtered, {finish}, null", reply(None, finish), _NO_ANSWER) for finish in FILTERED),
    *(Odd(f"broken off, {some}", reply("Rating: 2", some), _SERVER, _PASSING) for some in BROKEN_OFF),
    *(Odd(f"finish reason {finish}", reply("Rating: 2", finish), _NO_ANSWER) for finish in OTHERS),
    # content
    Odd("content in parts", reply([_THOUGHT, {"type": "text", "text": "4"}])),
    Odd("content of texts", reply(["Rating: ", "4"])),
    Odd("content with a value", reply([{"type": "text", "text": {"value": "4", "annotations": []}}])),
    Odd("content as an object", reply({"rating": 4})),
    Odd("content as one part", reply({"type": "output_text", "text": "4"})),
    Odd("content as a number", reply(4)),
    Odd("content null", reply(None), _NO_ANSWER),
    Odd("content missing", {"choices": [{"finish_reason": "stop", "message": {"role": "a"}}]}, _NO_ANSWER),
    Odd("content true", reply(True), _NO_ANSWER),
    Odd("content empty list", reply([]), _NO_ANSWER),
    Odd("content of an image", reply([{"type": "image_url", "image_url": {"url": "data:"}}]), _NO_ANSWER),
    Odd("thoughts only, in parts", reply([_THOUGHT]), _NO_ANSWER),
    Odd("thoughts only, beside null", reply(None, reasoning_content="Rating: 2"), _NO_ANSWER),
    Odd("thoughts only, beside nothing", reply("", reasoning="Rating: 2"), ErrorClass.PARSE),
    Odd("thoughts cut off", reply(None, "length", reasoning_content="Rating: 2"), ErrorClass.PARSE),
    Odd("thoughts beside the answer", reply("4", reasoning_content="Rating: 2")),
    Odd("thoughts as a list", reply("4", reasoning_details=[{"type": "text", "text": "Rating: 2"}])),
    Odd("empty, cut off", reply("  ", "length"), ErrorClass.PARSE),
    Odd("empty, without a finish reason", reply("", None), _NO_ANSWER),
    Odd("refusal", reply(None, refusal="I will not rate 2."), _NO_ANSWER),
    Odd("refusal beside text", reply("2", refusal="No."), _NO_ANSWER),
    Odd("refusal as a part", reply([{"type": "refusal", "refusal": "No, 2."}]), _NO_ANSWER),
    Odd("refusal empty", reply("4", refusal="")),
    Odd("a call of a tool", reply(None, "tool_calls", tool_calls=[_CALL]), _NO_ANSWER),
    Odd("a call of a tool, stop", reply(None, tool_calls=[_CALL]), _NO_ANSWER),
    Odd("a call of a function", reply(None, function_call={"name": "rate"}), _NO_ANSWER),
    Odd("no calls", reply("4", tool_calls=[], function_call=None)),
    Odd("a NUL and half a character", reply("4\0\ud800")),
    # shape
    *(Odd(f"body {body!r}", body, _SERVER) for body in (None, [], {}, "4", 4, {"detail": "hello"})),
    *(Odd(f"choices {some!r}", {"choices": some}, _SERVER) for some in ([], {}, None, "4", [4], [{}])),
    *(Odd(f"message {some!r}", {"choices": [{"message": some}]}, _SERVER) for some in (None, "4", [], 4, {})),
    # errors within
    Odd("an error of a code", {"error": {"message": "too many", "code": 429}}, _RATE, _PASSING),
    Odd("an error of a text code", {"error": {"message": "no", "code": "rate_limit"}}, _RATE, _PASSING),
    Odd("an error of a key", {"error": {"message": "bad key", "code": "401"}}, ErrorClass.AUTH),
    Odd("an error as text", {"error": "upstream gone"}, _SERVER, _PASSING),
    Odd("an error as a list", {"error": [1]}, _SERVER, _PASSING),
    Odd("an error of vLLM", {"object": "error", "message": "bad", "code": 400}, _NO_ANSWER),
    Odd("an error in a choice", reply("", "error", choice={"error": {"code": 502}}), _SERVER, _PASSING),
    Odd("an error beside text", reply("Rating: 2", choice={"error": {"message": "gone"}}), _SERVER, _PASSING),
    Odd("no error", reply() | {"error": None}),
    # log-probabilities and usage
    Odd("logprob null", with_logprobs(token("4", None))),
    Odd("logprob above 0", with_logprobs(token("4", 1000.0))),
    Odd("logprob NaN", with_logprobs(token("4", float("nan")))),
    Odd("logprob as text", with_logprobs(token("4", "-1"))),
    Odd("token null", with_logprobs(token(None))),
    Odd("alternatives as an object", with_logprobs(token(top_logprobs={"4": -1}))),
    Odd("logprobs as a list", reply(choice={"logprobs": [1]})),
    Odd("logprobs of nothing", with_logprobs(None, 4, [])),
    Odd("usage as text", reply() | {"usage": {"prompt_tokens": "10", "completion_tokens": "2"}}),
    Odd("usage as a list", reply() | {"usage": [7]}),
    Odd("usage negative", reply() | {"usage": {"prompt_tokens": -1, "completion_tokens": 10**30}}),
]  # fmt: skip

OPENED_AND_CLOSED = [
    ("<think>", "</think>"),
    ("<think>\n", "\n</think>\n\n"),
    ("<Thinking>", "</Thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<think:opensource>", "</think:opensource>"),
    ('<thinking effort="low">', "</thinking>"),
    ("<think>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
    ("[unused16]", "[unused17]"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>JSON<|message|>",
    ),
    (" to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"),
    ("analysis", "assistantfinal"),
    ("Here is my thought process:", "Here is my response:"),
    ("<think>\n<reflection>", "</reflection>\n</think>\n<answer>"),
]
"""What models write before and after their thinking, by chat template."""
ONLY_CLOSED = [
    "</think>",
    "</thinking>",
    "</seed:think>",
    "[/THINK]",
    "\u25c1/think\u25b7",
    "<|END_THINKING|>",
]
"""Where the template writes the opening mark itself."""
THOUGHT = "We need a rating. Rating: 2 would be fair, or 1."


def mutated(dice: random.Random, times: int) -> Iterator[Body]:
    """Replies in which something is lost, doubled, or of another type."""
    for _ in range(times):
        yield _mutated(
            dice,
            reply(dice.choice(["4", "<think>2</think>4", ""]), choice={"logprobs": {"content": [token()]}}),
        )


def _mutated(dice: random.Random, value: Body) -> Body:
    odd: list[Body] = [
        None,
        "",
        "4",
        4,
        -1.5,
        True,
        [],
        {},
        [None],
        float("nan"),
        10**400,
        "\0",
        {"type": "text"},
    ]
    if dice.random() < 0.08:
        return dice.choice(odd)
    if isinstance(value, dict):
        return {key: _mutated(dice, inner) for key, inner in value.items() if dice.random() > 0.03}
    if isinstance(value, list):
        return [_mutated(dice, inner) for inner in value] * dice.choice([1, 1, 1, 2])
    return value
