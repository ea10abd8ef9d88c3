# The dtypes of PyTorch's results inside autocast, for packages/nn/test/tensor/autocast-dtypes.test.ts. Generated with torch 2.15:
#
#   python3 test/golden/autocast.py > test/golden/autocast.json
#
# Names are those of F, of Tensor and of nn; the same names and calls are in autocast-dtypes.test.ts.

import json

import torch
import torch.nn.functional as F
from torch import nn


def x(*shape, dtype):
    return torch.linspace(0.1, 0.9, torch.Size(shape).numel()).reshape(shape).to(dtype)

def cases(d):
    t = lambda *shape: x(*shape, dtype=d)
    f = lambda *shape: x(*shape, dtype=torch.float32)
    c = torch.tensor([1, 0])
    sign = torch.tensor([1.0, -1.0]).to(d)
    return {
        'linear': lambda: F.linear(t(2, 3), f(4, 3), f(4)),
        'matmul': lambda: t(2, 3).matmul(t(3, 2)),
        'mm': lambda: t(2, 3).mm(t(3, 2)),
        'bmm': lambda: t(2, 2, 3).bmm(t(2, 3, 2)),
        'mv': lambda: t(2, 3).mv(t(3)),
        'dot': lambda: t(3).dot(t(3)),
        'outer': lambda: t(3).outer(t(3)),
        'addmm': lambda: t(2, 2).addmm(t(2, 3), t(3, 2)),
        'baddbmm': lambda: t(2, 2, 2).baddbmm(t(2, 2, 3), t(2, 3, 2)),
        'einsum': lambda: torch.einsum('ij,jk->ik', t(2, 3), t(3, 2)),
        'bilinear': lambda: F.bilinear(t(2, 3), t(2, 3), t(4, 3, 3), t(4)),
        'conv1d': lambda: F.conv1d(t(1, 2, 4), f(3, 2, 2)),
        'conv2d': lambda: F.conv2d(t(1, 2, 4, 4), f(3, 2, 2, 2)),
        'conv3d': lambda: F.conv3d(t(1, 2, 4, 4, 4), f(3, 2, 2, 2, 2)),
        'convTranspose1d': lambda: F.conv_transpose1d(t(1, 2, 4), f(2, 3, 2)),
        'convTranspose2d': lambda: F.conv_transpose2d(t(1, 2, 4, 4), f(2, 3, 2, 2)),
        'convTranspose3d': lambda: F.conv_transpose3d(t(1, 2, 4, 4, 4), f(2, 3, 2, 2, 2)),
        'scaledDotProductAttention': lambda: F.scaled_dot_product_attention(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
        'prelu': lambda: F.prelu(t(2, 3), f(3)),
        'relu': lambda: F.relu(t(2, 3)),
        'leakyRelu': lambda: F.leaky_relu(t(2, 3)),
        'gelu': lambda: F.gelu(t(2, 3)),
        'silu': lambda: F.silu(t(2, 3)),
        'glu': lambda: F.glu(t(2, 4)),
        'sigmoid': lambda: torch.sigmoid(t(2, 3)),
        'tanh': lambda: torch.tanh(t(2, 3)),
        'softmax': lambda: F.softmax(t(2, 3), 1),
        'softmin': lambda: F.softmin(t(2, 3), 1),
        'logSoftmax': lambda: F.log_softmax(t(2, 3), 1),
        'celu': lambda: F.celu(t(2, 3)),
        'elu': lambda: F.elu(t(2, 3)),
        'selu': lambda: F.selu(t(2, 3)),
        'hardshrink': lambda: F.hardshrink(t(2, 3)),
        'hardsigmoid': lambda: F.hardsigmoid(t(2, 3)),
        'hardswish': lambda: F.hardswish(t(2, 3)),
        'hardtanh': lambda: F.hardtanh(t(2, 3)),
        'logsigmoid': lambda: F.logsigmoid(t(2, 3)),
        'mish': lambda: F.mish(t(2, 3)),
        'relu6': lambda: F.relu6(t(2, 3)),
        'softplus': lambda: F.softplus(t(2, 3)),
        'softshrink': lambda: F.softshrink(t(2, 3)),
        'softsign': lambda: F.softsign(t(2, 3)),
        'tanhshrink': lambda: F.tanhshrink(t(2, 3)),
        'threshold': lambda: F.threshold(t(2, 3), 0.5, 0.1),
        'batchNorm': lambda: F.batch_norm(t(2, 3, 4), None, None, f(3), f(3), training=True),
        'layerNorm': lambda: F.layer_norm(t(2, 3), [3], f(3), f(3)),
        'rmsNorm': lambda: F.rms_norm(t(2, 3), [3], f(3)),
        'groupNorm': lambda: F.group_norm(t(2, 4, 3), 2, f(4), f(4)),
        'instanceNorm': lambda: F.instance_norm(t(2, 3, 4)),
        'localResponseNorm': lambda: F.local_response_norm(t(1, 3, 4), 2),
        'normalize': lambda: F.normalize(t(2, 3)),
        'dropout': lambda: F.dropout(t(2, 3), 0.5),
        'embedding': lambda: F.embedding(c, f(3, 4)),
        'embeddingBag': lambda: F.embedding_bag(c.view(1, 2), f(3, 4)),
        'maxPool1d': lambda: F.max_pool1d(t(1, 2, 4), 2),
        'maxPool2d': lambda: F.max_pool2d(t(1, 2, 4, 4), 2),
        'maxPool3d': lambda: F.max_pool3d(t(1, 2, 4, 4, 4), 2),
        'avgPool1d': lambda: F.avg_pool1d(t(1, 2, 4), 2),
        'avgPool2d': lambda: F.avg_pool2d(t(1, 2, 4, 4), 2),
        'avgPool3d': lambda: F.avg_pool3d(t(1, 2, 4, 4, 4), 2),
        'adaptiveAvgPool2d': lambda: F.adaptive_avg_pool2d(t(1, 2, 4, 4), 2),
        'adaptiveAvgPool3d': lambda: F.adaptive_avg_pool3d(t(1, 2, 4, 4, 4), 2),
        'adaptiveMaxPool2d': lambda: F.adaptive_max_pool2d(t(1, 2, 4, 4), 2),
        'interpolateNearest': lambda: F.interpolate(t(1, 2, 2, 2), scale_factor=2, mode='nearest'),
        'interpolateBilinear': lambda: F.interpolate(t(1, 2, 2, 2), scale_factor=2, mode='bilinear'),
        'interpolateBicubic': lambda: F.interpolate(t(1, 2, 2, 2), scale_factor=2, mode='bicubic'),
        'padConstant': lambda: F.pad(t(1, 2, 4, 4), [1, 1, 1, 1]),
        'padReflect': lambda: F.pad(t(1, 2, 4, 4), [1, 1, 1, 1], mode='reflect'),
        'padReplicate': lambda: F.pad(t(1, 2, 4, 4), [1, 1, 1, 1], mode='replicate'),
        'padReflect1d': lambda: F.pad(t(1, 2, 4), [1, 1], mode='reflect'),
        'padReplicate1d': lambda: F.pad(t(1, 2, 4), [1, 1], mode='replicate'),
        'padReplicate3d': lambda: F.pad(t(1, 2, 4, 4, 4), [1] * 6, mode='replicate'),
        'pixelShuffle': lambda: F.pixel_shuffle(t(1, 4, 2, 2), 2),
        'gridSample': lambda: F.grid_sample(t(1, 2, 3, 3), t(1, 2, 2, 2), align_corners=False),
        'affineGrid': lambda: F.affine_grid(t(1, 2, 3), [1, 1, 2, 2], align_corners=False),
        'cosineSimilarity': lambda: F.cosine_similarity(t(2, 3), t(2, 3)),
        'pairwiseDistance': lambda: F.pairwise_distance(t(2, 3), t(2, 3)),
        'cdist': lambda: torch.cdist(t(2, 3), t(2, 3)),
        'crossEntropy': lambda: F.cross_entropy(t(2, 3), c),
        'crossEntropyProbabilities': lambda: F.cross_entropy(t(2, 3), t(2, 3)),
        'nllLoss': lambda: F.nll_loss(t(2, 3), c),
        'mseLoss': lambda: F.mse_loss(t(2, 3), t(2, 3)),
        'l1Loss': lambda: F.l1_loss(t(2, 3), t(2, 3)),
        'smoothL1Loss': lambda: F.smooth_l1_loss(t(2, 3), t(2, 3)),
        'huberLoss': lambda: F.huber_loss(t(2, 3), t(2, 3)),
        'binaryCrossEntropy': lambda: F.binary_cross_entropy(t(2, 3), t(2, 3)),
        'binaryCrossEntropyWithLogits': lambda: F.binary_cross_entropy_with_logits(t(2, 3), t(2, 3)),
        'klDiv': lambda: F.kl_div(t(2, 3), t(2, 3), reduction='batchmean'),
        'poissonNllLoss': lambda: F.poisson_nll_loss(t(2, 3), t(2, 3)),
        'gaussianNllLoss': lambda: F.gaussian_nll_loss(t(2, 3), t(2, 3), t(2, 3)),
        'cosineEmbeddingLoss': lambda: F.cosine_embedding_loss(t(2, 3), t(2, 3), sign),
        'hingeEmbeddingLoss': lambda: F.hinge_embedding_loss(t(2), sign),
        'marginRankingLoss': lambda: F.margin_ranking_loss(t(2), t(2), sign),
        'softMarginLoss': lambda: F.soft_margin_loss(t(2), sign),
        'tripletMarginLoss': lambda: F.triplet_margin_loss(t(2, 3), t(2, 3), t(2, 3)),
        'multiMarginLoss': lambda: F.multi_margin_loss(t(2, 3), c),
        'multilabelSoftMarginLoss': lambda: F.multilabel_soft_margin_loss(t(2, 3), t(2, 3)),
        'ctcLoss': lambda: F.ctc_loss(t(4, 1, 3).log_softmax(2), torch.tensor([[1, 2]]), [4], [2]),
        'sum': lambda: t(2, 3).sum(),
        'mean': lambda: t(2, 3).mean(),
        'prod': lambda: t(2, 3).prod(),
        'cumsum': lambda: t(2, 3).cumsum(0),
        'norm': lambda: torch.linalg.vector_norm(t(2, 3)),
        'var': lambda: t(2, 3).var(),
        'trace': lambda: t(2, 2).trace(),
        'logsumexp': lambda: t(2, 3).logsumexp(1),
        'dist': lambda: t(2, 3).dist(t(2, 3).mul(2)),
        'exp': lambda: t(2, 3).exp(),
        'log': lambda: t(2, 3).log(),
        'pow': lambda: t(2, 3).pow(2),
        'rsqrt': lambda: t(2, 3).rsqrt(),
        'catMixed': lambda: torch.cat([f(2, 3), x(2, 3, dtype=torch.bfloat16)]),
        'stackMixed': lambda: torch.stack([f(2, 3), x(2, 3, dtype=torch.bfloat16)]),
        'addMixed': lambda: f(2, 3) + x(2, 3, dtype=torch.bfloat16),
        'nn.LSTM': lambda: nn.LSTM(3, 4)(t(2, 1, 3))[0],
        'nn.GRU': lambda: nn.GRU(3, 4)(t(2, 1, 3))[0],
        'nn.RNN': lambda: nn.RNN(3, 4)(t(2, 1, 3))[0],
        'nn.LSTMCell': lambda: nn.LSTMCell(3, 4)(t(1, 3))[0],
        'nn.GRUCell': lambda: nn.GRUCell(3, 4)(t(1, 3)),
        'nn.RNNCell': lambda: nn.RNNCell(3, 4)(t(1, 3)),
        'nn.MultiheadAttention': lambda: nn.MultiheadAttention(4, 2)(t(3, 1, 4), t(3, 1, 4), t(3, 1, 4))[0],
        'nn.TransformerEncoderLayer': lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0)(t(3, 1, 4)),
        'nn.BatchNorm1d': lambda: nn.BatchNorm1d(3)(t(2, 3, 4)),
        'nn.LayerNorm': lambda: nn.LayerNorm(3)(t(2, 3)),
    }

results = {}
for source in [torch.float32, torch.bfloat16]:
    for name, run in cases(source).items():
        with torch.autocast('cpu', torch.bfloat16):
            dtype = str(run().dtype).removeprefix('torch.')
        results.setdefault(name, {})[str(source).removeprefix('torch.')] = dtype
print(json.dumps({'torch': torch.__version__, 'results': results}, indent=2))
