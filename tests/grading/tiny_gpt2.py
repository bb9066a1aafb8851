"""A GPT-2 of two layers with its own tokenizer, trained in seconds to reply by the passage's first word."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from grading import prompts
from grading.types import CellToGrade, ItemKind, Passage
from tests.grading import tiny_t5

REPLIES = {
    **tiny_t5.REPLIES,
    "Jetty": "4\nThe river is long.",
    "Kayak": " 2",
}
"""First word of the passage -> what the model says when it is asked to rate."""
ANSWERS = {word: f"{word} of the river" for word in REPLIES}
"""The same for extraction."""
RATE = "QuestionSelfRatedPromptWithReminder"
EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"
END = "<|endoftext|>"
POSITIONS = 512
STEPS = 140
BATCH = 16


def pairs() -> list[CellToGrade]:
    """Every first word with passages of several lengths."""
    return [
        CellToGrade(
            tiny_t5.ITEMS[ItemKind.QUESTION],
            Passage(f"{word}-{n}", " ".join([f"{word}.", *tiny_t5.SENTENCES[:n]])),
            tiny_t5.TOPIC,
        )
        for n in range(len(tiny_t5.SENTENCES))
        for word in REPLIES
    ]


def build(folder: Path) -> None:
    """Train the tokenizer and the model, and save both to `folder`."""
    examples = [
        (prompts.get(prompt_class).render(pair), said[pair.passage.passage_id.partition("-")[0]])
        for prompt_class, said in ((RATE, REPLIES), (EXTRACT, ANSWERS))
        for pair in pairs()
    ]
    tokenizer = _tokenizer([asked + reply for asked, reply in examples])
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = GPT2LMHeadModel(_config(tokenizer))
        _train(model, [_example(tokenizer, *example) for example in examples])
    model.save_pretrained(folder)


def _tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    raw = ByteLevelBPETokenizer()
    raw.train_from_iterator(texts, vocab_size=900, min_frequency=1, special_tokens=[END], show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=raw._tokenizer, eos_token=END, bos_token=END)


def _config(tokenizer: PreTrainedTokenizerFast) -> GPT2Config:
    return GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=POSITIONS,
        n_embd=64,
        n_layer=2,
        n_head=4,
        initializer_range=0.15,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def _example(tokenizer: PreTrainedTokenizerFast, asked: str, reply: str) -> tuple[list[int], list[int]]:
    """Tokens, and the same as labels where they are the reply."""
    question, answer = tokenizer([asked, reply])["input_ids"]
    answer = [*answer, tokenizer.eos_token_id]
    return question + answer, [-100] * len(question) + answer


def _train(model: GPT2LMHeadModel, examples: list[tuple[list[int], list[int]]]) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 4e-3 * min(1.0, 2 * (1 - step / STEPS))
        rows = [examples[row] for row in torch.randperm(len(examples))[:BATCH].tolist()]
        width = max(len(tokens) for tokens, _ in rows)
        ids = torch.tensor([tokens + [0] * (width - len(tokens)) for tokens, _ in rows])
        labels = torch.tensor([label + [-100] * (width - len(label)) for _, label in rows])
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
