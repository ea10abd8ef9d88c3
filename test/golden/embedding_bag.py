# PyTorch's results for packages/nn/test/functional/embedding-bag-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/embedding_bag.py > test/golden/embedding_bag.json

import json

import torch
import torch.nn as nn

from common import module_cases

ROWS = torch.tensor([3, 0, 3, 2, 6, 1, 4])
PAIRS = torch.tensor([[3, 0, 3], [2, 6, 1]])
OFFSETS = torch.tensor([0, 2, 2, 5])


def bags(*rows, **options):
    """The bags, to which the inputs are added, so that there is one."""
    return lambda m, x: m(*rows, **options) + x


MODULES = {
    "mean of bags with offsets": ([(4, 5)], lambda: nn.EmbeddingBag(7, 5), bags(ROWS, OFFSETS)),
    "sum of bags of one size": ([(2, 17)], lambda: nn.EmbeddingBag(7, 17, mode="sum"), bags(PAIRS)),
    "sum of weighted rows": (
        [(7,)],
        lambda: nn.EmbeddingBag(7, 65, mode="sum"),
        lambda m, x: m(ROWS, OFFSETS, per_sample_weights=x),
    ),
    "sum of weighted rows of one size": (
        [(2, 3)],
        lambda: nn.EmbeddingBag(7, 3, mode="sum"),
        lambda m, x: m(PAIRS, per_sample_weights=x),
    ),
    "maximum with a last offset": (
        [(3, 6)],
        lambda: nn.EmbeddingBag(7, 6, mode="max", include_last_offset=True),
        bags(ROWS, torch.tensor([0, 4, 4, 7])),
    ),
    "mean without padding": ([(4, 5)], lambda: nn.EmbeddingBag(7, 5, padding_idx=3), bags(ROWS, OFFSETS)),
    "sum without padding": ([(2, 4)], lambda: nn.EmbeddingBag(7, 4, mode="sum", padding_idx=-1), bags(PAIRS)),
    "maximum without padding": ([(2, 4)], lambda: nn.EmbeddingBag(7, 4, mode="max", padding_idx=0), bags(PAIRS)),
}

print(json.dumps(list(module_cases(MODULES)), separators=(",", ":")))
