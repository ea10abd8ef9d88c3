# PyTorch's results for packages/nn/test/nn/modules-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/modules.py > test/golden/modules.json

import json
import math

import torch
import torch.nn as nn

from common import fill, module_cases


def attention(query, key, value, mask=None, causal=False, scale=None):
    """torch 2's scaled_dot_product_attention."""
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:]).tril().bool(), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ value


class Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, *inputs):
        return attention(*inputs, **self.options)


class RMSNorm(nn.Module):
    """torch 2's RMSNorm."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True) + 2**-23).sqrt() * self.weight


def attended(output):
    """The output, to which the weights add a part of the loss."""
    return output[0] + output[1].sum() if output[1] is None else output[0] * (1 + output[1].square().sum())


PADDING = fill((3, 5), 4) > 0.4
SEEN = fill((4, 5), 7) > -0.5
HIDDEN = fill((4, 5), 7) > 0.5

# Name: shapes of the inputs, how to make the module, how to call it. The same names are in modules-golden.test.ts.
MODULES = {
    "attention": ([(2, 3, 4, 6), (2, 3, 5, 6), (2, 3, 5, 7)], lambda: Attention(), lambda m, *x: m(*x)),
    "causal attention": ([(2, 4, 6), (2, 5, 6), (2, 5, 7)], lambda: Attention(causal=True, scale=0.3), lambda m, *x: m(*x)),
    "attention with a mask": ([(2, 4, 6), (2, 5, 6), (2, 5, 7)], lambda: Attention(mask=SEEN), lambda m, *x: m(*x)),
    "group norm": ([(3, 6, 4)], lambda: nn.GroupNorm(2, 6, eps=1e-3), lambda m, x: m(x)),
    "group norm of rows, no weight": ([(3, 6)], lambda: nn.GroupNorm(2, 6, affine=False), lambda m, x: m(x)),
    "instance norm": ([(2, 3, 4, 5)], lambda: nn.InstanceNorm2d(3, affine=True), lambda m, x: m(x)),
    "instance norm of sequences": ([(2, 3, 5)], lambda: nn.InstanceNorm1d(3), lambda m, x: m(x)),
    "rms norm": ([(2, 3, 5)], lambda: RMSNorm(5), lambda m, x: m(x)),
    "self-attention": ([(4, 3, 6)], lambda: nn.MultiheadAttention(6, 2), lambda m, x: attended(m(x, x, x))),
    "attention of a batch, no bias": (
        [(3, 4, 6), (3, 5, 6), (3, 5, 6)],
        lambda: nn.MultiheadAttention(6, 3, bias=False, batch_first=True),
        lambda m, q, k, v: attended(m(q, k, v)),
    ),
    "attention with masks": (
        [(4, 3, 6), (5, 3, 6)],
        lambda: nn.MultiheadAttention(6, 2),
        lambda m, q, k: attended(m(q, k, k, key_padding_mask=PADDING, attn_mask=HIDDEN)),
    ),
    "attention with an added mask for each head": (
        [(4, 3, 6)],
        lambda: nn.MultiheadAttention(6, 2),
        lambda m, x: attended(m(x, x, x, attn_mask=fill((6, 4, 4), 8).double())),
    ),
    "encoder layer": (
        [(4, 3, 6)],
        lambda: nn.TransformerEncoderLayer(6, 2, dim_feedforward=9),
        lambda m, x: m(x, src_mask=nn.Transformer.generate_square_subsequent_mask(4).double()),
    ),
    "encoder layer, normalized first": (
        [(3, 5, 6)],
        lambda: nn.TransformerEncoderLayer(6, 3, 7, activation="gelu", batch_first=True, norm_first=True, layer_norm_eps=1e-3),
        lambda m, x: m(x, src_key_padding_mask=PADDING),
    ),
    "transformer": (
        [(4, 3, 6), (5, 3, 6)],
        lambda: nn.Transformer(6, 2, 2, 1, 8, 0.0),
        lambda m, x, y: m(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5)),
    ),
    "bilinear": ([(5, 3), (5, 4)], lambda: nn.Bilinear(3, 4, 2), lambda m, x, y: m(x, y)),
    "encoder": (
        [(3, 4, 6)],
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, norm_first=True), 2, nn.LayerNorm(6)
        ),
        lambda m, x: m(x),
    ),
    "decoder": (
        [(4, 3, 6), (5, 3, 6)],
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8), 2),
        lambda m, x, y: m(
            x,
            y,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(4).double(),
            memory_key_padding_mask=PADDING,
        ),
    ),
}


print(json.dumps(list(module_cases(MODULES)), separators=(",", ":")))
