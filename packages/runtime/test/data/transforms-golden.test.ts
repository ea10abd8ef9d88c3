import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inverseAffineMatrix } from '../../src/data/transforms/affine-matrix.ts';
import type { AffineMatrix } from '../../src/data/transforms/affine-matrix.ts';
import type { Fill, Interpolation, PaddingMode } from '../../src/data/transforms/arguments.ts';
import {
  ColorJitter,
  Pad,
  RandomAffine,
  RandomResizedCrop,
  Resize,
} from '../../src/data/transforms/index.ts';
import { ColorStage, colorOperations } from '../../src/data/transforms/stages/colors.ts';
import { PadStage } from '../../src/data/transforms/stages/pad.ts';
import { ResizeStage } from '../../src/data/transforms/stages/resize.ts';
import type { ByteStage, ImageShape } from '../../src/data/transforms/stages/stage.ts';
import { WarpStage } from '../../src/data/transforms/stages/warp.ts';

/*
 * Stages with given numbers equal torchvision's functional transforms. golden/transforms.py creates the images.
 */

interface Encoded {
  shape: [number, number, number];
  data: string;
}
interface Changed {
  image: string;
  result: Encoded;
}
type Colors = Changed & { operation: keyof typeof colorOperations; factor: number };
type Resized = Changed & { size: [number, number]; part?: [number, number, number, number] };
type Rotated = Changed & {
  angle: number;
  interpolation: Interpolation;
  center: [number, number] | null;
  fill: Fill;
};
type Affine = Rotated & { translate: [number, number]; scale: number; shear: [number, number] };

type Padded = Changed & { padding: [number, number, number, number]; paddingMode: PaddingMode };

const golden = JSON.parse(readFileSync(new URL('golden/transforms.json', import.meta.url), 'utf8')) as {
  images: Record<string, Encoded>;
  colors: Colors[];
  resized: Resized[];
  parts: Resized[];
  rotated: Rotated[];
  affine: Affine[];
  padded: Padded[];
};

const bytesOf = ({ data }: Encoded) => new Uint8Array(Buffer.from(data, 'base64'));
const shapeOf = (name: string): ImageShape => golden.images[name].shape;

/** Applies a stage with given numbers to the second of two images. */
function applied<Drawn>(stage: ByteStage<Drawn>, image: string, drawn: Drawn): Uint8Array {
  const bytes = bytesOf(golden.images[image]);
  const pixels = new Uint8Array(2 * bytes.length);
  pixels.set(bytes, bytes.length);
  const to = new Uint8Array(stage.shape.reduce((product, length) => product * length, 1));
  stage.apply({ pixels, indices: [1] }, [drawn], to);
  return to;
}

function differences(found: Uint8Array, result: Encoded): number[] {
  const expected = bytesOf(result);
  expect(found).toHaveLength(expected.length);
  return Array.from(found, (level, position) => Math.abs(level - expected[position]));
}

test.each(golden.colors)('$operation by $factor of $image has torchvision’s bits', (given) => {
  const stage = new ColorStage(shapeOf(given.image), new ColorJitter());
  const step = { operation: colorOperations[given.operation], factor: given.factor };
  expect(applied(stage, given.image, [step])).toEqual(bytesOf(given.result));
});

test.each(golden.padded)('$paddingMode padding $padding of $image has torchvision’s bits', (given) => {
  const { image, padding, paddingMode, result } = given;
  const stage = new PadStage(shapeOf(image), new Pad(padding, { paddingMode }), 'Pad');
  expect(stage.shape).toEqual(result.shape);
  expect(applied(stage, image, undefined)).toEqual(bytesOf(result));
});

describe('resizing', () => {
  test.each(golden.resized)('$image to $size has torchvision’s levels', ({ image, size, result }) => {
    const stage = new ResizeStage(shapeOf(image), new Resize(size));
    const [, height, width] = shapeOf(image);
    const found = applied(stage, image, { top: 0, left: 0, height, width });
    expect(Math.max(...differences(found, result))).toBeLessThanOrEqual(1);
  });

  test.each(golden.parts)(
    'part $part of $image has torchvision’s levels',
    ({ image, size, part, result }) => {
      const stage = new ResizeStage(shapeOf(image), new RandomResizedCrop(size));
      const [top, left, height, width] = part!;
      const found = applied(stage, image, { top, left, height, width });
      expect(Math.max(...differences(found, result))).toBeLessThanOrEqual(1);
    },
  );
});

/** Nearest: equal but for ties. Bilinear: within a level. */
function expectMoved({ image, result, interpolation, fill }: Rotated, matrix: AffineMatrix): void {
  const stage = new WarpStage(shapeOf(image), new RandomAffine(0, { interpolation, fill }));
  const apart = differences(applied(stage, image, matrix), result);
  const allowed = interpolation === 'nearest' ? 0 : 1;
  const others = apart.filter((difference) => difference > allowed).length;
  expect(others / apart.length).toBeLessThanOrEqual(0.005);
}

function fromMiddle({ image, center }: Rotated): [number, number] {
  const [, height, width] = shapeOf(image);
  return center ? [center[0] - width / 2, center[1] - height / 2] : [0, 0];
}

test.each(golden.rotated)('$image rotated by $angle, $interpolation, is torchvision’s', (given) => {
  const rest = { translate: [0, 0], scale: 1, shear: [0, 0], center: fromMiddle(given) } as const;
  expectMoved(given, inverseAffineMatrix({ angle: -given.angle, ...rest }));
});

test.each(golden.affine)('$image moved by $translate, $scale, $shear, is torchvision’s', (given) => {
  const { angle, translate, scale, shear } = given;
  expectMoved(given, inverseAffineMatrix({ angle, translate, scale, shear, center: fromMiddle(given) }));
});
