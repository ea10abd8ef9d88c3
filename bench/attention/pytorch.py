"""Attention of PyTorch for run.js, by lines of JSON: the passes of ringrun.js."""

import math

import torch
import torch.nn.functional as F

from answers import answer_lines, milliseconds_of

torch.set_num_threads(1)


def answer(question):
    shape = question["shape"]

    def elements(seed):
        values = (torch.arange(math.prod(shape), dtype=torch.float64) * 12.9898 + seed).sin()
        return values.reshape(shape).float()

    query, key, value = (elements(seed).requires_grad_() for seed in (1, 2, 3))
    weights = elements(4)
    options = {"is_causal": question["causal"]}
    if question["masked"]:
        places = torch.arange(shape[-2])
        options = {"attn_mask": (places[None] == places[:, None]) | (places[None] % 3 != 0)}

    def one_pass():
        query.grad = key.grad = value.grad = None
        with torch.autocast("cpu", torch.bfloat16, enabled=question["bfloat16"]):
            attended = F.scaled_dot_product_attention(query, key, value, **options)
        (attended * weights).sum().backward()

    return {"milliseconds": milliseconds_of(one_pass)}


answer_lines(answer)
