# PyTorch's results for packages/nn/test/nn/convolutions-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/image_modules.py > test/golden/image_modules.json
#
# Layers of sequences, images and volumes, with the parameters that they have after torch.manual_seed(1), in double precision.

import json

import torch.nn as nn

from common import module_cases

SEQUENCES, IMAGES, VOLUMES = (2, 4, 11), (2, 4, 7, 6), (2, 4, 5, 4, 6)


def call(module, x):
    return module(x)


# Name: shapes of the inputs, how to make the module, how to call it. The same names are in convolutions-golden.test.ts.
MODULES = {
    "Conv1d": ([SEQUENCES], lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), call),
    "Conv1d, circular": (
        [SEQUENCES],
        lambda: nn.Conv1d(4, 3, 4, padding="same", dilation=2, padding_mode="circular"),
        call,
    ),
    "Conv2d, reflect": (
        [IMAGES],
        lambda: nn.Conv2d(4, 3, (3, 2), padding=(2, 1), stride=(1, 2), bias=False, padding_mode="reflect"),
        call,
    ),
    "Conv2d, replicate": ([IMAGES], lambda: nn.Conv2d(4, 3, 3, padding=(0, 2), padding_mode="replicate"), call),
    "Conv2d, valid": ([IMAGES], lambda: nn.Conv2d(4, 3, 2, padding="valid"), call),
    "Conv3d": ([VOLUMES], lambda: nn.Conv3d(4, 6, (2, 3, 2), dilation=(2, 1, 1), groups=2), call),
    "ConvTranspose1d": ([SEQUENCES], lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2), call),
    "ConvTranspose2d": ([IMAGES], lambda: nn.ConvTranspose2d(4, 3, (2, 3), stride=2, padding=1), call),
    "ConvTranspose3d": ([(1, 4, 3, 2, 4)], lambda: nn.ConvTranspose3d(4, 2, 2, stride=2, bias=False), call),
    "BatchNorm3d": ([VOLUMES], lambda: nn.BatchNorm3d(4), call),
    "InstanceNorm3d": ([VOLUMES], lambda: nn.InstanceNorm3d(4, affine=True), call),
    "MaxPool1d": ([SEQUENCES], lambda: nn.MaxPool1d(3, stride=2), call),
    "MaxPool3d": ([VOLUMES], lambda: nn.MaxPool3d(2, ceil_mode=True), call),
    "AvgPool1d": ([SEQUENCES], lambda: nn.AvgPool1d(3, padding=1), call),
    "AvgPool3d": ([VOLUMES], lambda: nn.AvgPool3d(2), call),
    "AdaptiveAvgPool1d": ([SEQUENCES], lambda: nn.AdaptiveAvgPool1d(3), call),
    "AdaptiveAvgPool3d": ([VOLUMES], lambda: nn.AdaptiveAvgPool3d((2, None, 3)), call),
    "AdaptiveMaxPool1d": ([SEQUENCES], lambda: nn.AdaptiveMaxPool1d(3), call),
    "AdaptiveMaxPool2d": ([IMAGES], lambda: nn.AdaptiveMaxPool2d(3), call),
    "AdaptiveMaxPool3d": ([VOLUMES], lambda: nn.AdaptiveMaxPool3d(2), call),
    "Upsample": ([IMAGES], lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), call),
    "PixelShuffle": ([(2, 8, 3, 2)], lambda: nn.PixelShuffle(2), call),
    "PixelUnshuffle": ([(2, 2, 4, 6)], lambda: nn.PixelUnshuffle(2), call),
    "ZeroPad2d": ([IMAGES], lambda: nn.ZeroPad2d((1, 0, 2, -1)), call),
    "ConstantPad1d": ([SEQUENCES], lambda: nn.ConstantPad1d((3, 1), -2.5), call),
    "ConstantPad2d": ([IMAGES], lambda: nn.ConstantPad2d(1, 3.0), call),
    "ConstantPad3d": ([VOLUMES], lambda: nn.ConstantPad3d((1, 0, 2, 1, 0, 1), 0.5), call),
    "ReflectionPad1d": ([SEQUENCES], lambda: nn.ReflectionPad1d(4), call),
    "ReflectionPad2d": ([IMAGES], lambda: nn.ReflectionPad2d((3, 1, 0, 2)), call),
    "ReflectionPad3d": ([VOLUMES], lambda: nn.ReflectionPad3d((1, 2, 3, 0, 2, 1)), call),
    "ReplicationPad1d": ([SEQUENCES], lambda: nn.ReplicationPad1d((0, 14)), call),
    "ReplicationPad2d": ([IMAGES], lambda: nn.ReplicationPad2d(2), call),
    "ReplicationPad3d": ([VOLUMES], lambda: nn.ReplicationPad3d((1, 0, 0, 2, 3, 1)), call),
}

print(json.dumps(list(module_cases(MODULES)), separators=(",", ":")))
