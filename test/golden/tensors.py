# PyTorch's results for packages/nn/test/tensor/tensor-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch) and 2.15:
#
#   /usr/bin/python3 test/golden/tensors.py > test/golden/tensors.json
#
# In double precision, as operators.py. Integers and conditions are results as factors of an input.

import json

import torch
import torch.nn.functional as F

from common import fill, fill_classes, fill_coarse, operator_cases

INDEX = fill_classes(12, 3, 1).reshape(4, 3)


def tensor_of(size, function):
    """A function of an input of this shape alone."""
    return ([size], function)


def mask(shape, seed):
    return fill(shape, seed) > 0


def both(pair):
    """Values, and positions as factors."""
    values, indices = pair
    return values * (1 + indices)


# Name: shapes of the inputs, function. The same names and functions are in tensor-golden.test.ts.
TENSORS = {
    "at number": tensor_of((4, 3, 5), lambda x: x[2]),
    "at negative": tensor_of((4, 3, 5), lambda x: x[:, -1]),
    "at slices": tensor_of((4, 3, 5), lambda x: x[1:3, :, 1:5:2]),
    "at slice from the end": tensor_of((7, 3), lambda x: x[-3:]),
    "at slice to the end": tensor_of((7, 3), lambda x: x[:-2, :9]),
    "at empty slice": tensor_of((7, 3), lambda x: x[5:2].sum(0) + x[0]),
    "at dots": tensor_of((4, 3, 5), lambda x: x[..., 2]),
    "at dots between": tensor_of((4, 3, 5), lambda x: x[1, ..., 1:]),
    "at null": tensor_of((4, 3), lambda x: x[:, None, 1:]),
    "at tensor": tensor_of((4, 3, 5), lambda x: x[:, torch.tensor([2, 0, 2])]),
    "at tensor, then number": tensor_of((4, 3, 5), lambda x: x[torch.tensor([3, 3]), :, 1]),
    "at tensor without dimensions": tensor_of((4, 3, 5), lambda x: x[torch.tensor(-2)]),
    "at tensor of two dimensions": tensor_of((4, 3, 5), lambda x: x[:, torch.tensor([[2, 0], [-1, 1]])]),
    "at tensors": tensor_of((4, 3, 5), lambda x: x[torch.tensor([3, -1, 0]), torch.tensor([2, 0, 2])]),
    "at tensors of the last dimensions": tensor_of((4, 3, 5), lambda x: x[:, torch.tensor([2, 0]), torch.tensor([-5, 1])]),
    "at tensors that broadcast": tensor_of((4, 3, 5), lambda x: x[torch.tensor([[3], [1]]), torch.tensor([2, 0, 2])]),
    "at tensors apart": tensor_of((4, 3, 5), lambda x: x[torch.tensor([3, 1]), :, torch.tensor([4, 0])]),
    "at tensors around a number": tensor_of((4, 3, 5), lambda x: x[torch.tensor([3, 1]), 2, torch.tensor([4, 0])]),
    "at tensors and null": tensor_of((4, 3, 5), lambda x: x[torch.tensor([3, 1]), None, torch.tensor([2, 0])]),
    "at tensors behind a slice": tensor_of((4, 3, 5), lambda x: x[1:, ..., torch.tensor([4, 0])]),
    "narrow": tensor_of((4, 7), lambda x: x.narrow(1, 2, 3)),
    "narrow from the end": tensor_of((4, 7), lambda x: x.narrow(-1, -3, 2)),
    "select": tensor_of((4, 3, 5), lambda x: x.select(1, -2)),
    "indexSelect": tensor_of((4, 3, 5), lambda x: x.index_select(0, torch.tensor([3, 1, 1]))),
    "indexSelect, last": tensor_of((4, 3, 5), lambda x: x.index_select(-1, torch.tensor([4, 0]))),
    "gather": tensor_of((4, 5), lambda x: x.gather(1, INDEX)),
    "gather, fewer rows": tensor_of((5, 4), lambda x: x.gather(0, INDEX)),
    "take": tensor_of((2, 3), lambda x: x.take(INDEX)),
    "scatter": ([(4, 5), (4, 1)], lambda x, y: x.scatter(1, INDEX[:, :1], y)),
    "scatter number": tensor_of((4, 5), lambda x: x.scatter(1, INDEX, 0.25)),
    "scatterAdd": ([(4, 3), (4, 3)], lambda x, y: x.scatter_add(0, INDEX, y)),
    "split": tensor_of((7, 3), lambda x: x.split(3)[2] * x.split(3)[0][:1]),
    "split sizes": tensor_of((2, 7), lambda x: torch.cat(x.split([1, 4, 2], 1)[::-1], 1)),
    "chunk": tensor_of((7, 3), lambda x: x.chunk(3)[0] * x.chunk(3)[1]),
    "unbind": tensor_of((3, 4), lambda x: x.unbind(1)[3] * x.unbind(1)[0]),
    "flip": tensor_of((3, 4, 2), lambda x: x.flip(0, -1)),
    "roll": tensor_of((3, 5), lambda x: x.roll(2, 1)),
    "roll back": tensor_of((3, 5), lambda x: x.roll(-7, 0)),
    "eq": ([(5, 6)], lambda x: x * (fill_coarse((5, 6), 3) == 1)),
    "ne": ([(5, 6)], lambda x: x * (fill_coarse((5, 6), 3) != fill_coarse((6,), 4))),
    "lt": ([(5, 6), (6,)], lambda x, y: x * (x < y) + y),
    "le": ([(5, 6)], lambda x: x * (fill_coarse((5, 6), 3) <= 0)),
    "gt": ([(5, 6)], lambda x: x * (x > 0.25)),
    "ge": ([(5, 6)], lambda x: x * (fill_coarse((5, 6), 3) >= 0)),
    "comparison of integers": ([(4, 3)], lambda x: x * ((INDEX > 1) | (INDEX == 0))),
    "logicalAnd": ([(5, 6)], lambda x: x * mask((5, 6), 1).logical_and(mask((6,), 2))),
    "logicalOr": ([(5, 6)], lambda x: x * mask((5, 6), 1).logical_or(fill_coarse((6,), 2))),
    "logicalXor": ([(5, 6)], lambda x: x * mask((5, 6), 1).logical_xor(mask((5, 1), 2))),
    "logicalNot": ([(5, 6)], lambda x: x * fill_coarse((5, 6), 1).logical_not()),
    "isnan": ([(5,)], lambda x: x.masked_fill((x - 0.5).log().isnan(), 2)),
    "maskedFill": ([(5, 6)], lambda x: x.masked_fill(mask((6,), 2), -3)),
    "where": ([(5, 6), (5, 1)], lambda x, y: torch.where(mask((6,), 2), x, y)),
    "where number": ([(5, 6)], lambda x: torch.where(mask((5, 6), 2), x, torch.tensor(2.0, dtype=x.dtype))),
    "sin": tensor_of((3, 4), lambda x: (3 * x).sin()),
    "cos": tensor_of((3, 4), lambda x: (3 * x).cos()),
    "tan": tensor_of((3, 4), lambda x: x.tan()),
    "sign": tensor_of((3, 4), lambda x: x * x.sign()),
    "floor": tensor_of((3, 4), lambda x: x * (5 * x).floor()),
    "ceil": tensor_of((3, 4), lambda x: x * (5 * x).ceil()),
    "round": tensor_of((3, 4), lambda x: x * (5 * x).round()),
    "square": tensor_of((3, 4), lambda x: x.square()),
    "reciprocal": tensor_of((3, 4), lambda x: (x + 2).reciprocal()),
    "rsqrt": tensor_of((3, 4), lambda x: (x + 2).rsqrt()),
    "log1p": tensor_of((3, 4), lambda x: (x * 0.5).log1p()),
    "log2": tensor_of((3, 4), lambda x: (x + 2).log2()),
    "log10": tensor_of((3, 4), lambda x: (x + 2).log10()),
    "clamp": tensor_of((5, 6), lambda x: x.clamp(-0.5, 0.25)),
    "clamp below": tensor_of((5, 6), lambda x: x.clamp(min=0.1)),
    "clamp tensors": ([(5, 6), (6,)], lambda x, y: x.clamp(max=y)),
    "lerp": ([(3, 4), (3, 4)], lambda x, y: x.lerp(y, 0.3)),
    "casts": tensor_of((3, 4), lambda x: x * (5 * x).long().double() + x * (3 * x).int().bool()),
    "max": tensor_of((3, 4), lambda x: x.max()),
    "max of a dimension": tensor_of((3, 4, 5), lambda x: both(x.max(1))),
    "min of a dimension, kept": tensor_of((3, 4, 5), lambda x: both(x.min(-1, True))),
    "argmax": tensor_of((3, 4), lambda x: x * (1 + x.argmax())),
    "argmax of a dimension": tensor_of((3, 4), lambda x: x * (1 + x.argmax(0))),
    "argmin of a dimension, kept": tensor_of((3, 4), lambda x: x * (1 + x.argmin(1, True))),
    "topk": tensor_of((3, 7), lambda x: both(x.topk(3))),
    "topk, smallest": tensor_of((7, 3), lambda x: both(x.topk(4, 0, False))),
    "sort": tensor_of((3, 7), lambda x: both(x.sort())),
    "sort descending": tensor_of((7, 3), lambda x: both(x.sort(0, True))),
    "argsort": tensor_of((3, 7), lambda x: x * x.argsort()),
    "cumsum": tensor_of((3, 4, 5), lambda x: x.cumsum(1)),
    "var": tensor_of((3, 4), lambda x: x.var()),
    "var of axes": tensor_of((3, 4, 5), lambda x: x.var((0, -1), unbiased=False)),
    # var([]) has the same value, but torch 1.13 divides its gradient by 0.
    "var of no axes": tensor_of((3, 4), lambda x: x.var()),
    "norm of no axes": tensor_of((3, 4), lambda x: torch.linalg.vector_norm(x, 2, ())),
    "std": tensor_of((3, 4, 5), lambda x: x.std((1,), keepdim=True)),
    "norm": tensor_of((3, 4), lambda x: x.norm()),
    "norm 1": tensor_of((3, 4), lambda x: torch.linalg.vector_norm(x, 1, 0)),
    "norm 3": tensor_of((3, 4), lambda x: torch.linalg.vector_norm(x, 3, 1, keepdim=True)),
    "norm infinity": tensor_of((3, 4), lambda x: torch.linalg.vector_norm(x, float("inf"), 1)),
    "norm -infinity": tensor_of((3, 4), lambda x: torch.linalg.vector_norm(x, -float("inf"), 1)),
    "norm of zeros": tensor_of((3, 4), lambda x: (x * 0).norm() + x.sum()),
    "logsumexp": tensor_of((3, 4), lambda x: (50 * x).logsumexp(1)),
    "logsumexp kept": tensor_of((3, 4), lambda x: x.logsumexp((0, 1), True)),
    "all": tensor_of((3, 4), lambda x: x * fill_coarse((3, 4), 2).all(0)),
    "any": tensor_of((3, 4), lambda x: x * mask((3, 4), 2).any(1, True)),
    "squeeze": tensor_of((1, 3, 1, 4), lambda x: x.squeeze()),
    "squeeze a dimension": tensor_of((1, 3, 1, 4), lambda x: x.squeeze(2).squeeze(1)),
    "expand": tensor_of((3, 1), lambda x: x.expand(2, -1, 4)),
    "expandAs": ([(3, 1), (3, 4)], lambda x, y: x.expand_as(y) * y),
    "repeat": tensor_of((2, 3), lambda x: x.repeat(2, 1, 3)),
    "unflatten": tensor_of((2, 6), lambda x: x.unflatten(1, (2, -1))),
    "movedim": tensor_of((2, 3, 4), lambda x: x.movedim(0, -1)),
    "t": tensor_of((2, 3), lambda x: x.t()),
    "tril": tensor_of((2, 3, 5), lambda x: x.tril(1)),
    "triu": tensor_of((4, 3), lambda x: x.triu(-1)),
    "einsum product": ([(3, 4), (4, 5)], lambda x, y: torch.einsum("ij,jk->ik", x, y)),
    "einsum implicit": ([(3, 4), (4, 5)], lambda x, y: torch.einsum("bj,ja", x, y)),
    "einsum of matrices": ([(2, 3, 4), (2, 5, 4)], lambda x, y: torch.einsum("bij,bkj->bki", x, y)),
    "einsum dots": ([(2, 1, 3, 4), (5, 4, 2)], lambda x, y: torch.einsum("...ij,...jk->...ik", x, y)),
    "einsum diagonal": tensor_of((2, 3, 3), lambda x: torch.einsum("bii->bi", x)),
    "einsum trace": tensor_of((3, 3), lambda x: torch.einsum("ii->", x)),
    "einsum outer": ([(3,), (4,)], lambda x, y: torch.einsum("i,j->ji", x, y)),
    "einsum sums": tensor_of((2, 3, 4), lambda x: torch.einsum("ijk->kj", x)),
    "einsum of three": ([(2, 3), (3, 4), (2, 4)], lambda x, y, z: torch.einsum("ij,jk,ik->i", x, y, z)),
    "einsum bilinear": ([(5, 3), (2, 3, 4), (5, 4)], lambda x, y, z: torch.einsum("bn,anm,bm->ba", x, y, z)),
    "matmul of attention": ([(2, 2, 3, 4), (2, 2, 3, 4)], lambda x, y: (x @ y.transpose(-2, -1)).tril().softmax(-1)),
}


def probability(x):
    return torch.sigmoid(3 * x)


def signs(shape, seed):
    return torch.where(fill(shape, seed) > 0, 1.0, -1.0).double()


def two(function):
    return ([(4, 5), (4, 5)], function)


def losses(name, function, cases):
    """The function under each reduction, with options."""
    table = {}
    for what, (options, make) in cases.items():
        for reduction in ["mean", "sum", "none"]:
            call = lambda *x, o=options, r=reduction: function(*x, reduction=r, **o)
            table[f"{name}{what}, {reduction}"] = make(call)
    return table


LOSSES = {
    **losses("l1Loss", F.l1_loss, {"": ({}, two)}),
    **losses("smoothL1Loss", F.smooth_l1_loss, {"": ({}, two), " beta": ({"beta": 0.3}, two), " no beta": ({"beta": 0.0}, two)}),
    **losses("huberLoss", F.huber_loss, {"": ({}, two), " delta": ({"delta": 0.3}, two)}),
    **losses(
        "binaryCrossEntropy",
        F.binary_cross_entropy,
        {
            "": ({}, lambda call: two(lambda x, t: call(probability(x), probability(t.detach())) + 0 * t.sum())),
            " weighted": (
                {"weight": fill((5,), 9).double() + 1.5},
                lambda call: two(lambda x, t: call(probability(x), probability(t.detach())) + 0 * t.sum()),
            ),
        },
    ),
    **losses(
        "klDiv",
        F.kl_div,
        {
            "": ({}, lambda call: two(lambda x, t: call(x.log_softmax(1), t.softmax(1)))),
            " log": ({"log_target": True}, lambda call: two(lambda x, t: call(x.log_softmax(1), t.log_softmax(1)))),
        },
    ),
    "klDiv, batchmean": two(lambda x, t: F.kl_div(x.log_softmax(1), t.softmax(1), reduction="batchmean")),
    "klDiv of zeros": ([(4, 5)], lambda x: F.kl_div(x.log_softmax(1), (fill_coarse((4, 5), 3) > 0).double())),
    **losses(
        "poissonNllLoss",
        F.poisson_nll_loss,
        {
            "": ({}, lambda call: ([(4, 5)], lambda x: call(x, (3 * fill((4, 5), 5)).abs().double()))),
            " of rates, full": (
                {"log_input": False, "full": True},
                lambda call: ([(4, 5)], lambda x: call(x + 1.5, (3 * fill((4, 5), 5)).abs().double())),
            ),
        },
    ),
    **losses(
        "gaussianNllLoss",
        F.gaussian_nll_loss,
        {
            "": ({}, lambda call: ([(4, 5), (4, 5), (4, 5)], lambda x, t, v: call(x, t, v + 1.5))),
            " full, small variance": (
                {"full": True, "eps": 1.5},
                lambda call: ([(4, 5), (4, 5), (4, 5)], lambda x, t, v: call(x, t, v + 1.5)),
            ),
        },
    ),
    **losses(
        "cosineEmbeddingLoss",
        F.cosine_embedding_loss,
        {
            "": ({}, lambda call: two(lambda x, y: call(x, y, signs((4,), 3)))),
            " margin": ({"margin": -0.5}, lambda call: two(lambda x, y: call(x, y, signs((4,), 3)))),
        },
    ),
    **losses(
        "tripletMarginLoss",
        F.triplet_margin_loss,
        {
            "": ({}, lambda call: ([(4, 5), (4, 5), (4, 5)], call)),
            " swapped": ({"margin": 2.0, "p": 1.5, "swap": True}, lambda call: ([(4, 5), (4, 5), (4, 5)], call)),
        },
    ),
    **losses(
        "marginRankingLoss",
        F.margin_ranking_loss,
        {"": ({"margin": 0.25}, lambda call: two(lambda x, y: call(x, y, signs((4, 5), 3))))},
    ),
    **losses(
        "hingeEmbeddingLoss",
        F.hinge_embedding_loss,
        {"": ({"margin": 0.5}, lambda call: ([(4, 5)], lambda x: call(x, signs((4, 5), 3))))},
    ),
    **losses("softMarginLoss", F.soft_margin_loss, {"": ({}, lambda call: ([(4, 5)], lambda x: call(9 * x, signs((4, 5), 3))))}),
    "cosineSimilarity": two(F.cosine_similarity),
    "cosineSimilarity of rows": ([(2, 3, 4), (3, 4)], lambda x, y: F.cosine_similarity(x, y, dim=-1)),
    "pairwiseDistance": two(lambda x, y: F.pairwise_distance(x, y, p=3.0, keepdim=True)),
}

ACTIVATIONS = {
    "elu": lambda x: F.elu(4 * x, 0.7),
    "selu": lambda x: F.selu(4 * x),
    "celu": lambda x: F.celu(4 * x, 0.7),
    "hardtanh": lambda x: F.hardtanh(4 * x, -1.5, 2),
    "relu6": lambda x: F.relu6(9 * x),
    "hardsigmoid": lambda x: F.hardsigmoid(5 * x),
    "hardswish": lambda x: F.hardswish(5 * x),
    "softplus": lambda x: F.softplus(9 * x, 2, 10),
    "softsign": lambda x: F.softsign(4 * x),
    "logsigmoid": lambda x: F.logsigmoid(9 * x),
    "mish": lambda x: F.mish(4 * x),
    "tanhshrink": lambda x: F.tanhshrink(4 * x),
    "softshrink": F.softshrink,
    "hardshrink": lambda x: F.hardshrink(x, 0.25),
    "threshold": lambda x: F.threshold(x, 0.1, -0.5),
    "glu": lambda x: F.glu(x, 1),
}

fixture = {
    "tensors": list(operator_cases(TENSORS, fill)),
    "losses": list(operator_cases(LOSSES, fill)),
    "activations": list(
        operator_cases(
            {
                **{name: ([(3, 6)], function) for name, function in ACTIVATIONS.items()},
                "prelu": ([(2, 3, 4), (3,)], F.prelu),
                "prelu of one weight": ([(2, 3), (1,)], F.prelu),
            },
            fill,
        )
    ),
}
print(json.dumps(fixture, separators=(",", ":")))
