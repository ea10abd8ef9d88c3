# PyTorch's results for packages/nn/test/ops/golden.test.ts. Generated with torch 1.13.0 and numpy 1.24 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/operators.py > test/golden/operators.json
#
# Everything is computed in double precision from float32 inputs and rounded to float32 at the end, so the file does not depend on the
# machine's kernels. Inputs and parameters are not in it: both sides make them by the formulas of packages/nn/test/support/fill.ts, or draw them from the
# same generator. Of tensors with more than 64 elements it holds 64 samples and two sums.

import hashlib
import json
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import fill, fill_classes, fill_coarse, ignoring, operator_cases, shortest, summary


def residual_block(x, first, scale1, shift1, second, scale2, shift2, shortcut):
    """A basic block of ResNet (He et al., 2015) with a stride, and the means of its channels."""
    hidden = F.conv2d(x, first, stride=2, padding=1)
    hidden = F.relu(F.batch_norm(hidden, None, None, scale1, shift1, training=True))
    hidden = F.conv2d(hidden, second, padding=1)
    hidden = F.batch_norm(hidden, None, None, scale2, shift2, training=True)
    return F.relu(hidden + F.conv2d(x, shortcut, stride=2)).mean((2, 3))


# Name: shapes of the inputs, function. The same names and functions are in golden.test.ts, which takes the shapes from the fixture.
OPERATORS = {
    "add": ([(3, 4), (4,)], lambda a, b: a + b),
    "add number": ([(3, 4)], lambda a: a + 1.5),
    "sub": ([(2, 1, 3), (4, 1)], lambda a, b: a - b),
    "mul": ([(3, 1), (1, 5)], lambda a, b: a * b),
    "div": ([(3, 4), (3, 1)], lambda a, b: a / (b + 2.5)),
    "div of integers": ([(6,)], lambda a: a * (fill_classes(6, 7, 1) / fill_classes(6, 3, 2).add(2))),
    "neg": ([(5,)], lambda a: -a),
    "exp": ([(3, 4)], lambda a: a.exp()),
    "log": ([(3, 4)], lambda a: (a + 1.25).log()),
    "relu": ([(5, 7)], F.relu),
    "sum": ([(3, 4)], lambda a: a.sum()),
    "sum of axes": ([(2, 3, 4)], lambda a: a.sum((-1, 0))),
    "sum of no axes": ([(3, 4)], lambda a: a.sum([])),
    "mean of no axes, kept": ([(3, 4)], lambda a: a.mean([], True)),
    "amax of no axes": ([(3, 4)], lambda a: a.amax([])),
    "amin of no axes": ([(3, 4)], lambda a: a.amin([])),
    "sum kept": ([(2, 3, 4)], lambda a: a.sum((1,), True)),
    "mean": ([(3, 4)], lambda a: a.mean()),
    "mean of axes": ([(2, 3, 4)], lambda a: a.mean((0, 2))),
    "mean kept": ([(2, 3, 4)], lambda a: a.mean((-2,), True)),
    "view": ([(2, 3, 4)], lambda a: a.view(4, -1)),
    "permute": ([(2, 3, 4)], lambda a: a.permute(2, 0, 1)),
    "permute, counted from the last": ([(2, 3, 4)], lambda a: a.permute(-1, 0, -2)),
    "flatten": ([(2, 3, 2, 2)], lambda a: a.flatten(1)),
    "linear": ([(3, 5), (4, 5), (4,)], F.linear),
    "linear without bias": ([(3, 5), (4, 5)], F.linear),
    "logSoftmax": ([(3, 5)], lambda a: F.log_softmax(a, 1)),
    "logSoftmax of an inner axis": ([(2, 3, 4)], lambda a: F.log_softmax(a, -2)),
    "nllLoss": ([(6, 4)], lambda a: F.nll_loss(a, fill_classes(6, 4, 1))),
    "nllLoss, weighted, ignoring, mean": ([(6, 4)], lambda a: F.nll_loss(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, reduction="mean")),
    "crossEntropy, everything, mean": ([(6, 4)], lambda a: F.cross_entropy(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="mean")),
    "crossEntropy of probabilities, mean": ([(6, 4), (6, 4)], lambda a, p: F.cross_entropy(a, p + 1.5, fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="mean")),
    "mseLoss, mean": ([(3, 5), (3, 5)], lambda a, b: F.mse_loss(a, b, reduction="mean")),
    "binaryCrossEntropyWithLogits, everything, mean": ([(3, 4)], lambda a: F.binary_cross_entropy_with_logits(9 * a, fill((3, 4), 8).double() / 2 + 0.5, fill((4,), 9).double() + 1.5, pos_weight=fill((4,), 9).double() + 1.5 + 1, reduction="mean")),
    "nllLoss, weighted, ignoring, sum": ([(6, 4)], lambda a: F.nll_loss(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, reduction="sum")),
    "crossEntropy, everything, sum": ([(6, 4)], lambda a: F.cross_entropy(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="sum")),
    "crossEntropy of probabilities, sum": ([(6, 4), (6, 4)], lambda a, p: F.cross_entropy(a, p + 1.5, fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="sum")),
    "mseLoss, sum": ([(3, 5), (3, 5)], lambda a, b: F.mse_loss(a, b, reduction="sum")),
    "binaryCrossEntropyWithLogits, everything, sum": ([(3, 4)], lambda a: F.binary_cross_entropy_with_logits(9 * a, fill((3, 4), 8).double() / 2 + 0.5, fill((4,), 9).double() + 1.5, pos_weight=fill((4,), 9).double() + 1.5 + 1, reduction="sum")),
    "nllLoss, weighted, ignoring, none": ([(6, 4)], lambda a: F.nll_loss(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, reduction="none")),
    "crossEntropy, everything, none": ([(6, 4)], lambda a: F.cross_entropy(a, ignoring(6, 4, 1), fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="none")),
    "crossEntropy of probabilities, none": ([(6, 4), (6, 4)], lambda a, p: F.cross_entropy(a, p + 1.5, fill((4,), 9).double() + 1.5, label_smoothing=0.2, reduction="none")),
    "mseLoss, none": ([(3, 5), (3, 5)], lambda a, b: F.mse_loss(a, b, reduction="none")),
    "binaryCrossEntropyWithLogits, everything, none": ([(3, 4)], lambda a: F.binary_cross_entropy_with_logits(9 * a, fill((3, 4), 8).double() / 2 + 0.5, fill((4,), 9).double() + 1.5, pos_weight=fill((4,), 9).double() + 1.5 + 1, reduction="none")),
    "nllLoss of another index to ignore": ([(6, 4)], lambda a: F.nll_loss(a, fill_classes(6, 4, 1), ignore_index=2)),
    "nllLoss of a large negative index to ignore": ([(6, 4)], lambda a: F.nll_loss(a, ignoring(6, 4, 1, -2**40 - 1), ignore_index=-2**40 - 1)),
    "crossEntropy of a large index to ignore": ([(6, 4)], lambda a: F.cross_entropy(a, ignoring(6, 4, 1, 2**24 + 1), ignore_index=2**24 + 1)),
    "nllLoss of images": ([(2, 4, 3, 5)], lambda a: F.nll_loss(a, ignoring(30, 4, 2).view(2, 3, 5))),
    "crossEntropy": ([(6, 4)], lambda a: F.cross_entropy(a, fill_classes(6, 4, 1))),
    "crossEntropy of images, smoothed": ([(2, 4, 3, 5)], lambda a: F.cross_entropy(a, ignoring(30, 4, 2).view(2, 3, 5), label_smoothing=0.1)),
    "crossEntropy of probabilities in images": ([(2, 4, 3), (2, 4, 3)], lambda a, p: F.cross_entropy(a, p)),
    "binaryCrossEntropyWithLogits": ([(3, 4), (3, 4)], F.binary_cross_entropy_with_logits),
    "sqrt": ([(3, 5)], lambda a: (a + 1.25).sqrt()),
    "pow 2": ([(3, 5)], lambda a: a.pow(2)),
    "pow 3": ([(3, 5)], lambda a: a.pow(3)),
    "pow -1": ([(3, 5)], lambda a: (a + 1.25).pow(-1)),
    "pow 1.7": ([(3, 5)], lambda a: (a + 1.25).pow(1.7)),
    "pow 0": ([(3, 5)], lambda a: a.pow(0) + a),
    "abs": ([(3, 5)], lambda a: a.abs()),
    "erf": ([(3, 5)], lambda a: (2 * a).erf()),
    "maximum": ([(3, 5), (5,)], torch.maximum),
    "minimum": ([(3, 5), (5,)], torch.minimum),
    "amax": ([(3, 4, 5)], lambda a: a.amax((0, 2))),
    "amin": ([(3, 4, 5)], lambda a: a.amin((1,), True)),
    "sigmoid": ([(3, 5)], lambda a: torch.sigmoid(5 * a)),
    "tanh": ([(3, 5)], lambda a: torch.tanh(3 * a)),
    "leakyRelu": ([(3, 5)], F.leaky_relu),
    "leakyRelu of another slope": ([(3, 5)], lambda a: F.leaky_relu(a, 0.3)),
    "gelu": ([(3, 5)], lambda a: F.gelu(3 * a)),
    "gelu by tanh": ([(3, 5)], lambda a: F.gelu(3 * a, approximate="tanh")),
    "silu": ([(3, 5)], lambda a: F.silu(3 * a)),
    "softmax": ([(3, 5)], lambda a: F.softmax(a, 1)),
    "softmax of an inner axis": ([(2, 3, 4)], lambda a: F.softmax(a, -2)),
    "matmul": ([(3, 4), (4, 5)], torch.matmul),
    "matmul of vectors": ([(5,), (5,)], torch.matmul),
    "matmul, vector first": ([(4,), (2, 4, 5)], torch.matmul),
    "matmul, vector second": ([(2, 3, 4), (4,)], torch.matmul),
    "matmul, one matrix for all": ([(2, 3, 4), (4, 5)], torch.matmul),
    "matmul that broadcasts": ([(3, 1, 2, 4), (2, 4, 5)], torch.matmul),
    "transpose": ([(2, 3, 4)], lambda a: a.transpose(0, -1)),
    "flatten of some": ([(2, 3, 4, 5)], lambda a: a.flatten(1, -2)),
    "flatten of all": ([(2, 3, 4)], lambda a: a.flatten()),
    "unsqueeze": ([(2, 3)], lambda a: a.unsqueeze(-1)),
    "cat": ([(2, 3), (2, 1), (2, 4)], lambda *all: torch.cat(all, -1)),
    "stack": ([(2, 3), (2, 3)], lambda *all: torch.stack(all, 1)),
    "linear of many rows": ([(2, 3, 5), (4, 5), (4,)], F.linear),
    "linear of a vector": ([(5,), (4, 5), (4,)], F.linear),
    "layerNorm": ([(3, 2, 5), (5,), (5,)], lambda x, w, b: F.layer_norm(x, (5,), w, b)),
    "layerNorm of two dimensions": ([(3, 2, 5)], lambda x: F.layer_norm(x, (2, 5), eps=0.1)),
    "embedding": ([(5, 3)], lambda w: F.embedding(fill_classes(6, 5, 1).view(2, 3) // 2, w)),
    "embedding with padding": ([(5, 3)], lambda w: F.embedding(fill_classes(6, 5, 1) // 2, w, padding_idx=-4)),
    "conv2d same": ([(2, 3, 6, 7), (4, 3, 3, 2), (4,)], lambda x, w, b: F.conv2d(x, w, b, padding="same", dilation=(1, 3))),
    "conv2d": ([(2, 3, 6, 7), (4, 3, 3, 2), (4,)], F.conv2d),
    "conv2d without bias": ([(2, 3, 5, 5), (4, 3, 3, 3)], F.conv2d),
    "conv2d 1x1": ([(2, 3, 4, 5), (4, 3, 1, 1), (4,)], F.conv2d),
    "conv2d 3x1": ([(2, 3, 6, 4), (4, 3, 3, 1), (4,)], F.conv2d),
    "conv2d stride and padding": (
        [(2, 3, 8, 9), (4, 3, 3, 3), (4,)],
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 3), padding=(1, 2)),
    ),
    "conv2d dilation": ([(2, 2, 8, 7), (3, 2, 3, 2), (3,)], lambda x, w, b: F.conv2d(x, w, b, dilation=(2, 3))),
    "conv2d groups": (
        [(2, 6, 6, 5), (4, 3, 3, 3), (4,)],
        lambda x, w, b: F.conv2d(x, w, b, padding=1, groups=2),
    ),
    "conv2d of each channel": (
        [(2, 4, 7, 7), (4, 1, 3, 3), (4,)],
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=4),
    ),
    "conv2d 16 images": ([(16, 3, 7, 9), (4, 3, 5, 5), (4,)], F.conv2d),
    "conv2d 16 images, 8 channels, width 3": ([(16, 8, 5, 10), (4, 8, 3, 3), (4,)], F.conv2d),
    "conv2d 16 images, 8 channels, width 5": ([(16, 8, 7, 11), (4, 8, 5, 5), (4,)], F.conv2d),
    "conv2d 16 images, padding": (
        [(16, 3, 7, 9), (4, 3, 3, 5), (4,)],
        lambda x, w, b: F.conv2d(x, w, b, padding=(1, 2)),
    ),
    "conv2d 16 images, stride and padding": (
        [(16, 3, 8, 9), (4, 3, 3, 3), (4,)],
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 3), padding=(1, 2)),
    ),
    "conv2d 16 images, stride and dilation": (
        [(16, 2, 9, 11), (3, 2, 2, 3), (3,)],
        lambda x, w, b: F.conv2d(x, w, b, stride=(3, 2), dilation=(2, 3)),
    ),
    "a residual block of 16 images": (
        [(16, 4, 6, 7), (8, 4, 3, 3), (8,), (8,), (8, 8, 3, 3), (8,), (8,), (8, 4, 1, 1)],
        residual_block,
    ),
    "conv2d, relu, maxPool2d of 17 images": (
        [(17, 2, 8, 10), (3, 2, 3, 3), (3,)],
        lambda x, w, b: F.max_pool2d(F.relu(F.conv2d(x, w, b)), 2),
    ),
    "maxPool2d": ([(2, 3, 6, 4)], lambda x: F.max_pool2d(x, 2)),
    "maxPool2d with a rest": ([(2, 3, 7, 5)], lambda x: F.max_pool2d(x, (2, 3))),
    "maxPool2d overlapping": ([(2, 3, 7, 7)], lambda x: F.max_pool2d(x, 3, 2)),
    "maxPool2d padded": ([(2, 3, 6, 5)], lambda x: F.max_pool2d(x, 2, padding=1)),
    "maxPool2d overlapping and padded": ([(2, 2, 5, 6)], lambda x: F.max_pool2d(x, (3, 2), 1, (1, 0))),
    "maxPool2d windows apart": ([(1, 2, 8, 9)], lambda x: F.max_pool2d(x, 2, 3)),
    "avgPool2d": ([(2, 3, 6, 4)], lambda x: F.avg_pool2d(x, 2)),
    "avgPool2d with a rest": ([(2, 3, 7, 5)], lambda x: F.avg_pool2d(x, (2, 3))),
    "avgPool2d overlapping and padded": ([(2, 2, 7, 6)], lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 1))),
    "avgPool2d without counting padding": ([(2, 2, 7, 6)], lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
    "adaptiveAvgPool2d to one": ([(2, 3, 5, 7)], lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptiveAvgPool2d to a divisor": ([(2, 3, 6, 4)], lambda x: F.adaptive_avg_pool2d(x, (3, 2))),
    "adaptiveAvgPool2d to any size": ([(2, 3, 7, 5)], lambda x: F.adaptive_avg_pool2d(x, (3, 4))),
    "adaptiveAvgPool2d to a larger size": ([(2, 3, 2, 5)], lambda x: F.adaptive_avg_pool2d(x, (3, 7))),
}

# The same over inputs of three levels, which have equal maxima.
TIED = {
    "maximum": ([(3, 5), (5,)], torch.maximum),
    "minimum": ([(3, 5), (5,)], torch.minimum),
    "amax": ([(3, 4, 5)], lambda a: a.amax((0, 2))),
    "amin": ([(3, 4, 5)], lambda a: a.amin((1,), True)),
    "abs": ([(3, 5)], lambda a: a.abs()),
    "leakyRelu": ([(3, 5)], F.leaky_relu),
    "pow 0": ([(3, 5)], lambda a: a.pow(0) + a),
    "maxPool2d": ([(2, 3, 6, 4)], lambda x: F.max_pool2d(x, 2)),
    "maxPool2d overlapping": ([(2, 3, 7, 7)], lambda x: F.max_pool2d(x, 3, 2)),
    "conv2d, relu, maxPool2d of 17 images": (
        [(17, 2, 8, 10), (3, 2, 3, 3), (3,)],
        lambda x, w, b: F.max_pool2d(F.relu(F.conv2d(x, w, b)), 2),
    ),
}


# Comparing operators over partly non-finite inputs.
NOT_FINITE = {
    "relu": ([(5, 7)], F.relu),
    "maximum": ([(5, 7), (7,)], torch.maximum),
    "minimum": ([(5, 7), (7,)], torch.minimum),
    "amax": ([(3, 4, 5)], lambda a: a.amax((0, 2))),
    "amax of all": ([(3, 5)], lambda a: a.amax()),
    "amin": ([(3, 4, 5)], lambda a: a.amin((1,), True)),
    "maxPool2d": ([(2, 3, 6, 4)], lambda x: F.max_pool2d(x, 2)),
    "maxPool2d with a rest": ([(2, 3, 7, 5)], lambda x: F.max_pool2d(x, (2, 3))),
    "maxPool2d overlapping": ([(2, 3, 7, 7)], lambda x: F.max_pool2d(x, 3, 2)),
    "maxPool2d padded": ([(2, 3, 6, 5)], lambda x: F.max_pool2d(x, 2, padding=1)),
    "maxPool2d overlapping and padded": ([(2, 2, 5, 6)], lambda x: F.max_pool2d(x, (3, 2), 1, (1, 0))),
    "maxPool2d windows apart": ([(1, 2, 8, 9)], lambda x: F.max_pool2d(x, 2, 3)),
    "relu, maxPool2d": ([(2, 3, 6, 4)], lambda x: F.max_pool2d(F.relu(x), 2)),
    "relu, maxPool2d of 16 convolved images": (
        [(16, 1, 4, 6)],
        lambda x: F.max_pool2d(F.relu(F.conv2d(x, torch.ones((1, 1, 1, 1), dtype=x.dtype))), 2),
    ),
    "maxPool2d 3x3 of 16 convolved images": (
        [(16, 1, 6, 6)],
        lambda x: F.max_pool2d(F.conv2d(x, torch.ones((1, 1, 1, 1), dtype=x.dtype)), 3),
    ),
}

# Written so that double precision suffices for numbers of every size: 1 + tanh(u) is 2·sigmoid(2u).
TAILS = {
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu by tanh": lambda a: a * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)),
    "binaryCrossEntropyWithLogits of 0": lambda a: -F.logsigmoid(-a),
    "binaryCrossEntropyWithLogits of 1": lambda a: -F.logsigmoid(a),
}


def fill_not_finite(shape, seed):
    """Three levels, NaN and both infinities, of which -Infinity fills whole windows."""
    place = np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64)
    values = fill_coarse(shape, seed).reshape(-1)
    kind = place * (7919 + 104 * seed) % 10007 % 13
    values[kind <= 6] = -np.inf
    values[kind == 7] = np.inf
    values[kind == 8] = np.nan
    return values.reshape(shape)


def written(tensor):
    """All elements; non-finite ones as JavaScript's String() prints them."""
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [names.get(str(x), shortest(x)) for x in tensor.detach().double().numpy().reshape(-1)]


def not_finite_cases():
    """As `operator_cases`, every element."""
    for name, (shapes, function) in NOT_FINITE.items():
        inputs = [fill_not_finite(shape, seed).double().requires_grad_() for seed, shape in enumerate(shapes)]
        output = function(*inputs)
        (output * fill(output.shape, 50).double()).sum().backward()
        gradients = [written(x.grad) for x in inputs]
        yield {"name": name, "inputs": shapes, "output": written(output), "gradients": gradients}


def tails():
    """Outputs and gradients, element by element."""
    sizes = [1e-30, 1e-4, 0.1, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 17, 18, 20, 25, 30, 50, 80, 1000]
    numbers = [sign * size for size in sizes for sign in (1, -1)]
    cases = []
    for name, function in TAILS.items():
        x = torch.tensor(numbers, dtype=torch.float32).double().requires_grad_()
        output = function(x)
        output.sum().backward()
        cases.append({"name": name, "output": written(output), "gradient": written(x.grad)})
    return {"numbers": numbers, "cases": cases}


def bits(tensors):
    """SHA-256 of the float32 elements, little-endian, one tensor after the other."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def initial_parameters():
    torch.manual_seed(1)
    modules = [
        nn.Conv2d(1, 20, 5),
        nn.Conv2d(6, 4, (3, 2), groups=2, bias=False),
        nn.Linear(7, 3),
        nn.Embedding(7, 5, padding_idx=3),
        nn.LayerNorm((2, 3)),
        nn.Embedding(3, 4),
        nn.Embedding(3, 5),
        *[nn.Linear(inputs, 2) for inputs in range(1, 300)],
    ]
    first = modules[0].weight.detach().flatten()[:4]
    parameters = [parameter for module in modules for parameter in module.parameters()]
    return {"first": [shortest(x) for x in first], "sha256": bits(parameters)}


def normal_numbers():
    """Normal numbers of all lengths in turn, the short ones from the doubles of one stream, whose second numbers wait for the next call."""
    torch.manual_seed(5)
    tensors = [torch.empty(size).normal_(0.5, 0.02) for size in (3, 2, 16, 5, 17, 100000, 15, 31)]
    return {"first": [shortest(x) for x in tensors[0]], "sha256": bits(tensors)}


def philox(counter, key):
    """Philox 4x32-10 of a counter of 64 bits."""
    a, b, c, d = counter & 0xFFFFFFFF, counter >> 32, 0, 0
    low, high = key
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (right >> 32) ^ b ^ low, right & 0xFFFFFFFF, (left >> 32) ^ d ^ high, left & 0xFFFFFFFF
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def dropouts():
    """Dropout of ones with several probabilities in turn. Not torch's: element 256b + 64w + c has word w of counter 64b + c."""
    state = np.random.RandomState(6)
    tensors = []
    for p in (0.5, 0.0, 0.3, 1.0, 0.9):
        mask = torch.full((1001,), 1 - p)
        if 0 < p < 1:
            key = [int(word) for word in state.randint(0, 2**32, size=2, dtype=np.uint32)]
            kept = round((1 - p) * 2**32)
            words = [philox(64 * (i // 256) + i % 64, key)[i % 256 // 64] for i in range(1001)]
            mask = torch.tensor([1 / (1 - p) if word < kept else 0.0 for word in words])
        tensors.append(mask)
    return {"first": [shortest(x) for x in tensors[0][:8]], "sha256": bits(tensors)}


# Options of torch.nn.BatchNorm1d or 2d and the shape of its inputs; golden.test.ts writes them in camelCase.
BATCH_NORMS = {
    "images": (nn.BatchNorm2d, dict(), (5, 3, 4, 2)),
    "rows": (nn.BatchNorm1d, dict(momentum=0.3, eps=0.01), (5, 3)),
    "sequences, mean of all batches": (nn.BatchNorm1d, dict(momentum=None), (2, 3, 7)),
    "nothing learned": (nn.BatchNorm2d, dict(affine=False), (2, 3, 1, 3)),
    "nothing tracked": (nn.BatchNorm2d, dict(track_running_stats=False), (2, 3, 3, 1)),
}


def batch_norm(make, options, shape):
    """Outputs, gradients and state of three steps of training, and the output of evaluation after them."""
    module = make(3, **options).double()
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(fill((3,), 30 + seed))
    steps = []
    for step in range(3):
        x = fill(shape, step).double().requires_grad_()
        module.zero_grad()
        output = module(x)
        (output * fill(shape, 50).double()).sum().backward()
        gradients = [x.grad, *[parameter.grad for parameter in module.parameters()]]
        steps.append([summary(tensor) for tensor in [output, *gradients, *module.buffers()]])
    module.eval()
    x = fill(shape, 9).double().requires_grad_()
    output = module(x)
    (output * fill(shape, 50).double()).sum().backward()
    return {"shape": shape, "steps": steps, "evaluation": [summary(output), summary(x.grad)]}


class Net(nn.Module):
    """The CNN of Kubeflow's MNIST example."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(4 * 4 * 50, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), 1)


def mnist(batch, steps):
    """Losses of SGD with momentum, the gradients of the first and the last step, the parameters afterwards."""
    torch.manual_seed(1)
    model = Net()
    sha256 = bits(model.parameters())
    model.double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    losses, gradients = [], []
    for step in range(steps):
        images = fill((batch, 1, 28, 28), step).double()
        loss = F.nll_loss(model(images), fill_classes(batch, 10, step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(shortest(loss.item()))
        if step in (0, steps - 1):
            gradients.append({name: summary(p.grad) for name, p in model.named_parameters()})
    return {
        "batch": batch,
        "initial": sha256,
        "losses": losses,
        "gradients": gradients,
        "parameters": {name: summary(p) for name, p in model.named_parameters()},
    }


def network(steps):
    """Losses of SGD on a network of normalized convolutions, its state afterwards, and its output in evaluation."""
    torch.manual_seed(2)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, padding="same", bias=False),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(32),
        nn.Linear(32, 10),
    )
    sha256 = bits(model.parameters())
    model.double()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        loss = criterion(model(fill((16, 1, 12, 12), step).double()), fill_classes(16, 10, step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(shortest(loss.item()))
    model.eval()
    return {
        "initial": sha256,
        "losses": losses,
        "parameters": {name: summary(p) for name, p in model.named_parameters()},
        "buffers": [summary(buffer) for buffer in model.buffers()],
        "evaluation": summary(model(fill((16, 1, 12, 12), 77).double())),
    }


# Options of torch.optim.SGD; golden.test.ts writes them in camelCase.
SGD = {
    "plain": dict(lr=0.1),
    "momentum": dict(lr=0.1, momentum=0.9),
    "nesterov": dict(lr=0.1, momentum=0.9, nesterov=True),
    "weight decay": dict(lr=0.1, weight_decay=0.2),
    "all": dict(lr=0.1, momentum=0.9, weight_decay=0.2, nesterov=True),
}


def sgd(options):
    """Weight and bias of a linear layer after 5 steps of regression, the last two at half the rate."""
    weight = fill((3, 4), 1).double().requires_grad_()
    bias = fill((3,), 2).double().requires_grad_()
    optimizer = torch.optim.SGD([weight, bias], **options)
    for step in range(5):
        if step == 3:
            optimizer.param_groups[0]["lr"] = 0.05
        error = F.linear(fill((6, 4), 10 + step).double(), weight, bias) - fill((6, 3), 20 + step).double()
        optimizer.zero_grad()
        (error * error).mean().backward()
        optimizer.step()
    return [summary(weight), summary(bias)]


fixture = {
    "operators": list(operator_cases(OPERATORS, fill)),
    "tied": list(operator_cases(TIED, fill_coarse)),
    "notFinite": list(not_finite_cases()),
    "tails": tails(),
    "initialParameters": initial_parameters(),
    "normalNumbers": normal_numbers(),
    "dropouts": dropouts(),
    "batchNorms": {name: batch_norm(*arguments) for name, arguments in BATCH_NORMS.items()},
    "mnist": [mnist(32, 10), mnist(8, 3)],
    "network": network(5),
    "sgd": {name: sgd(options) for name, options in SGD.items()},
}
print(json.dumps(fixture, separators=(",", ":")))
