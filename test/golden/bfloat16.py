# Dtypes that torch gives the results of operations on bfloat16: python test/golden/bfloat16.py > test/golden/bfloat16.json
# "error" where torch rejects the operands. packages/nn/test/ops/bfloat16-operations.test.ts has the same operations.

import json

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x, y = (torch.rand(4, 6, dtype=torch.bfloat16) * 0.8 + 0.1 for _ in range(2))
wide = torch.rand(4, 6)
row, wide_row = torch.rand(6, dtype=torch.bfloat16), torch.rand(6)
one, wide_one = torch.tensor(0.3, dtype=torch.bfloat16), torch.tensor(0.3)
integers = torch.arange(24).view(4, 6)
classes = torch.tensor([0, 5, 2, 3])
matrix, wide_matrix = torch.rand(6, 5, dtype=torch.bfloat16), torch.rand(6, 5)
images, wide_images = torch.rand(2, 4, 6, 6, dtype=torch.bfloat16), torch.rand(2, 4, 6, 6)
kernel, wide_kernel = torch.rand(3, 4, 3, 3, dtype=torch.bfloat16), torch.rand(3, 4, 3, 3)
channels, wide_channels = torch.rand(4, dtype=torch.bfloat16), torch.rand(4)
sequence = torch.rand(2, 4, 6, dtype=torch.bfloat16)

operations = {
    "add": lambda: x + y,
    "add float32": lambda: x + wide,
    "sub from float32": lambda: wide - x,
    "mul row": lambda: x * row,
    "mul float32 row": lambda: x * wide_row,
    "mul number": lambda: x * 2.7,
    "mul integer": lambda: x * 3,
    "mul int64": lambda: x * integers,
    "mul scalar tensor": lambda: x * wide_one,
    "mul two scalar tensors": lambda: one * wide_one,
    "scalar tensor by number": lambda: one * 2.7,
    "int64 by scalar tensor": lambda: integers * one,
    "float32 by scalar tensor": lambda: wide * one,
    "div": lambda: x / y,
    "div number": lambda: 1 / x,
    "maximum": lambda: torch.maximum(x, y),
    "minimum float32": lambda: torch.minimum(x, wide),
    "pow 2": lambda: x**2,
    "pow 3": lambda: x**3,
    "pow -0.5": lambda: x**-0.5,
    "remainder": lambda: torch.remainder(x, y),
    "fmod number": lambda: torch.fmod(x, 0.3),
    "floorDivide": lambda: torch.floor_divide(x, y),
    "greater": lambda: x > y,
    "less than number": lambda: x < 0.5,
    "equal": lambda: x == wide,
    "where": lambda: torch.where(x > y, x, y),
    "where float32": lambda: torch.where(x > y, x, wide),
    "where number": lambda: torch.where(x > y, x, 0.3),
    "neg": lambda: -x,
    "abs": lambda: x.abs(),
    "sign": lambda: x.sign(),
    "floor": lambda: (x * 8).floor(),
    "exp": lambda: x.exp(),
    "expm1": lambda: x.expm1(),
    "log": lambda: x.log(),
    "log1p": lambda: x.log1p(),
    "log2": lambda: x.log2(),
    "sqrt": lambda: x.sqrt(),
    "rsqrt": lambda: x.rsqrt(),
    "reciprocal": lambda: x.reciprocal(),
    "sin": lambda: x.sin(),
    "atan": lambda: x.atan(),
    "tanh": lambda: x.tanh(),
    "erf": lambda: x.erf(),
    "sigmoid": lambda: x.sigmoid(),
    "clamp": lambda: x.clamp(0.2, 0.6),
    "lerp": lambda: x.lerp(y, 0.3),
    "isnan": lambda: x.isnan(),
    "relu": lambda: x.relu(),
    "leakyRelu": lambda: F.leaky_relu(x, 0.1),
    "gelu": lambda: F.gelu(x),
    "gelu tanh": lambda: F.gelu(x, approximate="tanh"),
    "silu": lambda: F.silu(x),
    "mish": lambda: F.mish(x),
    "elu": lambda: F.elu(x),
    "softplus": lambda: F.softplus(x, beta=2),
    "hardswish": lambda: F.hardswish(x),
    "glu": lambda: F.glu(x),
    "sum": lambda: x.sum(),
    "sum of rows": lambda: x.sum(1),
    "mean": lambda: x.mean(0),
    "amax": lambda: x.amax(1),
    "amin": lambda: x.amin(),
    "max along": lambda: x.max(1).values,
    "argmax": lambda: x.argmax(1),
    "prod": lambda: x.prod(1),
    "cumsum": lambda: x.cumsum(1),
    "var": lambda: x.var(1),
    "std": lambda: x.std(),
    "norm": lambda: torch.linalg.vector_norm(x, 2, 1),
    "logsumexp": lambda: x.logsumexp(1),
    "topk": lambda: x.topk(2).values,
    "softmax": lambda: x.softmax(1),
    "logSoftmax": lambda: x.log_softmax(1),
    "matmul": lambda: x @ matrix,
    "matmul float32": lambda: x @ wide_matrix,
    "linear": lambda: F.linear(x, matrix.T, torch.rand(5, dtype=torch.bfloat16)),
    "linear with float32 weight": lambda: F.linear(x, wide_matrix.T),
    "bmm": lambda: sequence @ sequence.mT,
    "einsum": lambda: torch.einsum("ij,jk->k", x, matrix),
    "outer": lambda: torch.outer(row, channels),
    "conv2d": lambda: F.conv2d(images, kernel, torch.rand(3, dtype=torch.bfloat16), padding=1),
    "conv2d with float32 weight": lambda: F.conv2d(images, wide_kernel),
    "convTranspose2d": lambda: F.conv_transpose2d(images, kernel.transpose(0, 1), stride=2),
    "maxPool2d": lambda: F.max_pool2d(images, 2),
    "maxPool2d that overlaps": lambda: F.max_pool2d(images, 3, stride=2, padding=1),
    "avgPool2d": lambda: F.avg_pool2d(images, 2),
    "adaptiveAvgPool2d": lambda: F.adaptive_avg_pool2d(images, 4),
    "interpolate": lambda: F.interpolate(images, scale_factor=2, mode="bilinear"),
    "batchNorm": lambda: F.batch_norm(images, None, None, channels, channels, training=True),
    "batchNorm with float32 weight": lambda: F.batch_norm(
        images, None, None, wide_channels, wide_channels, training=True
    ),
    "layerNorm": lambda: F.layer_norm(x, [6], row, row),
    "layerNorm with float32 weight": lambda: torch.nn.LayerNorm(6)(x),
    "groupNorm": lambda: F.group_norm(images, 2, channels, channels),
    "rmsNorm": lambda: F.rms_norm(x, [6], row),
    "mseLoss": lambda: F.mse_loss(x, y),
    "mseLoss float32": lambda: F.mse_loss(x, wide),
    "l1Loss": lambda: F.l1_loss(x, y, reduction="none"),
    "smoothL1Loss": lambda: F.smooth_l1_loss(x, y),
    "binaryCrossEntropyWithLogits": lambda: F.binary_cross_entropy_with_logits(x, y),
    "klDiv": lambda: F.kl_div(x, y, reduction="sum"),
    "crossEntropy": lambda: F.cross_entropy(x, classes),
    "crossEntropy smoothed": lambda: F.cross_entropy(x, classes, label_smoothing=0.1),
    "crossEntropy of probabilities": lambda: F.cross_entropy(x, y),
    "nllLoss": lambda: F.nll_loss(x, classes),
    "cosineSimilarity": lambda: F.cosine_similarity(x, y),
    "normalize": lambda: F.normalize(x),
    "attention": lambda: F.scaled_dot_product_attention(sequence, sequence, sequence, is_causal=True),
    "embedding": lambda: F.embedding(classes, torch.rand(6, 4, dtype=torch.bfloat16)),
    "gather": lambda: x.gather(1, torch.tensor([[0], [5], [2], [3]])),
    "indexSelect": lambda: x.index_select(1, torch.tensor([5, 0, 0])),
    "scatter": lambda: x.scatter(1, torch.tensor([[0], [5], [2], [3]]), y),
    "scatterAdd": lambda: x.scatter_add(1, torch.tensor([[0], [5], [2], [3]]), y),
    "at": lambda: x[1:3, [0, 5]],
    "maskedFill": lambda: x.masked_fill(x > y, 0.3),
    "view": lambda: x.view(6, 4),
    "permute": lambda: images.permute(3, 1, 0, 2),
    "expand": lambda: row.expand(3, 6),
    "cat": lambda: torch.cat([x, y], 1),
    "cat float32": lambda: torch.cat([x, wide], 1),
    "stack": lambda: torch.stack([x, y]),
    "split": lambda: x.split(3, 1)[1],
    "flip": lambda: x.flip(1),
    "roll": lambda: x.roll(2, 1),
    "pad": lambda: F.pad(x, (1, 2), value=0.3),
    "tril": lambda: x.tril(),
    "diagonal": lambda: x.diagonal(),
    "unfold": lambda: x.unfold(1, 3, 2),
    "repeat": lambda: x.repeat(2, 1),
    "long": lambda: (x * 8).long(),
    "float": lambda: x.float(),
}


def dtype_of(operation):
    try:
        return str(operation().dtype).removeprefix("torch.")
    except RuntimeError:
        return "error"


print(json.dumps({name: dtype_of(operation) for name, operation in operations.items()}, indent=2))
