"""A T5 that finds what tiny_bert_qa's BERT finds, and says on `<cls>` that there is no answer."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForQuestionAnswering

from tests.grading.tiny_bert_qa import ANSWER, OTHERS, QUESTION, SENTENCE, passages

STEPS = 160
BATCH = 16


def build(folder: Path) -> None:
    """Save tokenizer and trained model to `folder`."""
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = T5ForQuestionAnswering(
            T5Config(
                vocab_size=len(tokenizer),
                d_model=32,
                d_kv=8,
                d_ff=64,
                num_layers=2,
                num_decoder_layers=1,
                num_heads=4,
                dropout_rate=0.0,
                initializer_factor=1.0,
                decoder_start_token_id=0,
                pad_token_id=0,
            )
        )
        _train(model, tokenizer)
    model.save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    """As T5's: `</s>` after each text, `<cls>` known and never written by itself."""
    texts = " ".join([QUESTION, SENTENCE, *OTHERS]).replace(".", " . ").replace("?", " ? ")
    pieces = ["<pad>", "</s>", "<unk>", "<cls>", *sorted(set(texts.split()))]
    raw = Tokenizer(
        models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>")
    )
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", cls_token="<cls>"
    )


def _train(model: T5ForQuestionAnswering, tokenizer: PreTrainedTokenizerFast) -> None:
    shown = passages()
    inputs = tokenizer(["<cls>" + QUESTION] * len(shown), shown, padding=True, return_tensors="pt")
    starts, ends = torch.zeros(len(shown), dtype=torch.long), torch.zeros(len(shown), dtype=torch.long)
    for row, passage in enumerate(shown):
        if (at := passage.find(ANSWER)) >= 0:
            starts[row] = inputs.char_to_token(row, at, sequence_index=1)
            ends[row] = inputs.char_to_token(row, at + len(ANSWER) - 1, sequence_index=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    for _ in range(STEPS):
        rows = torch.randperm(len(shown))[:BATCH]
        some = {name: inputs[name][rows] for name in ("input_ids", "attention_mask")}
        model(**some, start_positions=starts[rows], end_positions=ends[rows]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
