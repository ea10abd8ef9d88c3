# PyTorch's results for packages/nn/test/nn/recurrent-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/recurrent.py > test/golden/recurrent.json

import json

import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from common import module_cases


def both(output, *states):
    """The output, to which the last states add a part of the loss."""
    return output * (1 + sum(state.square().sum() for state in states))


def call(module, x, *states):
    """States are h0, or h0 and c0."""
    if isinstance(module, nn.LSTM):
        output, (h, c) = module(x, states or None)
        return both(output, h, c)
    return both(*module(x, *states))


def packed(lengths, batch_first=False, enforce_sorted=True, **pad):
    def run(module, x, *states):
        sequence = pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=enforce_sorted)
        if isinstance(module, nn.LSTM):
            output, (h, c) = module(sequence, states or None)
        else:
            output, h = module(sequence, *states)
            c = h
        return both(pad_packed_sequence(output, batch_first=batch_first, **pad)[0], h, c)

    return run


def packed_data(module, x):
    output, h = module(pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False))
    return both(output.data, h)


def cell(module, x, *states):
    """Two steps."""
    if isinstance(module, nn.LSTMCell):
        return both(*module(x * 0.5, module(x, states or None)))
    return module(x * 0.5, module(x, *states))


class Packed(nn.Module):
    """Sequences packed and padded again, without a network."""

    def forward(self, x, y):
        return pad_packed_sequence(pack_sequence([x, y]), padding_value=0.25, total_length=6)[0]


# Name: shapes of the inputs, how to make the module, how to call it. The same names are in recurrent-golden.test.ts.
MODULES = {
    "rnn": ([(4, 3, 5)], lambda: nn.RNN(5, 6), call),
    "rnn of relu, both directions, no bias": (
        [(3, 4, 5), (2, 3, 7)],
        lambda: nn.RNN(5, 7, nonlinearity="relu", bias=False, bidirectional=True, batch_first=True),
        call,
    ),
    "lstm": ([(5, 3, 4)], lambda: nn.LSTM(4, 6), call),
    "lstm of two layers, both directions, states": (
        [(3, 9, 4), (4, 9, 5), (4, 9, 5)],
        lambda: nn.LSTM(4, 5, 2, bidirectional=True),
        call,
    ),
    "lstm of one sequence": ([(4, 3), (1, 2), (1, 2)], lambda: nn.LSTM(3, 2), call),
    "lstm of packed sequences": ([(5, 3, 4)], lambda: nn.LSTM(4, 3, bidirectional=True), packed([5, 3, 1])),
    "lstm of packed sequences in any order": (
        [(4, 5, 3), (4, 4, 17), (4, 4, 17)],
        lambda: nn.LSTM(3, 17, 2, batch_first=True, bidirectional=True),
        packed([2, 4, 1, 3], True, False, padding_value=0.5, total_length=5),
    ),
    "gru": ([(4, 3, 5), (1, 3, 6)], lambda: nn.GRU(5, 6), call),
    "gru of three layers, both directions": (
        [(3, 4, 2)],
        lambda: nn.GRU(2, 3, 3, bidirectional=True, batch_first=True),
        call,
    ),
    "gru of one sequence, no bias": ([(4, 3)], lambda: nn.GRU(3, 4, bias=False), call),
    "gru of packed sequences": ([(4, 3, 2)], lambda: nn.GRU(2, 5, 2, bidirectional=True), packed([3, 4, 1], False, False)),
    "data of a packed rnn": ([(4, 3, 2)], lambda: nn.RNN(2, 3), packed_data),
    "packed and padded": ([(4, 2), (3, 2)], lambda: Packed(), lambda m, x, y: m(x, y)),
    "rnn cell": ([(3, 4), (3, 4)], lambda: nn.RNNCell(4, 4, nonlinearity="relu"), cell),
    "gru cell": ([(3, 4)], lambda: nn.GRUCell(4, 5), cell),
    "gru cell of one row, no bias": ([(4,), (5,)], lambda: nn.GRUCell(4, 5, bias=False), cell),
    "lstm cell": ([(3, 4), (3, 5), (3, 5)], lambda: nn.LSTMCell(4, 5), cell),
}

print(json.dumps(list(module_cases(MODULES)), separators=(",", ":")))
