# Writes values of functions at their bounds: limits, eps, ties, and sizes that a factor keeps. Run:
#
#   python test/golden/bounds.py > test/golden/bounds.json
#
# with PyTorch 2.15, whose gradient of clamp at a limit is 0.

import json

import torch
import torch.nn.functional as F

from common import fill_coarse, operator_cases


def part(x, start, end):
    """x with rows from start to end only, so that others are 0."""
    return torch.cat([x[start:end], x[:1] * 0])


CASES = {
    **{
        f"cosineSimilarity {name}": (shapes, function)
        for name, shapes, function in [
            ("of rows", [(4, 5), (4, 5)], lambda x, y: F.cosine_similarity(x, y)),
            ("of columns", [(4, 5), (4, 5)], lambda x, y: F.cosine_similarity(x, y, 0)),
            ("of short vectors", [(4, 5), (4, 5)], lambda x, y: F.cosine_similarity(x * 1e-5, y * 1e-5)),
            ("of long vectors", [(4, 5), (4, 5)], lambda x, y: F.cosine_similarity(x * 1e15, y * 1e15)),
            ("of a zero", [(4, 5), (5, 5)], lambda x, y: F.cosine_similarity(part(x, 0, 4), y, eps=0.25)),
            ("below eps", [(4, 5), (4, 5)], lambda x, y: F.cosine_similarity(x, y, eps=1.75)),
            ("broadcast", [(2, 5)], lambda y: F.cosine_similarity(fill_coarse((2, 1), 3).double() + 2.5, y)),
            ("broadcast, first", [(3, 1), (3, 5)], lambda x, y: F.cosine_similarity(x + torch.tensor([[0.0], [1.0], [3.0]]), y, 0)),
            ("of other ranks", [(2, 1, 3), (4, 1)], lambda x, y: F.cosine_similarity(x, y, 2)),
            ("with one vector", [(4, 5), (5,)], lambda x, y: F.cosine_similarity(x, y)),
        ]
    },
    **{
        f"maxPool{axes}d {kernel},{stride},{padding},{dilation}": (
            [shape],
            lambda x, f=function, w=(kernel, stride, padding, dilation): f(x, *w, ceil_mode=True),
        )
        for axes, shape, function in [
            (1, (2, 2, 11), F.max_pool1d),
            (2, (1, 2, 7, 6), F.max_pool2d),
            (3, (1, 1, 5, 6, 5), F.max_pool3d),
        ]
        for kernel, stride, padding, dilation in [
            (2, 2, 1, 2),
            (2, 3, 0, 2),
            (2, 3, 1, 3),
            (2, 1, 1, 3),
            (3, 3, 1, 2),
        ]
    },
    **{
        f"interpolate {mode} {factor}": (
            [shape],
            lambda x, m=mode, s=factor: F.interpolate(x, scale_factor=s, mode=m),
        )
        for mode, shape, factor in [
            ("nearest", (1, 2, 7), 1.1),
            ("nearest", (1, 2, 7, 6), 1.05),
            ("nearest", (1, 1, 5, 4, 3), (1.15, 2.0, 1.2)),
            ("nearest-exact", (1, 2, 7, 6), 1.1),
            ("linear", (1, 2, 7), 1.1),
            ("bilinear", (1, 2, 7, 6), 1.05),
            ("bilinear", (1, 2, 7, 6), (1.05, 1.5)),
            ("bicubic", (1, 2, 7, 6), 1.05),
            ("bicubic", (1, 2, 7, 6), (1.05, 1.5)),
            ("trilinear", (1, 1, 5, 4, 3), (1.15, 2.0, 1.2)),
            ("area", (1, 2, 7, 6), 1.05),
        ]
    },
    "clamp": ([(12,)], lambda x: (2 * x).clamp(-2, 1.5)),
    "clamp min": ([(12,)], lambda x: x.clamp(min=-1)),
    "clamp max": ([(12,)], lambda x: x.clamp(max=1)),
    "clamp, min above max": ([(12,)], lambda x: x.clamp(1, 0)),
    "clamp to tensors": ([(12,), (12,), (12,)], lambda x, y, z: (2 * x).clamp(y - 1, z + 1)),
    "clamp to equal tensors": ([(12,), (12,)], lambda x, y: (2 * x).clamp(y, y)),
    "clamp to a tensor": ([(12,), (12,)], lambda x, y: x.clamp(min=y)),
    "hardswish": ([(12,)], lambda x: F.hardswish(3 * x)),
    "hardsigmoid": ([(12,)], lambda x: F.hardsigmoid(3 * x)),
    "hardtanh": ([(12,)], F.hardtanh),
    "relu6": ([(12,)], lambda x: F.relu6(3 * x + 3)),
    "elu": ([(12,)], lambda x: F.elu(x, 2)),
    "selu": ([(12,)], F.selu),
    "celu": ([(12,)], lambda x: F.celu(x, 2)),
    "softplus": ([(12,)], lambda x: F.softplus(x, beta=2, threshold=2)),
    "softshrink": ([(12,)], lambda x: F.softshrink(x, 1)),
    "hardshrink": ([(12,)], lambda x: F.hardshrink(x, 1)),
    "threshold": ([(12,)], lambda x: F.threshold(x, 0, 5)),
    "leakyRelu": ([(12,)], F.leaky_relu),
    "logit": ([(12,)], lambda x: (x / 4 + 0.5).logit(0.25)),
    "expm1": ([(12,)], torch.expm1),
    "smoothL1Loss": ([(12,), (12,)], lambda x, y: F.smooth_l1_loss(x, y, reduction="none")),
    "huberLoss": ([(12,), (12,)], lambda x, y: F.huber_loss(x, y, reduction="none")),
    "hingeEmbeddingLoss": ([(12,)], lambda x: F.hinge_embedding_loss(x, x.detach().sign() + (x == 0), reduction="none")),
    "marginRankingLoss": ([(12,), (12,)], lambda x, y: F.margin_ranking_loss(x, y, y * 0 + 1, reduction="none")),
    "cdist of the largest": ([(3, 4), (2, 4)], lambda x, y: torch.cdist(x, y, torch.inf)),
    "xlogy": ([(12,), (12,)], lambda x, y: torch.xlogy(x, y + 2)),
    "pad circular": ([(1, 2, 7)], lambda x: F.pad(x, (-1, 2), "circular")),
    "pad reflect": ([(1, 2, 7)], lambda x: F.pad(x, (2, -1), "reflect")),
    "normalize": ([(4, 5)], lambda x: F.normalize(part(x, 0, 3), eps=2)),
}

print(json.dumps(list(operator_cases(CASES, fill_coarse)), separators=(",", ":")))
