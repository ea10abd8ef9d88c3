# Masks that torchvision transforms, for ../segmentation.test.ts. Created with torchvision 0.29 and torch 2.15:
#   OMP_NUM_THREADS=1 python3 packages/runtime/test/data/golden/masks.py
import json
import pathlib

import torch
import torchvision.transforms.v2.functional as F
from torchvision import tv_tensors

generator = torch.Generator().manual_seed(3)
mask = tv_tensors.Mask(torch.randint(0, 12, (15, 22), generator=generator, dtype=torch.uint8))


def result(changed, **parameters):
    return {**parameters, 'shape': list(changed.shape), 'data': changed.flatten().tolist()}


resized = [result(F.resize(mask, size), size=size) for size in [[7, 5], [30, 44], [15, 21], [4, 33], [1, 1]]]
parts = [result(F.resized_crop(mask, *part, size), part=part, size=size)
         for part, size in [([2, 3, 9, 11], [8, 8]), ([5, 0, 10, 22], [28, 17])]]
rotated = [result(F.rotate(mask, angle, fill=fill), angle=angle, fill=fill)
           for angle, fill in [(17.0, 0), (-30.0, 11), (90.0, 3)]]
fixed = {
    'CenterCrop': result(F.center_crop(mask, [20, 9])),
    'Pad': result(F.pad(mask, [1, 2, 3, 4], fill=7)),
    'RandomHorizontalFlip': result(F.horizontal_flip(mask)),
    'RandomVerticalFlip': result(F.vertical_flip(mask)),
}
path = pathlib.Path(__file__).with_name('masks.json')
path.write_text(json.dumps({'mask': result(mask), 'resized': resized, 'parts': parts, 'rotated': rotated, 'fixed': fixed}))
