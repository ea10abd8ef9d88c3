# PyTorch's results for packages/nn/test/functional/attention-golden.test.ts: queries that see no key. Generated with torch 2.15.0:
#
#   python3 test/golden/attention.py > test/golden/attention.json

import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from common import fill, module_cases


class Attention(nn.Module):
    """scaled_dot_product_attention; a fourth input is an added mask."""

    def __init__(self, mask=None, **options):
        super().__init__()
        self.mask = mask
        self.options = options

    def forward(self, query, key, value, added=None):
        mask = self.mask
        if added is not None:
            mask = added.masked_fill(self.mask, -math.inf)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, **self.options)


def attend(module, query, key, **masks):
    return module(query, key, key, need_weights=False, **masks)[0]


def added(mask):
    return torch.zeros(mask.shape, dtype=torch.double).masked_fill(mask, -math.inf)


def whole(shape, *rows):
    """True in some rows, where a mask is true for what is hidden."""
    mask = fill(shape, 4) > 0.6
    mask[list(rows)] = True
    return mask


BLIND = whole((4, 5), 1, 3)
PADDED = whole((3, 5), 1)
ALL = torch.ones(3, 5, dtype=torch.bool)
# Query 0 sees key 0 alone, which is padding in sample 2.
FIRST = torch.zeros(3, 5, dtype=torch.bool)
FIRST[2, 0] = True
CAUSAL = torch.ones(5, 5).triu(1).bool()
SHAPES = [(2, 3, 4, 6), (2, 3, 5, 6), (2, 3, 5, 7)]
SEQUENCES = [(3, 5, 6)]
BOTH = [(3, 4, 6), (3, 5, 6)]


def multihead():
    return nn.MultiheadAttention(6, 2, batch_first=True)


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(6, 2, 9, batch_first=True, **options)


def decoder_layer():
    return nn.TransformerDecoderLayer(6, 2, 9, batch_first=True)


# Name: shapes of the inputs, how to make the module, how to call it. The same names are in attention-golden.test.ts.
MODULES = {
    "bool mask": (SHAPES, lambda: Attention(~BLIND), lambda m, *x: m(*x)),
    "bool mask of each batch": (
        SHAPES,
        lambda: Attention(torch.tensor([True, False]).view(2, 1, 1, 1)),
        lambda m, *x: m(*x),
    ),
    "bool mask that hides everything": (SHAPES, lambda: Attention(torch.zeros(4, 5).bool()), lambda m, *x: m(*x)),
    "added mask": (SHAPES, lambda: Attention(added(BLIND)), lambda m, *x: m(*x)),
    "added mask with a gradient": ([*SHAPES, (4, 5)], lambda: Attention(BLIND), lambda m, *x: m(*x)),
    "causal, longer keys": (SHAPES, lambda: Attention(is_causal=True), lambda m, *x: m(*x)),
    "causal, shorter keys": (
        [(2, 5, 6), (2, 3, 6), (2, 3, 7)],
        lambda: Attention(is_causal=True),
        lambda m, *x: m(*x),
    ),
    "no keys": ([(2, 4, 6), (2, 0, 6), (2, 0, 7)], lambda: Attention(), lambda m, *x: m(*x)),
    "heads, padding": (BOTH, multihead, lambda m, q, k: attend(m, q, k, key_padding_mask=PADDED)),
    "heads, added padding": (BOTH, multihead, lambda m, q, k: attend(m, q, k, key_padding_mask=added(PADDED))),
    "heads, everything is padding": (BOTH, multihead, lambda m, q, k: attend(m, q, k, key_padding_mask=ALL)),
    "heads, mask": (BOTH, multihead, lambda m, q, k: attend(m, q, k, attn_mask=BLIND)),
    "heads, both masks": (
        BOTH,
        multihead,
        lambda m, q, k: attend(m, q, k, attn_mask=BLIND, key_padding_mask=PADDED),
    ),
    "heads, causal and padding": (
        SEQUENCES,
        multihead,
        lambda m, x: attend(m, x, x, attn_mask=CAUSAL, key_padding_mask=FIRST),
    ),
    "encoder layer": (SEQUENCES, encoder_layer, lambda m, x: m(x, src_key_padding_mask=PADDED)),
    "encoder layer, normalized first": (
        SEQUENCES,
        lambda: encoder_layer(norm_first=True),
        lambda m, x: m(x, src_mask=CAUSAL, src_key_padding_mask=FIRST),
    ),
    "decoder layer": (
        BOTH,
        decoder_layer,
        lambda m, x, y: m(x, y, tgt_key_padding_mask=PADDED[:, :4], memory_key_padding_mask=PADDED),
    ),
    "encoder": (
        SEQUENCES,
        lambda: nn.TransformerEncoder(encoder_layer(), 2),
        lambda m, x: m(x, src_key_padding_mask=ALL),
    ),
    "decoder": (
        BOTH,
        lambda: nn.TransformerDecoder(decoder_layer(), 2),
        lambda m, x, y: m(x, y, memory_mask=BLIND, memory_key_padding_mask=PADDED),
    ),
    "transformer": (
        [(3, 5, 6), (3, 4, 6)],
        lambda: nn.Transformer(6, 2, 1, 1, 8, 0.0, batch_first=True),
        lambda m, x, y: m(
            x,
            y,
            src_key_padding_mask=PADDED,
            tgt_key_padding_mask=PADDED[:, :4],
            memory_key_padding_mask=PADDED,
        ),
    ),
}


print(json.dumps(list(module_cases(MODULES)), separators=(",", ":")))
