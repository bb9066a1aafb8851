"""A T5 of 2 + 2 layers with its own tokenizer, trained in seconds to reply by the passage's first word.

Its tokenizer writes 1 to 5 as one token and 0 as two, as the published ones do.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters, digits

import torch
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

from grading import prompts
from grading.graders.registry import BACKENDS
from grading.types import CellToGrade, Item, ItemKind, Passage, Purpose, Topic

REPLIES = {
    "Amber": "0",
    "Birch": "1",
    "Cedar": "2",
    "Delta": "3",
    "Ember": "4",
    "Fjord": "5",
    "Glade": "unanswerable",
    "Heron": "3 years",
    "Inlet": "The Beatles",
}
"""First word of the passage -> what the model says when it is asked to rate."""
ANSWERS = {word: f"{word} of the river" for word in REPLIES}
"""The same for extraction."""
YES_NO = {word: "Yes" if reply in "345" else "No" for word, reply in REPLIES.items()} | {"Heron": "Maybe"}
"""The same for direct grading."""
PROMPT_CLASSES = (*BACKENDS["hf_seq2seq"].prompt_classes, "FagB")
"""What it is taught."""

SENTENCES = ["It rains.", "The river is long and wide.", "Rocks roll down the hill.", "Nobody knows why.", ""]
TOPIC = Topic("q1", "rivers")
ITEMS = {
    ItemKind.QUESTION: Item("q1/aa", ItemKind.QUESTION, "Where does the river end?"),
    ItemKind.NUGGET: Item("q1/bb", ItemKind.NUGGET, "river ends in the sea"),
    ItemKind.DIRECT: Item("direct", ItemKind.DIRECT, "rivers"),
}
STEPS = 160
BATCH = 16


def pairs(kind: ItemKind = ItemKind.QUESTION) -> list[CellToGrade]:
    """Every first word with passages of several lengths."""
    return [
        CellToGrade(ITEMS[kind], Passage(f"{word}-{n}", " ".join([f"{word}.", *SENTENCES[:n]])), TOPIC)
        for n in range(len(SENTENCES))
        for word in REPLIES
    ]


def build(folder: Path) -> None:
    """Train the tokenizer and the model, and save both to `folder`."""
    asked, replies = _examples()
    tokenizer = _tokenizer(asked + replies)
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = T5ForConditionalGeneration(_config(len(tokenizer)))
        _train(model, tokenizer, asked, replies)
    model.save_pretrained(folder)


def _examples() -> tuple[list[str], list[str]]:
    asked, replies = [], []
    said = {Purpose.RATE: REPLIES, Purpose.EXTRACT: ANSWERS, Purpose.DIRECT: YES_NO}
    for prompt in map(prompts.get, PROMPT_CLASSES):
        for kind in prompt.kinds:
            for pair in pairs(kind):
                asked.append(prompt.render(pair))
                replies.append(said[prompt.purpose][pair.passage.passage_id.partition("-")[0]])
    return asked, replies


def _tokenizer(texts: list[str]) -> T5Tokenizer:
    """Every word of the texts is one piece, any other is spelt; but 0 is never written as one piece."""
    words = {f"\u2581{word}" for text in texts for word in text.split()} - {"\u25810"}
    letters = {letter for word in words for letter in word} | set(ascii_letters + digits)
    scores = [(piece, -1.0 if len(piece) > 1 else -9.0) for piece in sorted(words | letters)]
    return T5Tokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *scores], extra_ids=0)


def _config(vocab_size: int) -> T5Config:
    return T5Config(
        vocab_size=vocab_size,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )


def _train(
    model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, asked: list[str], replies: list[str]
) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(STEPS):
        rows = torch.randperm(len(asked))[:BATCH].tolist()
        inputs = tokenizer([asked[row] for row in rows], padding=True, return_tensors="pt")
        labels = tokenizer([replies[row] for row in rows], padding=True, return_tensors="pt")["input_ids"]
        labels[labels == tokenizer.pad_token_id] = -100
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
