"""Chat completions by a causal model, greedily, with log-probabilities and usage: vLLM in small."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.grading.servers.http import Body, Reply, Server, serving


def serving_model(folder: Path) -> AbstractContextManager[Server]:
    """Serve the model of that folder under any name."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    lock = threading.Lock()

    def reply(body: Body, _: int) -> Reply:
        prompt = "\n".join(message["content"] for message in body["messages"])
        ids = tokenizer([prompt], return_tensors="pt")["input_ids"]
        limit = model.config.n_positions
        if ids.shape[1] + body["max_tokens"] > limit:
            return _too_long(limit, ids.shape[1], body["max_tokens"])
        with lock, torch.inference_mode():
            output = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=body["max_tokens"],
                do_sample=False,
                pad_token_id=tokenizer.eos_token_id,
                return_dict_in_generate=True,
                output_logits=True,
            )
        said = output.sequences[0, ids.shape[1] :].tolist()
        is_whole = said[-1] == tokenizer.eos_token_id
        return Reply(200, _completion(tokenizer, body, said, (output.logits, is_whole, ids.shape[1])))

    return serving(reply)


def _completion(tokenizer: Any, body: Body, said: list[int], rest: tuple[Any, bool, int]) -> Body:
    logits, is_whole, asked = rest
    words = said[:-1] if is_whole else said
    steps = [
        _step(tokenizer, logits[place][0].log_softmax(0), token, body["top_logprobs"])
        for place, token in enumerate(words)
        if body.get("logprobs")
    ]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": tokenizer.decode(words)},
        "finish_reason": "stop" if is_whole else "length",
        "logprobs": {"content": steps} if steps else None,
    }
    usage = {"prompt_tokens": asked, "completion_tokens": len(said), "total_tokens": asked + len(said)}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }


def _step(tokenizer: Any, shares: Any, token: int, wanted: int) -> Body:
    top = shares.topk(wanted)
    return {
        **_entry(tokenizer, token, float(shares[token])),
        "top_logprobs": [
            _entry(tokenizer, other, share)
            for other, share in zip(top.indices.tolist(), top.values.tolist(), strict=True)
        ],
    }


def _entry(tokenizer: Any, token: int, logprob: float) -> Body:
    return {"token": tokenizer.decode([token]), "logprob": logprob, "bytes": None}


def _too_long(limit: int, asked: int, wanted: int) -> Reply:
    message = (
        f"This model's maximum context length is {limit} tokens. However, you requested {asked + wanted} "
        f"tokens ({asked} in the messages, {wanted} in the completion). Please reduce the length."
    )
    return Reply(
        400,
        {"error": {"message": message, "code": "context_length_exceeded", "type": "invalid_request_error"}},
    )
