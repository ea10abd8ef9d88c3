# PyTorch's results for packages/nn/test/nn/convolutions-golden.test.ts. Generated with torch 1.13.0 (Debian's python3-torch):
#
#   /usr/bin/python3 test/golden/convolutions.py > test/golden/convolutions.json
#
# Convolutions, pools, padding and resizing of images of one, two and three axes, in double precision.

import json

import torch.nn.functional as F

from common import fill, operator_cases


def image(size, function):
    """A function of an input of this shape alone."""
    return ([size], function)


SEQUENCES, IMAGES, VOLUMES = (2, 4, 11), (2, 4, 7, 6), (2, 4, 5, 4, 6)

# Name: shapes of the inputs, function. The same names and functions are in convolutions-golden.test.ts.
FUNCTIONS = {
    "conv1d": ([SEQUENCES, (6, 4, 3), (6,)], F.conv1d),
    "conv1d, options": (
        [SEQUENCES, (6, 2, 3)],
        lambda x, w: F.conv1d(x, w, stride=2, padding=3, dilation=2, groups=2),
    ),
    "conv1d, stride that leaves elements": ([(1, 2, 9), (3, 2, 2)], lambda x, w: F.conv1d(x, w, stride=4)),
    "conv1d, same": ([SEQUENCES, (3, 4, 4)], lambda x, w: F.conv1d(x, w, padding="same", dilation=3)),
    "conv1d of each channel": ([SEQUENCES, (8, 1, 3)], lambda x, w: F.conv1d(x, w, groups=4)),
    "conv1d of one sample": ([(4, 9), (3, 4, 2), (3,)], F.conv1d),
    "conv2d of one sample": ([(4, 6, 5), (3, 4, 2, 3)], F.conv2d),
    "conv3d": ([VOLUMES, (3, 4, 2, 3, 3), (3,)], F.conv3d),
    "conv3d, options": (
        [VOLUMES, (6, 2, 3, 2, 2)],
        lambda x, w: F.conv3d(x, w, stride=(2, 1, 3), padding=(2, 1, 0), dilation=(1, 2, 3), groups=2),
    ),
    "conv3d, same": ([(1, 2, 3, 5, 4), (3, 2, 2, 3, 4)], lambda x, w: F.conv3d(x, w, padding="same")),
    "convTranspose1d": ([SEQUENCES, (4, 3, 3), (3,)], F.conv_transpose1d),
    "convTranspose1d, options": (
        [SEQUENCES, (4, 3, 3), (6,)],
        lambda x, w, b: F.conv_transpose1d(x, w, b, stride=3, padding=2, output_padding=1, groups=2, dilation=2),
    ),
    "convTranspose2d": ([IMAGES, (4, 3, 3, 2), (3,)], F.conv_transpose2d),
    "convTranspose2d, options": (
        [IMAGES, (4, 3, 3, 2), (6,)],
        lambda x, w, b: F.conv_transpose2d(
            x, w, b, stride=(2, 3), padding=(1, 2), output_padding=(1, 2), groups=2, dilation=(2, 1)
        ),
    ),
    "convTranspose2d, outputPadding below the dilation": (
        [(1, 2, 4, 5), (2, 3, 2, 2), (3,)],
        lambda x, w, b: F.conv_transpose2d(x, w, b, padding=(1, 3), dilation=3, output_padding=(2, 1)),
    ),
    "convTranspose2d of one sample": ([(2, 4, 5), (2, 3, 2, 2)], F.conv_transpose2d),
    "convTranspose3d": (
        [(1, 4, 3, 4, 2), (4, 2, 2, 3, 2), (4,)],
        lambda x, w, b: F.conv_transpose3d(x, w, b, stride=(2, 1, 2), padding=1, output_padding=(1, 0, 1), groups=2),
    ),
    "maxPool1d": image(SEQUENCES, lambda x: F.max_pool1d(x, 3)),
    "maxPool1d, options": image(
        SEQUENCES, lambda x: F.max_pool1d(x, 4, stride=3, padding=2, dilation=2, ceil_mode=True)
    ),
    "maxPool2d, dilation": image(IMAGES, lambda x: F.max_pool2d(x, (3, 2), stride=1, padding=1, dilation=(2, 3))),
    "maxPool2d, ceilMode": image(IMAGES, lambda x: F.max_pool2d(x, 3, stride=2, padding=(0, 1), ceil_mode=True)),
    "maxPool2d, ceilMode and dilation": image(
        IMAGES, lambda x: F.max_pool2d(x, 2, stride=3, dilation=(4, 3), ceil_mode=True)
    ),
    "maxPool2d, ceilMode with a window that begins behind": image(
        (1, 2, 5, 3), lambda x: F.max_pool2d(x, 2, stride=4, padding=1, ceil_mode=True)
    ),
    "maxPool3d": image(VOLUMES, lambda x: F.max_pool3d(x, (2, 1, 3))),
    "maxPool3d, options": image(
        VOLUMES, lambda x: F.max_pool3d(x, 3, stride=(2, 1, 2), padding=1, dilation=(1, 2, 1), ceil_mode=True)
    ),
    "avgPool1d": image(SEQUENCES, lambda x: F.avg_pool1d(x, 3, stride=2, padding=1)),
    "avgPool1d, ceilMode": image(SEQUENCES, lambda x: F.avg_pool1d(x, 4, padding=2, ceil_mode=True)),
    "avgPool1d, ceilMode without padding": image(
        SEQUENCES, lambda x: F.avg_pool1d(x, 4, padding=2, ceil_mode=True, count_include_pad=False)
    ),
    "avgPool2d, ceilMode": image(IMAGES, lambda x: F.avg_pool2d(x, (3, 4), stride=(3, 3), padding=(1, 0), ceil_mode=True)),
    "avgPool2d, divisorOverride": image(IMAGES, lambda x: F.avg_pool2d(x, 2, padding=1, divisor_override=3)),
    "avgPool3d": image(VOLUMES, lambda x: F.avg_pool3d(x, 2, stride=(1, 2, 3), padding=1, count_include_pad=False)),
    "avgPool3d, ceilMode": image(VOLUMES, lambda x: F.avg_pool3d(x, (2, 3, 4), ceil_mode=True, divisor_override=5)),
    "adaptiveAvgPool1d": image(SEQUENCES, lambda x: F.adaptive_avg_pool1d(x, 4)),
    "adaptiveAvgPool2d, one axis kept": image(IMAGES, lambda x: F.adaptive_avg_pool2d(x, (None, 4))),
    "adaptiveAvgPool3d": image(VOLUMES, lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4))),
    "adaptiveAvgPool3d to one": image(VOLUMES, lambda x: F.adaptive_avg_pool3d(x, 1)),
    "adaptiveMaxPool1d": image(SEQUENCES, lambda x: F.adaptive_max_pool1d(x, 4)),
    "adaptiveMaxPool2d": image(IMAGES, lambda x: F.adaptive_max_pool2d(x, (3, 4))),
    "adaptiveMaxPool2d of even windows": image((2, 3, 6, 4), lambda x: F.adaptive_max_pool2d(x, (3, 2))),
    "adaptiveMaxPool3d": image(VOLUMES, lambda x: F.adaptive_max_pool3d(x, (2, None, 5))),
    "pad": image(IMAGES, lambda x: F.pad(x, (1, 2, 0, 3), value=0.5)),
    "pad, negative": image(IMAGES, lambda x: F.pad(x, (-1, 2, 3, -2, 1, 0))),
    "pad, reflect": image(IMAGES, lambda x: F.pad(x, (1, 3, 2, 0), "reflect")),
    "pad, reflect, negative": image((2, 3, 9), lambda x: F.pad(x, (-2, 4), "reflect")),
    "pad, replicate": image(VOLUMES, lambda x: F.pad(x, (1, 3, 2, 0, 4, 1), "replicate")),
    "pad, circular": image(IMAGES, lambda x: F.pad(x, (1, 6, 2, 0), "circular")),
    "interpolate, nearest": image(IMAGES, lambda x: F.interpolate(x, scale_factor=(2, 3))),
    "interpolate, nearest of a size": image(IMAGES, lambda x: F.interpolate(x, size=(5, 11))),
    "interpolate, nearest by fractions": image(VOLUMES, lambda x: F.interpolate(x, scale_factor=(0.7, 1.6, 2.3))),
    "interpolate, nearest, recomputed": image(
        SEQUENCES, lambda x: F.interpolate(x, scale_factor=2.3, recompute_scale_factor=True)
    ),
    "interpolate, nearest-exact": image(SEQUENCES, lambda x: F.interpolate(x, size=7, mode="nearest-exact")),
    "interpolate, area": image(IMAGES, lambda x: F.interpolate(x, size=(3, 4), mode="area")),
    "interpolate, linear": image(SEQUENCES, lambda x: F.interpolate(x, size=17, mode="linear")),
    "interpolate, linear, corners": image(
        SEQUENCES, lambda x: F.interpolate(x, scale_factor=0.6, mode="linear", align_corners=True)
    ),
    "interpolate, linear to one": image(
        SEQUENCES, lambda x: F.interpolate(x, size=1, mode="linear", align_corners=True)
    ),
    "interpolate, bilinear": image(IMAGES, lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
    "interpolate, bilinear by fractions": image(
        IMAGES, lambda x: F.interpolate(x, scale_factor=(1.7, 0.4), mode="bilinear")
    ),
    "interpolate, bilinear, corners": image(
        IMAGES, lambda x: F.interpolate(x, size=(9, 4), mode="bilinear", align_corners=True)
    ),
    "interpolate, bilinear, recomputed": image(
        IMAGES, lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
    ),
    "interpolate, bicubic": image(IMAGES, lambda x: F.interpolate(x, size=(10, 4), mode="bicubic")),
    "interpolate, bicubic, corners": image(
        IMAGES, lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=True)
    ),
    "interpolate, trilinear": image(VOLUMES, lambda x: F.interpolate(x, size=(3, 9, 7), mode="trilinear")),
    "pixelShuffle": image((2, 12, 3, 5), lambda x: F.pixel_shuffle(x, 2)),
    "pixelUnshuffle": image((3, 6, 9), lambda x: F.pixel_unshuffle(x, 3)),
}

print(json.dumps(list(operator_cases(FUNCTIONS, fill)), separators=(",", ":")))
