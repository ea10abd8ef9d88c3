import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';

/*
 * Transforms that change the size of images, with the names and semantics of torchvision. Pixels are interpolated linearly with
 * antialiasing, as torchvision's of tensors. The first transforms of image files run in libvips, which may shrink an image
 * while it decodes it; its levels differ from torchvision's by a few of 255.
 */

/** A transform that changes the size of images. It comes before ToTensor. The first ones of image files run in libvips. */
export type ImageFileTransform = Resize | CenterCrop | RandomResizedCrop;

/** Height and width of an image in pixels. */
export type ImageSize = readonly [height: number, width: number];

const kinds: readonly string[] = [
  'Resize',
  'CenterCrop',
  'RandomResizedCrop',
] satisfies ImageFileTransform['kind'][];

export function isImageFileTransform(transform: { readonly kind: string }): transform is ImageFileTransform {
  return kinds.includes(transform.kind);
}

/** Resizes the image (torchvision.transforms.Resize). */
export class Resize {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'Resize';
  /** One number: length of the smaller side, which keeps the aspect ratio. Two: height and width. */
  readonly size: number | ImageSize;

  /** @param size length of the smaller side in pixels, or [height, width]; at least 1 */
  constructor(size: number | ImageSize) {
    this.size = typeof size === 'number' ? side(size, 'Resize') : both(size, 'Resize');
  }
}

/** Crops the middle of the image, with black borders if it is smaller (torchvision.transforms.CenterCrop). */
export class CenterCrop {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'CenterCrop';
  /** Height and width of the result in pixels. */
  readonly size: ImageSize;

  /** @param size size of the crop in pixels: one number for both sides, or [height, width]; at least 1 */
  constructor(size: number | ImageSize) {
    this.size = both(size, 'CenterCrop');
  }
}

/** Options of {@link RandomResizedCrop}. */
export interface RandomResizedCropOptions {
  /** Smallest and largest area of the crop, as a share of the image's. Default: [0.08, 1]. */
  scale?: readonly [smallest: number, largest: number];
  /** Smallest and largest width / height of the crop. Default: [3/4, 4/3]. */
  ratio?: readonly [smallest: number, largest: number];
}

/** Crops a random part of the image and resizes it (torchvision.transforms.RandomResizedCrop). */
export class RandomResizedCrop {
  /** Name of the transform, kept when it is sent to a worker thread. */
  readonly kind = 'RandomResizedCrop';
  /** Height and width of the result in pixels. */
  readonly size: ImageSize;
  /** Smallest and largest area of the crop, as a share of the image's. */
  readonly scale: readonly [smallest: number, largest: number];
  /** Smallest and largest width / height of the crop. */
  readonly ratio: readonly [smallest: number, largest: number];

  /** @param size size of the result in pixels: one number for both sides, or [height, width]; at least 1 */
  constructor(size: number | ImageSize, options: RandomResizedCropOptions = {}) {
    requireOptions('RandomResizedCrop', options, { scale: true, ratio: true });
    this.size = both(size, 'RandomResizedCrop');
    this.scale = range(options.scale ?? [0.08, 1], 'scale');
    this.ratio = range(options.ratio ?? [3 / 4, 4 / 3], 'ratio');
  }
}

function both(size: number | ImageSize, who: string): ImageSize {
  const [height, width] = typeof size === 'number' ? [size, size] : size;
  return [side(height, who), side(width, who)];
}

function side(length: number, who: string): number {
  return requireInteger(length, { who, what: 'size', min: 1 });
}

function range([smallest, largest]: readonly [number, number], what: string): readonly [number, number] {
  if (smallest > 0 && smallest <= largest && largest < Infinity) return [smallest, largest];
  throw new InvalidArgumentError(
    `RandomResizedCrop: ${what} must be two positive numbers, the smaller one first, got [${smallest}, ${largest}].`,
  );
}
