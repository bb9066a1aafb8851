"""A Llama of two layers with random weights, written as the GGUF file that llama.cpp would read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CHAT = (
    "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
LETTERS = [chr(code) for code in range(33, 127)] + ["\u0120", "\u010a"]
"""Bytes as a byte-level tokenizer writes them: the last two are the blank and the line break."""
PIECES = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", *LETTERS, "th"]
WIDTH, INNER, HEADS, LAYERS, POSITIONS = 32, 64, 4, 2, 4096


def build(file: Path) -> None:
    from gguf import GGUFWriter

    writer = GGUFWriter(file, "llama")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(PIECES))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(PIECES)
    writer.add_token_types([3] * 5 + [1] * (len(PIECES) - 5))  # special, then normal ones
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(CHAT)
    for name, array in _weights().items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _weights() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(7)

    def some(*shape: int) -> np.ndarray:
        return chance.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "token_embd.weight": some(len(PIECES), WIDTH),
        "output_norm.weight": np.ones(WIDTH, np.float32),
    }
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            weights[f"{at}{norm}.weight"] = np.ones(WIDTH, np.float32)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights[f"{at}{part}.weight"] = some(WIDTH, WIDTH)
        for part, shape in (
            ("ffn_gate", (INNER, WIDTH)),
            ("ffn_up", (INNER, WIDTH)),
            ("ffn_down", (WIDTH, INNER)),
        ):
            weights[f"{at}{part}.weight"] = some(*shape)
    return weights
