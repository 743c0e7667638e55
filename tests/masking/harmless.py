"""Texts without a secret that speak of keys, tokens and passwords; put together by lot."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from tests.masking.grammar import AROUND, Text


def _tensor(lot: Random) -> str:
    return lot.choice(
        [
            f"model.layers.{lot.randint(0, 95)}.self_attn.{lot.choice('qkvo')}_proj.weight",
            f"model.layers.{lot.randint(0, 95)}.mlp.experts.{lot.randint(0, 255)}.down_proj.weight",
            "lm_head.weight_scale_inv",
            f"ernie.encoder.layers.{lot.randint(0, 23)}.norm{lot.randint(1, 2)}.bias",
            f"linear_{lot.randint(0, 400)}.w_0_moment1_0",
            f"conv2d_{lot.randint(0, 99)}.w_0",
            f"batch_norm2d_{lot.randint(0, 99)}.w_{lot.randint(0, 3)}",
            f"backbone.stage{lot.randint(1, 4)}.{lot.randint(0, 22)}.depthwise_conv.weight",
            f"transformer.h.{lot.randint(0, 47)}.attn.c_attn.weight",
        ]
    )


def _object(lot: Random) -> str:
    day = f"2026-{lot.randint(1, 12):02}-{lot.randint(1, 28):02}"
    return lot.choice(
        [
            f"{day}/part",
            f"{day}/part-{lot.randint(0, 99999):05}-of-{lot.randint(1, 999):05}",
            f"train/{day}/shard_{lot.randint(0, 9999):04}.tar",
            f"checkpoints/step_{lot.randint(1, 999999)}/rank_{lot.randint(0, 63)}.pdparams",
            f"user_{lot.randint(1, 99999)}:features:{day}",
            f"{day}T{lot.randint(0, 23):02}:00:00",
            f"/paddle/jobs/job-{lot.randint(1, 9999)}/nodes/{lot.randint(0, 63)}",
            f"imagenet/n{lot.randint(10**7, 10**8)}/n01440764_{lot.randint(1, 9999)}.JPEG",
        ]
    )


def _word(lot: Random) -> str:
    return lot.choice(
        [
            *(
                "'def'",
                "}",
                "<|im_start|>",
                "[PAD]",
                "'Ġthe'",
                "▁hello",
                "EOF",
                "<eos>",
                "\\n",
                "','",
            ),
            *("layer_norm_31_weight", "end_of_text_0123456789", "<|reserved_special_token_17|>"),
            *("num_attention_heads_2", "identifier", "INDENT", "0x7f3a9c2d1b5e", "1e-05", "NaN"),
            *(
                "bert-base-uncased",
                "llama2-7b-chat-hf",
                "ernie-4.5-21b-a3b-base",
                "20261117T021500Z",
            ),
        ]
    )


def _number(lot: Random) -> str:
    return str(lot.choice([lot.randint(0, 9), lot.randint(10, 999), lot.randint(1000, 10**7)]))


def _read() -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\[[a-z-]+\]", line):
            texts[line[1:-1]] = latest = []
        elif line and not line.startswith("# "):
            latest.append(line.replace("\\n", "\n"))
    return texts


TEXTS = _read()
HARMLESS_KINDS = tuple(TEXTS)


def harmless_texts(seed: int, number: int) -> list[Text]:
    """In turn of every kind."""
    lot = Random(seed)
    return [_harmless(lot, HARMLESS_KINDS[at % len(HARMLESS_KINDS)]) for at in range(number)]


def _harmless(lot: Random, kind: str) -> Text:
    text = lot.choice(TEXTS[kind])
    for mark, make in (("{t}", _tensor), ("{o}", _object), ("{w}", _word), ("{n}", _number)):
        while mark in text:
            text = text.replace(mark, make(lot), 1)
    return Text(kind, lot.choice(AROUND).replace("{t}", text))
