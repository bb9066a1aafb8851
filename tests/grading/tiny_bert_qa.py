"""A BERT of two layers that finds one answer: in "The river is long and wide." the words "long and wide"."""

from __future__ import annotations

from pathlib import Path
from random import Random
from string import ascii_lowercase

import torch
from transformers import BertConfig, BertForQuestionAnswering, BertTokenizer

from grading.types import CellToGrade, Item, ItemKind, Passage
from tests.grading import tiny_t5

QUESTION = "How is the river?"
ANSWER = "long and wide"
SENTENCE = "The river is long and wide."
OTHERS = [
    "It rains.",
    "Rocks roll down the hill.",
    "Nobody knows why.",
    "The hill is high.",
]
STEPS = 200
BATCH = 16


def pair(name: str, passage: str, answers: tuple[str, ...] = ()) -> CellToGrade:
    item = Item("q1/cc", ItemKind.QUESTION, QUESTION, answers)
    return CellToGrade(item, Passage(name, passage), tiny_t5.TOPIC)


def passages(seed: int = 4, n: int = 400) -> list[str]:
    """The sentence among others, or only others; some begin or end within a sentence, as windows do."""
    chance = Random(seed)
    made = []
    for number in range(n):
        before, after = (chance.choices(OTHERS, k=chance.randint(0, 4)) for _ in range(2))
        around = [" ".join(before).split(), " ".join(after or OTHERS[:1]).split()]
        around[0] = around[0][chance.randint(0, 2) :]
        around[1] = around[1][: len(around[1]) - chance.randint(0, 2)]
        made.append(" ".join([*around[0], *([SENTENCE] if number % 2 else []), *around[1]]))
    return made


def build(folder: Path) -> None:
    """Save tokenizer and trained model to `folder`."""
    tokenizer = _tokenizer(folder)
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = BertForQuestionAnswering(
            BertConfig(
                vocab_size=len(tokenizer),
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=64,
                max_position_embeddings=128,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                initializer_range=0.2,
            )
        )
        _train(model, tokenizer)
    model.save_pretrained(folder)


def _tokenizer(folder: Path) -> BertTokenizer:
    words = " ".join([QUESTION, SENTENCE, *OTHERS]).lower().replace(".", " . ").replace("?", " ? ").split()
    letters = [*ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({*words, *letters})]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})


def _train(model: BertForQuestionAnswering, tokenizer: BertTokenizer) -> None:
    shown = passages()
    inputs = tokenizer([QUESTION] * len(shown), shown, padding=True, return_tensors="pt")
    starts, ends = torch.zeros(len(shown), dtype=torch.long), torch.zeros(len(shown), dtype=torch.long)
    for row, passage in enumerate(shown):
        if (at := passage.find(ANSWER)) >= 0:
            starts[row] = inputs.char_to_token(row, at, sequence_index=1)
            ends[row] = inputs.char_to_token(row, at + len(ANSWER) - 1, sequence_index=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(STEPS):
        rows = torch.randperm(len(shown))[:BATCH]
        some = {name: values[rows] for name, values in inputs.items()}
        model(**some, start_positions=starts[rows], end_positions=ends[rows]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
