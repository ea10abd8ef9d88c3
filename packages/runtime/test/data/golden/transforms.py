# Images that torchvision transforms, for ../transforms-golden.test.ts. Created with torchvision 0.29 and torch 2.15 on a processor
# with AVX2, where torch multiplies and adds without rounding in between:
#   OMP_NUM_THREADS=1 python3 packages/runtime/test/data/golden/transforms.py
import base64
import json
import pathlib

import torch
import torchvision.transforms.v2 as transforms
import torchvision.transforms.v2.functional as F

assert torch.backends.cpu.get_cpu_capability() in ('AVX2', 'AVX512')
generator = torch.Generator().manual_seed(7)


def noise(*shape):
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def smooth(channels, height, width):
    c, y, x = torch.meshgrid(torch.arange(channels), torch.arange(height), torch.arange(width), indexing='ij')
    return ((x * (7 + 2 * c) + y * (11 - 3 * c) + x * y) % 256).to(torch.uint8)


def exact_grays():
    """Colours whose gray is an integer in real numbers, so that rounding decides about the level."""
    colours = [(r, g, b) for r in range(256) for g in range(0, 256, 5) for b in range(256)
               if (2989 * r + 5870 * g + 1140 * b) % 10000 == 0]
    chosen = torch.tensor(colours)[torch.randperm(len(colours), generator=generator)[:256]]
    return chosen.T.reshape(3, 16, 16).to(torch.uint8).contiguous()


images = {'noise': noise(3, 15, 17), 'smooth': smooth(3, 12, 19), 'square': smooth(3, 14, 14), 'gray': noise(1, 10, 13),
          'digit': noise(1, 28, 28), 'grays': exact_grays()}


def encoded(image):
    return {'shape': list(image.shape), 'data': base64.b64encode(image.numpy().tobytes()).decode()}


def changed(name, result, **parameters):
    return {'image': name, **parameters, 'result': encoded(result.contiguous())}


colors = [changed(name, function(images[name], factor), operation=operation, factor=factor)
          for operation, function, factors in [
              ('brightness', F.adjust_brightness, [0.0, 0.37, 1.6]),
              ('contrast', F.adjust_contrast, [0.0, 0.21, 1.37, 3.0]),
              ('saturation', F.adjust_saturation, [0.0, 0.111, 1.71]),
              ('hue', F.adjust_hue, [-0.5, -0.31, 0.05, 0.5])]
          for name in ['noise', 'grays', 'gray'] for factor in factors]
colors += [changed(name, F.rgb_to_grayscale(images[name], images[name].shape[0]), operation='gray', factor=0)
           for name in ['noise', 'grays', 'gray']]

resized = [changed(name, F.resize(images[name], size, antialias=True), size=size)
           for name, size in [('noise', [7, 5]), ('noise', [30, 34]), ('smooth', [12, 8]), ('smooth', [5, 19]),
                              ('smooth', [9, 40]), ('digit', [32, 32]), ('digit', [10, 14]), ('gray', [1, 1])]]
parts = [changed(name, F.resized_crop(images[name], *part, size), part=part, size=size)
         for name, part, size in [('noise', [2, 3, 9, 11], [8, 8]), ('digit', [5, 0, 20, 25], [28, 28])]]

rotated = [changed(name, F.rotate(images[name], angle, interpolation=mode, center=center, fill=fill),
                   angle=angle, interpolation=mode, center=center, fill=fill)
           for name, angle, mode, center, fill in [
               ('noise', 31.7, 'nearest', None, 0), ('smooth', -77.3, 'nearest', None, [10, 200, 30]),
               ('square', 90, 'nearest', None, 0), ('square', 180, 'bilinear', None, 0), ('digit', 12.5, 'nearest', None, 0),
               ('smooth', 20.1, 'nearest', [3, 2], 7), ('noise', 13.9, 'bilinear', None, 0),
               ('smooth', -140.2, 'bilinear', [4.5, 6], [90, 0, 255])]]
affine = [changed(name, F.affine(images[name], angle, translate, scale, shear, interpolation=mode, fill=fill, center=center),
                  angle=angle, translate=translate, scale=scale, shear=shear, interpolation=mode, center=center, fill=fill)
          for name, angle, translate, scale, shear, mode, center, fill in [
              ('noise', 10.3, [2, -3], 1.3, [0.0, 0.0], 'nearest', None, 0),
              ('smooth', -33.1, [0, 4], 0.7, [12.2, -9.4], 'nearest', None, 50),
              ('digit', 5.3, [1, 2], 0.9, [8.1, 0.0], 'bilinear', None, 0),
              ('smooth', 0.0, [0, 0], 1.2, [0.0, 20.5], 'bilinear', [2, 9], [1, 2, 3])]]

padded = [changed(name, F.pad(images[name], padding, padding_mode=mode), padding=padding, paddingMode=mode)
          for name, padding in [('noise', [3, 2, 1, 4]), ('digit', [4, 4, 4, 4]), ('gray', [0, 9, 12, 0])]
          for mode in ['edge', 'reflect', 'symmetric']]

batch = torch.rand(4, 2, 5, 6, generator=generator)
labels = torch.tensor([2, 0, 2, 1])


def mixed(transform, parameters):
    """The transform with given numbers instead of random ones."""
    transform.make_params = lambda _: parameters
    image, label = transform(batch.clone(), labels)
    return {'image': image.flatten().tolist(), 'label': label.flatten().tolist()}


golden = {
    'images': {name: encoded(image) for name, image in images.items()},
    'colors': colors, 'resized': resized, 'parts': parts, 'rotated': rotated, 'affine': affine, 'padded': padded,
    'mix': {
        'shape': list(batch.shape), 'images': batch.flatten().tolist(), 'labels': labels.tolist(), 'numClasses': 3,
        'mixUp': {'lambda': 0.371, **mixed(transforms.MixUp(num_classes=3), {'lam': 0.371})},
        'cutMix': {'box': [1, 2, 4, 5],
                   **mixed(transforms.CutMix(num_classes=3), {'box': (1, 2, 4, 5), 'lam_adjusted': 1 - 9 / 30})},
    },
}
pathlib.Path(__file__).with_suffix('.json').write_text(json.dumps(golden) + '\n')
