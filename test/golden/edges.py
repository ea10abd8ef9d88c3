# PyTorch's results for packages/nn/test/ops/edges-golden.test.ts. Generated with torch 2.15.0 (PyPI):
#
#   python3 test/golden/edges.py > test/golden/edges.json
#
# Values and gradients, in float32, where functions meet infinities, 0/0 and ∞ − ∞: at the ends of their domains, at NaN and
# infinities, and of numbers so large or small that float32 is saturated. The loss is the sum of the output · 1, 1.5, 2, ….

import json
import math
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")

inf, nan = math.inf, math.nan

POINTS = [
    *(0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 1e-10, -1e-10, 1e-4, -1e-4),
    *(15.0, -15.0, 20.0, -20.0, 25.0, -25.0, 50.0, -50.0, 89.0, -89.0, 104.0, -104.0, 1e10, -1e10, 1e30, -1e30),
]
FEW = [0.0, -0.0, 1.0, -1.0, 2.0, inf, -inf, nan, 3e38]
PAIRS = ([a for a in FEW for _ in FEW], [b for _ in FEW for b in FEW])
FINITE = [0.0, -0.0, 1.0, -1.0, 2.0, nan]
FINITE_PAIRS = ([a for a in FINITE for _ in FINITE], [b for _ in FINITE for b in FINITE])
ROWS = [
    *([-inf, -inf, -inf], [inf, inf, 1.0], [nan, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]),
    *([0.0, 0.0, 2.0], [-inf, 1.0, inf], [-inf, 1.0, 2.0], [1e20, 1e20, -1e20], [3e38, 3e38, 3e38], [1e-25, 0.0, 0.0]),
]
# Without sums and squares that overflow float32, which torch computes otherwise.
MODEST_ROWS = ROWS[:9]
SATURATED = [1.0, 0.0, 1 - 2**-24, 1e-30, 0.5]
CHANCES = ([p for p in SATURATED for _ in range(3)], [t for _ in SATURATED for t in (0.0, 1.0, 0.25)])
LOGITS = [inf, 1000.0, -1000.0, 0.0, 20.0, -120.0]
LOGIT_TARGETS = ([x for x in LOGITS for _ in range(3)], [t for _ in LOGITS for t in (0.0, 1.0, 0.25)])
EQUAL = ([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1e20, 0.0, 0.0], [inf, 0.0, 0.0]], [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])

UNARY = {
    **{name: getattr(torch, name) for name in "exp log sqrt abs tanh sigmoid erf neg square reciprocal rsqrt".split()},
    **{name: getattr(torch, name) for name in "log1p log2 log10 exp2 expm1 logit sin cos tan asin acos atan".split()},
    **{name: getattr(torch, name) for name in "sinh cosh asinh acosh atanh frac relu".split()},
    **{name: getattr(F, name) for name in "silu mish softplus hardsigmoid".split()},
    **{name: getattr(F, name) for name in "softsign tanhshrink leaky_relu logsigmoid".split()},
    # In float32, vectors of torch have NaN at infinity.
    "gelu": lambda x: F.gelu(x.double()).float(),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus of beta 2": lambda x: F.softplus(x, 2, 10),
    "nan_to_num": lambda x: torch.nan_to_num(x),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.0])),
    **{f"pow {p}": lambda x, p=p: x.pow(p) for p in (0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, 0.3)},
}

BINARY = {
    **{name: getattr(torch, name) for name in "add sub mul div maximum minimum logaddexp".split()},
    "where": lambda a, b: torch.where(a > 0, a, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    **{f"{f.__name__}, {r}": lambda a, b, f=f, r=r: f(a, b, reduction=r) for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss) for r in ("none",)},
    "smooth_l1_loss of beta 0": lambda a, b: F.smooth_l1_loss(a, b, beta=0.0, reduction="none"),
    "kl_div": lambda a, b: F.kl_div(a, b.abs(), reduction="none"),
    "kl_div of logarithms": lambda a, b: F.kl_div(a, b, log_target=True, reduction="none"),
    "poisson_nll_loss": lambda a, b: F.poisson_nll_loss(a, b, reduction="none"),
    "poisson_nll_loss of rates": lambda a, b: F.poisson_nll_loss(a, b, log_input=False, full=True, reduction="none"),
}

FINITE_FUNCTIONS = {
    "xlogy": torch.xlogy,
    "gaussian_nll_loss": lambda a, b: F.gaussian_nll_loss(a, torch.ones_like(a), b.abs(), reduction="none"),
    "soft_margin_loss": lambda a, b: F.soft_margin_loss(a, b.detach().sign(), reduction="none"),
}

MODEST_ROW_FUNCTIONS = {
    "logsumexp": lambda x: x.logsumexp(1),
    **{f"norm {p}": lambda x, p=p: torch.linalg.vector_norm(x.nan_to_num(0, inf, -inf), p, 1) for p in (inf, -inf)},
    **{f"norm {p}": lambda x, p=p: torch.linalg.vector_norm(x, p, 1) for p in (0.5, -1)},
    "glu": lambda x: F.glu(x[:, :2], 1),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1),
    "std of all there is": lambda x: x.std(1, correction=0),
    "layer_norm": lambda x: F.layer_norm(x.double(), [3]).float(),
    "group_norm": lambda x: F.group_norm(x.double(), 1).float(),
}

ROW_FUNCTIONS = {
    "softmax": lambda x: F.softmax(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "softmin": lambda x: F.softmin(x, 1),
    **{f"norm {p}": lambda x, p=p: torch.linalg.vector_norm(x, p, 1) for p in (0, 1, 2, 3, 1.5)},
    "var of one": lambda x: x[:, :1].var(1),
    "std of one": lambda x: x[:, :1].std(1),
    "std of one, of all there is": lambda x: x[:, :1].std(1, correction=0),
    "prod": lambda x: x.prod(1),
    "cumsum": lambda x: x.cumsum(1),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "nansum": lambda x: x.nansum(1),
    "nanmean": lambda x: x.nanmean(1),
    **{f"normalize {p}": lambda x, p=p: F.normalize(x, p, 1) for p in (1, 2, inf)},
    "rms_norm": lambda x: F.rms_norm(x, [3], eps=1e-6),
    "batch_norm": lambda x: F.batch_norm(x[3:7].T.contiguous(), None, None, training=True),
    "local_response_norm": lambda x: F.local_response_norm(x.unsqueeze(2), 2),
    "diff": lambda x: x.diff(),
    "crossEntropy": lambda x: F.cross_entropy(x, torch.arange(12) % 3, reduction="none"),
    "crossEntropy, smoothed": lambda x: F.cross_entropy(x, torch.arange(12) % 3, reduction="none", label_smoothing=0.1),
    "crossEntropy of probabilities": lambda x: F.cross_entropy(x, torch.tensor([[1.0, 0.0, 0.0]]).expand(12, 3), reduction="none"),
    "crossEntropy of weights 0": lambda x: F.cross_entropy(x, torch.arange(12) % 3, torch.tensor([0.0, 1.0, 0.0]), reduction="none"),
    "crossEntropy of weights 0, mean": lambda x: F.cross_entropy(x[3:7], torch.zeros(4).long(), torch.tensor([0.0, 1.0, 0.0])),
    "crossEntropy, all ignored": lambda x: F.cross_entropy(x[3:7], torch.full([4], -100)),
    "crossEntropy, all ignored, sum": lambda x: F.cross_entropy(x[3:7], torch.full([4], -100), reduction="sum"),
    "crossEntropy of images, all ignored": lambda x: F.cross_entropy(x[3:7].unsqueeze(2), torch.full([4, 1], -100)),
    "nllLoss": lambda x: F.nll_loss(x, torch.arange(12) % 3, reduction="none"),
    "nllLoss, weighted, all ignored": lambda x: F.nll_loss(x[3:7], torch.full([4], -100), torch.tensor([0.0, 1.0, 0.0])),
    "nllLoss, all ignored": lambda x: F.nll_loss(x[3:7], torch.full([4], -100)),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, torch.arange(12) % 3, reduction="none"),
    "multilabel_soft_margin_loss": lambda x: F.multilabel_soft_margin_loss(x, torch.tensor([[1.0, 0.0, 1.0]]).expand(12, 3), reduction="none"),
}

CHANCE_FUNCTIONS = {
    "binary_cross_entropy": lambda p, t: F.binary_cross_entropy(p, t.detach(), reduction="none"),
    "binary_cross_entropy, mean": lambda p, t: F.binary_cross_entropy(p, t.detach()),
    "binary_cross_entropy, weighted": lambda p, t: F.binary_cross_entropy(p, t.detach(), (torch.arange(15) % 2).float(), reduction="none"),
}

LOGIT_FUNCTIONS = {
    "binary_cross_entropy of sigmoid": lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.detach(), reduction="none"),
    "binary_cross_entropy_with_logits": lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"),
    "binary_cross_entropy_with_logits, weighted": lambda x, t: F.binary_cross_entropy_with_logits(
        x, t, torch.zeros(18), pos_weight=torch.full([18], 2.0), reduction="none"
    ),
}

EQUAL_FUNCTIONS = {
    **{f"pairwise_distance {p}": lambda a, b, p=p: F.pairwise_distance(a, b, p) for p in (1, 2, inf, 0.5)},
    **{f"cdist {p}": lambda a, b, p=p: torch.cdist(a, b, p) for p in (0, 0.5, 1, 1.5, 2, 3)},
    "dist": lambda a, b: torch.dist(a[:2], b[:2]),
    "dist 1": lambda a, b: torch.dist(a[:2], b[:2], 1),
    "triplet_margin_loss": lambda a, b: F.triplet_margin_loss(a, b, b, reduction="none"),
    "cosine_embedding_loss": lambda a, b: F.cosine_embedding_loss(a[:3], b[:3], torch.tensor([1.0, -1.0, 1.0]), reduction="none"),
    "margin_ranking_loss": lambda a, b: F.margin_ranking_loss(a, b, torch.ones(5, 3), reduction="none"),
    "hinge_embedding_loss": lambda a, b: F.hinge_embedding_loss(a, torch.tensor([1.0, -1.0, 1.0]).expand(5, 3), reduction="none"),
}

# Vectors of torch have another gradient at NaN than its scalars.
NUMBERS = [point for point in POINTS if not math.isnan(point)]
PIECEWISE = {
    **{name: getattr(F, name) for name in "elu celu selu relu6 hardtanh".split()},
    "elu of alpha 0": lambda x: F.elu(x, 0.0),
}

GROUPS = [
    (UNARY, [POINTS]),
    (BINARY, PAIRS),
    (FINITE_FUNCTIONS, FINITE_PAIRS),
    (ROW_FUNCTIONS, [ROWS]),
    (MODEST_ROW_FUNCTIONS, [MODEST_ROWS]),
    (CHANCE_FUNCTIONS, CHANCES),
    (LOGIT_FUNCTIONS, LOGIT_TARGETS),
    (EQUAL_FUNCTIONS, EQUAL),
    (PIECEWISE, [NUMBERS]),
]


def written(tensor):
    """All elements: numbers, and as String() writes what is not finite."""
    names = {inf: "Infinity", -inf: "-Infinity"}
    return ["NaN" if x != x else names.get(x, float(f"{x:.9g}")) for x in tensor.detach().flatten().tolist()]


def case(name, function, lists):
    inputs = [torch.tensor(values).requires_grad_() for values in lists]
    output = function(*inputs)
    weights = torch.arange(output.numel()).view(output.shape) * 0.5 + 1
    (output * weights).sum().backward()
    return {
        "name": name,
        "output": {"shape": list(output.shape), "elements": written(output)},
        # A target has no gradient in some losses.
        "gradients": [None if x.grad is None else written(x.grad) for x in inputs],
    }


groups = [
    {
        "inputs": [{"shape": list(torch.tensor(values).shape), "elements": written(torch.tensor(values))} for values in lists],
        "cases": [case(name, function, lists) for name, function in functions.items()],
    }
    for functions, lists in GROUPS
]
print(json.dumps(groups, separators=(",", ":")))
