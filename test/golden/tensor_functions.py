# PyTorch's results for packages/nn/test/tensor/tensor-functions-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/tensor_functions.py > test/golden/tensor_functions.json
#
# In double precision, as operators.py. Integers and conditions are results as factors of an input.

import json
import math

import torch
import torch.nn.functional as F

from common import fill, fill_classes, fill_coarse, operator_cases

INTEGERS = fill_classes(12, 7, 1).reshape(3, 4) - 3


def of(shape, function):
    """A function of an input of this shape alone."""
    return ([shape], function)


def both(pair):
    """Values, and positions as factors."""
    values, indices = pair
    return values * (1 + indices)


def holes(x):
    """NaN at some elements, with no gradient there."""
    return torch.where(fill_coarse(x.shape, 3) == 1, torch.tensor(math.nan, dtype=torch.double), x)


def special(x):
    """NaN and infinities at some elements."""
    coarse = fill_coarse(x.shape, 3)
    return torch.where(coarse == 1, math.inf, torch.where(coarse == 0, x, -math.inf))


def channel_shuffle(x, groups):
    """torch.nn.ChannelShuffle, which has no gradient in this version; the order is checked against it."""
    shuffled = x.unflatten(1, (groups, x.shape[1] // groups)).transpose(1, 2).flatten(1, 2)
    assert shuffled.unsqueeze(3).equal(torch.nn.ChannelShuffle(groups)(x.detach().unsqueeze(3)))
    return shuffled


# Name: shapes of the inputs, function. The same names and functions are in tensor-functions-golden.test.ts.
FUNCTIONS = {
    "asin": of((3, 5), lambda x: (0.9 * x).asin()),
    "acos": of((3, 5), lambda x: (0.9 * x).acos()),
    "atan": of((3, 5), lambda x: (3 * x).atan()),
    "sinh": of((3, 5), lambda x: (3 * x).sinh()),
    "cosh": of((3, 5), lambda x: (3 * x).cosh()),
    "asinh": of((3, 5), lambda x: (3 * x).asinh()),
    "acosh": of((3, 5), lambda x: (x + 2.5).acosh()),
    "atanh": of((3, 5), lambda x: (0.9 * x).atanh()),
    "trunc": of((3, 5), lambda x: x * (4 * x).trunc()),
    "frac": of((3, 5), lambda x: (4 * x).frac()),
    "remainder": ([(3, 5), (5,)], lambda x, y: (4 * x).remainder(y)),
    "remainder of a number": of((3, 5), lambda x: (4 * x).remainder(0.75)),
    "remainder of integers": of((3, 4), lambda x: x * INTEGERS.remainder(2) + INTEGERS.remainder(-3)),
    "fmod": ([(3, 5), (5,)], lambda x, y: (4 * x).fmod(y)),
    "fmod of integers": of((3, 4), lambda x: x * INTEGERS.fmod(2)),
    "floorDivide": of((3, 5), lambda x: x * (4 * x.detach()).floor_divide(0.75)),
    "floorDivide of integers": of((3, 4), lambda x: x * INTEGERS.floor_divide(2) + INTEGERS.floor_divide(-2)),
    "exp2": of((3, 5), lambda x: (3 * x).exp2()),
    "expm1": of((3, 5), lambda x: (4 * x).expm1()),
    "expm1 of small": of((3, 5), lambda x: 1e4 * (1e-5 * x).expm1()),
    "logit": of((3, 5), lambda x: (0.4 * x + 0.5).logit()),
    "logit with eps": of((3, 5), lambda x: (0.6 * x + 0.5).logit(0.125)),
    "logaddexp": ([(3, 5), (5,)], lambda x, y: (90 * x).logaddexp(90 * y)),
    "xlogy": ([(3, 5), (5,)], lambda x, y: (x * (fill_coarse((3, 5), 3) == 1)).xlogy(y + 2)),
    "nanToNum": of((3, 5), lambda x: holes(x).nan_to_num(0.5)),
    "nanToNum of infinities": of((3, 5), lambda x: special(x).nan_to_num(0, 3.5, -2.5)),
    "isinf": of((3, 5), lambda x: x * special(x).isinf()),
    "isfinite": of((3, 5), lambda x: x * special(x).isfinite()),
    "isclose": of((3, 5), lambda x: x * special(x).isclose(special(x * 1.2), 0.1, 0.05)),
    "prod": of((2, 5), lambda x: x.prod()),
    "prod of a dimension": of((3, 5, 2), lambda x: x.prod(1)),
    "prod with a zero": of((3, 7), lambda x: (x * (fill_coarse((3, 7), 3) != 1)).prod(1, True)),
    "kthvalue": of((3, 7), lambda x: both(x.kthvalue(3))),
    "kthvalue, kept": of((7, 3), lambda x: both(x.kthvalue(7, 0, True))),
    "median": of((3, 4), lambda x: x.median() * x),
    "median of a dimension": of((3, 7), lambda x: both(x.median(1))),
    "nansum": of((3, 5), lambda x: holes(x).nansum((1,))),
    "nanmean": of((3, 5), lambda x: holes(x).nanmean(0, True)),
    "countNonzero": of((3, 5), lambda x: x * fill_coarse((3, 5), 3).count_nonzero(0)),
    "dist": ([(3, 5), (3, 5)], lambda x, y: x.dist(y)),
    "dist 3": ([(3, 5), (5,)], lambda x, y: x.dist(y, 3)),
    "diff": of((3, 5), lambda x: x.diff()),
    "diff twice": of((5, 3), lambda x: x.diff(2, 0)),
    "viewAs": ([(2, 6), (3, 4)], lambda x, y: x.view_as(y) * y),
    "ravel": of((2, 3), lambda x: x.ravel()),
    "tile": of((2, 3), lambda x: x.tile(2)),
    "tile more": of((2, 3), lambda x: x.tile((2, 1, 2))),
    "repeatInterleave": of((2, 3), lambda x: x.repeat_interleave(2)),
    "repeatInterleave of a dimension": of((2, 3, 2), lambda x: x.repeat_interleave(3, 1)),
    "unfold": of((7, 3), lambda x: x.unfold(0, 3, 2)),
    "unfold of the last": of((2, 7), lambda x: x.unfold(-1, 4, 1)),
    "mm": ([(2, 3), (3, 4)], lambda x, y: x.mm(y)),
    "bmm": ([(3, 2, 3), (3, 3, 4)], lambda x, y: x.bmm(y)),
    "mv": ([(2, 3), (3,)], lambda x, y: x.mv(y)),
    "dot": ([(3,), (3,)], lambda x, y: x.dot(y)),
    "outer": ([(3,), (4,)], lambda x, y: x.outer(y)),
    "addmm": ([(4,), (2, 3), (3, 4)], lambda x, y, z: torch.addmm(x, y, z, beta=0.5, alpha=2)),
    "baddbmm": ([(1, 2, 4), (3, 2, 3), (3, 3, 4)], lambda x, y, z: torch.baddbmm(x, y, z, alpha=2)),
    "mT": of((2, 3, 4), lambda x: x.mT),
    "diagonal": of((3, 4), lambda x: x.diagonal()),
    "diagonal above": of((3, 5, 4), lambda x: x.diagonal(1, 1, 2)),
    "diagonal below": of((4, 5, 3), lambda x: x.diagonal(-2, -1, 0)),
    "diag of a matrix": of((4, 3), lambda x: x.diag(-1)),
    "diag of a vector": of((3,), lambda x: x.diag()),
    "diag above": of((3,), lambda x: x.diag(2)),
    "diag below": of((3,), lambda x: x.diag(-1)),
    "trace": of((3, 4), lambda x: x.trace()),
    "normalize": of((3, 4), lambda x: F.normalize(x)),
    "normalize 1": of((3, 4, 2), lambda x: F.normalize(x, 1, -1)),
    "oneHot": of((3, 4, 7), lambda x: x * F.one_hot((INTEGERS + 3) % 7, 7)),
    "softmin": of((3, 4), lambda x: F.softmin(x, 1)),
    "bilinear": ([(5, 3), (5, 4), (2, 3, 4), (2,)], F.bilinear),
    "channelShuffle": of((2, 6, 3), lambda x: channel_shuffle(x, 3)),
    "localResponseNorm": of((2, 7, 3), lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 2)),
    "localResponseNorm, even": of((2, 7, 3, 2), lambda x: F.local_response_norm(x, 4, 0.5)),
    "multiMarginLoss": of((4, 5), lambda x: F.multi_margin_loss(x, fill_classes(4, 5, 2))),
    "multiMarginLoss, squares": of(
        (4, 5), lambda x: F.multi_margin_loss(x, fill_classes(4, 5, 2), 2, 0.5, fill((5,), 7).double() + 2, reduction="sum")
    ),
    "multilabelSoftMarginLoss": of((4, 5), lambda x: F.multilabel_soft_margin_loss(x, (fill_coarse((4, 5), 3) > 0).double())),
    "tripletMarginWithDistanceLoss": (
        [(4, 5), (4, 5), (4, 5)],
        lambda x, y, z: F.triplet_margin_with_distance_loss(
            x, y, z, distance_function=lambda a, b: (a - b).abs().sum(1), margin=0.5, swap=True
        ),
    ),
    "cdist": ([(2, 3, 4), (2, 5, 4)], lambda x, y: torch.cdist(x, y)),
    "cdist 1": ([(3, 4), (5, 4)], lambda x, y: torch.cdist(x, y, 1)),
    "affineGrid": of((2, 2, 3), lambda x: F.affine_grid(x, (2, 1, 3, 4), align_corners=False)),
    "affineGrid, corners": of((2, 2, 3), lambda x: F.affine_grid(x, (2, 1, 3, 4), align_corners=True)),
    "gridSample": ([(2, 3, 4, 5), (2, 3, 2, 2)], lambda x, y: F.grid_sample(x, 1.3 * y, align_corners=False)),
    "gridSample, border": (
        [(2, 3, 4, 5), (2, 3, 2, 2)],
        lambda x, y: F.grid_sample(x, 1.3 * y, padding_mode="border", align_corners=True),
    ),
    "gridSample, reflection": (
        [(2, 3, 4, 5), (2, 3, 2, 2)],
        lambda x, y: F.grid_sample(x, 3.1 * y, padding_mode="reflection", align_corners=False),
    ),
    "gridSample, reflection, corners": (
        [(2, 3, 4, 5), (2, 3, 2, 2)],
        lambda x, y: F.grid_sample(x, 3.1 * y, padding_mode="reflection", align_corners=True),
    ),
    "gridSample, nearest": (
        [(2, 3, 4, 5), (2, 3, 2, 2)],
        lambda x, y: F.grid_sample(x, 1.3 * y, mode="nearest", align_corners=True) + 0 * y.sum(),
    ),
}

print(json.dumps(list(operator_cases(FUNCTIONS, fill)), separators=(",", ":")))
