"""Models of FLAN-T5's shapes with random weights, that answer as the real ones do: a digit, then the end.

The weights cost as much time as trained ones. Only the output layer is set: along the directions in which
the decoder's first states differ between prompts it says the digits, along that of the second states the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

from grading import prompts
from grading.types import CellToGrade, Item, ItemKind, Passage, Topic

DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "demo"
PROMPT_CLASS = "QuestionSelfRatedUnanswerablePromptWithChoices"
SHAPES = {
    "small": {"d_model": 512, "d_ff": 1024, "num_layers": 8, "num_heads": 6},
    "base": {"d_model": 768, "d_ff": 2048, "num_layers": 12, "num_heads": 12},
    "large": {"d_model": 1024, "d_ff": 2816, "num_layers": 24, "num_heads": 16},
}
VOCABULARY = 32128
PIECES = 8000
SAMPLE = 32
"""Prompts whose decoder states set the output layer."""
LOUD = 30.0
"""Times what the decoder has just said is louder than other words, so that its states tell where it is."""
SURE, APART, ENDS = 14.0, 2.0, 40.0
"""Logit of a digit, how far the digits lie apart from prompt to prompt, and logit of the end after one."""


def demo_pairs(wanted: int) -> list[CellToGrade]:
    """Questions of the demo collection on passages of their topic, in turn, as often as need be."""
    topics = map(json.loads, (DEMO / "topics.jsonl").read_text(encoding="utf-8").splitlines())
    queries = {topic["request_id"]: topic["title"] for topic in topics}
    questions = _questions()
    pairs = []
    for line in (DEMO / "passages.jsonl").read_text(encoding="utf-8").splitlines():
        query_id, passages = json.loads(line)
        topic = Topic(query_id, queries[query_id])
        for passage in passages:
            shown = Passage(passage["paragraph_id"], passage["text"])
            pairs += [CellToGrade(item, shown, topic) for item in questions[query_id]]
    return [
        pair
        if copy == 0
        else CellToGrade(
            pair.item, Passage(f"{pair.passage.passage_id}-{copy}", pair.passage.text), pair.topic
        )
        for copy in range(1 + (wanted - 1) // len(pairs))
        for pair in pairs
    ][:wanted]


def _questions() -> dict[str, list[Item]]:
    topics = {}
    for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        bank = json.loads(line)
        items = [
            Item(entry["question_id"], ItemKind.QUESTION, entry["question_text"]) for entry in bank["items"]
        ]
        topics[bank["query_id"]] = items
    return topics


def build(shape: str, folder: Path, *, device: str = "cpu", seed: int = 7) -> None:
    """Save tokenizer and model of this shape to `folder`. `device` computes them."""
    asked = [prompts.get(PROMPT_CLASS).render(pair) for pair in demo_pairs(1000)]
    tokenizer = _tokenizer(asked)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=VOCABULARY,
        d_kv=64,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        **SHAPES[shape],
    )
    model = T5ForConditionalGeneration(config).eval().to(device)
    with torch.inference_mode():
        _answer_with_digits(model, tokenizer, asked[:: len(asked) // SAMPLE][:SAMPLE])
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def _tokenizer(texts: list[str]) -> T5Tokenizer:
    """Word pieces of the prompts; 1 to 5 are one piece and 0 is two, as in the published one."""
    raw = Tokenizer(models.Unigram())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    raw.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=PIECES, show_progress=False))
    learnt = json.loads(raw.to_str())["model"]["vocab"]
    scores = {piece: score for piece, score in learnt if not piece.strip("\u2581").isdigit()}
    scores |= {f"\u2581{digit}": -3.0 for digit in "12345"} | {"\u2581": -4.0, "0": -4.0}
    return T5Tokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *scores.items()], extra_ids=0)


def _answer_with_digits(model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, asked: list[str]) -> None:
    """Set the output layer by the decoder's states: at the start, after half a 0, and after each digit."""
    digits = [tokenizer(digit, add_special_tokens=False)["input_ids"] for digit in "012345"]
    model.shared.weight[
        [model.config.decoder_start_token_id, *{token for said in digits for token in said}]
    ] *= LOUD
    inputs = tokenizer(asked, padding=True, return_tensors="pt").to(model.device)
    states = _Decoder(model, inputs).states
    first = states([])
    after = [states(tokens).mean(0) for tokens in (digits[0][:1], *digits)]
    centres = torch.stack([first.mean(0), *after])
    to_row = torch.linalg.pinv(centres)  # logits wanted at the centres -> row of the output layer
    _, spread, axes = torch.linalg.svd(first - centres[0], full_matrices=False)
    axes = axes[:4] * (len(asked) ** 0.5 / spread[:4, None])
    axes -= axes @ to_row @ centres
    weights = torch.zeros(VOCABULARY, model.config.d_model, device=model.device)
    for tokens in digits:
        weights[tokens[0]] = SURE * to_row[:, 0] + APART * torch.randn(4, device=model.device) @ axes
    weights[digits[0][1]] = ENDS * to_row[:, 1]
    weights[tokenizer.eos_token_id] = ENDS * to_row[:, 2:].sum(1)
    model.lm_head.weight = torch.nn.Parameter(weights)  # transformers ties it to the input layer


class _Decoder:
    def __init__(self, model: T5ForConditionalGeneration, inputs: Any) -> None:
        self._decoder, self._mask = model.get_decoder(), inputs["attention_mask"]
        self._hidden = model.get_encoder()(**inputs).last_hidden_state

    def states(self, said: list[int]) -> torch.Tensor:
        """The decoder's last state for each prompt after these tokens."""
        given = torch.tensor([[0, *said]] * len(self._mask), device=self._mask.device)
        output = self._decoder(
            input_ids=given, encoder_hidden_states=self._hidden, encoder_attention_mask=self._mask
        )
        return output.last_hidden_state[:, -1]
