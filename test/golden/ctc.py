# PyTorch's results for packages/nn/test/functional/ctc-loss.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/ctc.py > test/golden/ctc.json
#
# In double precision, as operators.py.

import json

import torch
import torch.nn.functional as F

from common import fill, operator_cases

# The third target repeats a class; the fourth is empty; 6 and 4 are padding.
PADDED = torch.tensor([[1, 2, 3, 4], [4, 1, 6, 6], [2, 2, 1, 6], [6, 6, 6, 6]])
JOINED = torch.tensor([1, 2, 3, 4, 4, 1, 2, 2, 1])
TARGET_LENGTHS = (4, 2, 3, 0)
INPUT_LENGTHS = (9, 7, 4, 5)


def loss(targets, inputs=INPUT_LENGTHS, lengths=TARGET_LENGTHS, softmax=True, **options):
    def compute(x):
        return F.ctc_loss((4 * x).log_softmax(-1) if softmax else x, targets, inputs, lengths, **options)

    return ([(9, 4, 7)], compute)


# Name: shapes of the inputs, function. The same names and functions are in ctc-loss.test.ts.
LOSSES = {
    **{
        f"padded targets, {reduction}": loss(PADDED, reduction=reduction)
        for reduction in ("mean", "sum", "none")
    },
    "joined targets": loss(JOINED, reduction="none"),
    "last blank": loss(PADDED % 6, reduction="none", blank=6),
    "whole inputs": loss(PADDED, inputs=(9, 9, 9, 9)),
    "too short inputs, no infinity": loss(PADDED, inputs=(3, 7, 3, 5), reduction="none", zero_infinity=True),
    "too short inputs, no infinity, mean": loss(PADDED, inputs=(3, 7, 3, 5), zero_infinity=True),
    "without softmax": loss(PADDED, softmax=False),
    "one sequence": (
        [(6, 5)],
        lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([3, 3, 1]), torch.tensor(6), torch.tensor(3)),
    ),
}

print(json.dumps(list(operator_cases(LOSSES, fill)), separators=(",", ":")))
