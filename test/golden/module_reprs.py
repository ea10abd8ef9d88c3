# torch's printout of modules: python3 test/golden/module_reprs.py > test/golden/module_reprs.json. The keys are the modules in
# Python; packages/nn/test/nn/module-repr.test.ts has the same ones in JavaScript. Generated with torch 2.15.0 (PyPI).

import json

import torch
from torch import nn

calls = """
ReLU() | ReLU(True) | ReLU6() | ReLU6(True) | SELU() | SELU(True) | SiLU() | SiLU(True) | Mish() | Mish(True)
Hardsigmoid() | Hardsigmoid(True) | Hardswish() | Hardswish(True) | ELU() | ELU(0.5, True) | ELU(2) | CELU() | CELU(0.5, True)
Hardtanh() | Hardtanh(0, 6) | Hardtanh(-0.5, 0.5, True) | LeakyReLU() | LeakyReLU(0.2) | LeakyReLU(0.2, True)
Threshold(0.1, 20) | Threshold(0.1, 20, True) | Sigmoid() | Tanh() | Softsign() | LogSigmoid() | Tanhshrink() | GELU()
GELU("tanh") | GLU() | GLU(1) | Hardshrink() | Hardshrink(0.25) | Softshrink() | Softshrink(0.00001) | Softplus()
Softplus(2, 10) | PReLU() | PReLU(4) | Softmax(-1) | Softmin(1) | LogSoftmax(1) | Softmax2d() | Identity()
Dropout() | Dropout(0.1) | Dropout(0.2, True) | Dropout(0) | Dropout1d() | Dropout2d(0.3) | Dropout3d(0.3, True) | AlphaDropout()
Linear(2, 3) | Linear(2, 3, False) | Bilinear(2, 3, 4) | Bilinear(2, 3, 4, False)
Conv1d(2, 4, 3) | Conv1d(2, 4, 3, 2, 1, 2, 2, False) | Conv2d(1, 8, 3) | Conv2d(4, 8, (3, 5), 2, (1, 0)) | Conv2d(4, 8, 3, 1, "same")
Conv2d(4, 8, 3, 1, "valid") | Conv2d(4, 8, 3, 1, 1, 1, 4, True, "circular") | Conv3d(1, 2, (1, 2, 3), 1, 0, (1, 1, 2))
ConvTranspose1d(2, 4, 3) | ConvTranspose2d(2, 4, 3, 2, 1, 1) | ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 2) | ConvTranspose3d(2, 4, 3)
MaxPool1d(2) | MaxPool1d(3, 2, 1) | MaxPool2d(2) | MaxPool2d((3, 2), 2, (1, 0), 2, False, True) | MaxPool3d(2) | AvgPool1d(2)
AvgPool1d(3, 2, 1) | AvgPool2d(2) | AvgPool2d((3, 2), (2, 1), 1) | AvgPool3d(3, 2) | AdaptiveAvgPool1d(4) | AdaptiveAvgPool2d(1)
AdaptiveAvgPool2d((1, 1)) | AdaptiveAvgPool2d((None, 7)) | AdaptiveAvgPool3d((1, 2, 3)) | AdaptiveMaxPool1d(4) | AdaptiveMaxPool2d((2, 3))
AdaptiveMaxPool3d(2) | ConstantPad1d(2, 3.5) | ConstantPad2d((1, 2, 3, 4), 0) | ConstantPad3d(1, 2) | ZeroPad1d(1) | ZeroPad2d((1, 0, 2, 0))
ZeroPad3d(1) | ReflectionPad1d(2) | ReflectionPad2d((1, 0, 2, 0)) | ReflectionPad3d(1) | ReplicationPad1d((1, 2)) | ReplicationPad2d(1)
ReplicationPad3d(1) | CircularPad1d(2) | CircularPad2d(1) | CircularPad3d((1, 1, 2, 2, 3, 3))
BatchNorm1d(3) | BatchNorm2d(3, 0.001, 0.01) | BatchNorm2d(3, 0.00001, None) | BatchNorm3d(3, 0.00001, 0.1, False, False)
SyncBatchNorm(3) | SyncBatchNorm(3, 0.001, 0.2) | InstanceNorm1d(3) | InstanceNorm2d(3, 0.001, 0.1, True) | InstanceNorm3d(3) | GroupNorm(2, 4)
GroupNorm(2, 4, 0.0000025, False) | LayerNorm(8) | LayerNorm((4, 8)) | LayerNorm(8, 0.001, False) | LayerNorm(8, 0.001, True, False) | RMSNorm(8)
RMSNorm((2, 8), 0.000001, False) | LocalResponseNorm(2) | LocalResponseNorm(3, 0.001, 0.5, 2)
Embedding(10, 3) | Embedding(10, 3, 2) | Embedding(10, 3, -1) | EmbeddingBag(10, 3)
RNN(2, 3) | RNN(2, 3, 2, "relu") | LSTM(2, 3) | LSTM(2, 3, 2, False, True, 0.5, True) | GRU(2, 3, 1, True, True)
RNNCell(2, 3) | RNNCell(2, 3, False, "relu") | LSTMCell(2, 3) | LSTMCell(2, 3, False) | GRUCell(2, 3)
Flatten() | Flatten(0, 2) | Unflatten(1, (2, 3)) | PixelShuffle(2) | PixelUnshuffle(2) | ChannelShuffle(2) | CosineSimilarity() | PairwiseDistance()
L1Loss() | MSELoss() | SmoothL1Loss() | HuberLoss() | NLLLoss() | CrossEntropyLoss() | BCELoss() | BCEWithLogitsLoss() | KLDivLoss()
PoissonNLLLoss() | GaussianNLLLoss() | CTCLoss() | CosineEmbeddingLoss() | HingeEmbeddingLoss() | MarginRankingLoss() | SoftMarginLoss()
TripletMarginLoss() | TripletMarginWithDistanceLoss() | MultiMarginLoss() | MultiLabelSoftMarginLoss()
MultiheadAttention(8, 2) | TransformerEncoderLayer(8, 2) | TransformerDecoderLayer(8, 2) | Transformer(8, 2, 2, 1)
""".replace("\n", "|").split("|")

reprs = {call.strip(): repr(eval("nn." + call.strip())) for call in calls if call.strip()}
reprs |= {
    "EmbeddingBag sum": repr(nn.EmbeddingBag(10, 3, mode="sum", padding_idx=1)),
    "Upsample scale": repr(nn.Upsample(scale_factor=2)),
    "Upsample scales": repr(nn.Upsample(scale_factor=(2, 1.5), mode="bilinear")),
    "Upsample size": repr(nn.Upsample(size=(8, 9), mode="bilinear", align_corners=True)),
    "Upsample number": repr(nn.Upsample(size=8)),
    "empty Sequential": repr(nn.Sequential()),
    "Sequential": repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)))),
    "empty ModuleList": repr(nn.ModuleList()),
    "ModuleList": repr(nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])),
    "mixed ModuleList": repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(2, 2), nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh())])),
    "ModuleDict": repr(nn.ModuleDict({"encoder": nn.Linear(2, 2), "decoder": nn.ModuleList([nn.ReLU()] * 2)})),
    "empty ModuleDict": repr(nn.ModuleDict()),
    "ParameterList": repr(nn.ParameterList([torch.zeros(2, 3), torch.zeros(4)])),
    "ParameterList of one": repr(nn.ParameterList([torch.zeros(2, 3)])),
    "empty ParameterList": repr(nn.ParameterList()),
    "ParameterDict": repr(nn.ParameterDict({"scale": torch.zeros(2), "shift": torch.zeros(1, 2)})),
    "AveragedModel": repr(torch.optim.swa_utils.AveragedModel(nn.Linear(1, 1))),
}
print(json.dumps(reprs, indent=0))
