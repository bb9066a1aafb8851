"""Models of two layers that answer one prompt with one reply, trained in a second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.decoders import WordPiece
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, T5ForConditionalGeneration

from tests.grading import tiny_t5

CHAT = "{% for message in messages %}user : {{ message['content'] }} {% endfor %}assistant :"
STEPS = 80


def build_t5(folder: Path, asked: str, reply: str) -> None:
    build_t5_of(folder, {asked: reply})


def build_t5_of(folder: Path, replies: Mapping[str, str]) -> None:
    """`replies` by the prompt that each answers."""
    tokenizer = tiny_t5._tokenizer([*replies, *replies.values()])
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = T5ForConditionalGeneration(tiny_t5._config(len(tokenizer)))
        tiny_t5._train(model, tokenizer, list(replies), list(replies.values()))
    model.save_pretrained(folder)


def build_gpt2(folder: Path, asked: str, reply: str, template: str, *, begins: str = "") -> None:
    """One token a word; with a chat template where one is given, which `begins` each reply with a word."""
    said = f"user : {asked} assistant :{begins}" if template else asked
    tokenizer = _word_tokenizer([said, reply])
    tokenizer.chat_template = template or None
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = GPT2LMHeadModel(_gpt2_config(tokenizer))
        _learn(model, tokenizer, said, reply)
    model.save_pretrained(folder)


def _word_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    words = dict.fromkeys(word for text in texts for word in text.split())
    words = {word: number for number, word in enumerate(["<end>", "<unk>", *words])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.decoder = WordPiece(cleanup=False)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", unk_token="<unk>")


def _gpt2_config(tokenizer: PreTrainedTokenizerFast) -> GPT2Config:
    end = tokenizer.eos_token_id
    size = {"n_positions": 1024, "n_embd": 32, "n_layer": 2, "n_head": 4}
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return GPT2Config(vocab_size=len(tokenizer), bos_token_id=end, eos_token_id=end, **size, **dropout)


def _learn(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, said: str, reply: str) -> None:
    before, after = tokenizer(said)["input_ids"], tokenizer(reply)["input_ids"]
    tokens = torch.tensor([[*before, *after, tokenizer.eos_token_id]])
    labels = tokens.clone()
    labels[:, : len(before)] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(STEPS):
        model(input_ids=tokens, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
