import type { Sharp as SharpInstance } from 'sharp';
import type { Random } from '../random.ts';
import { isImageFileTransform } from '../transforms/image-file-transforms.ts';
import type { ImageFileTransform } from '../transforms/image-file-transforms.ts';
import type { Transform } from '../transforms/transforms.ts';
import { sizeAfter, stepsOf } from '../transforms/steps.ts';
import type { Extent, Step } from '../transforms/steps.ts';
import { channels } from './pixels.ts';
import type { Pixels } from './pixels.ts';
import type { Sharp } from './sharp.ts';
import { decodeUncompressed } from './uncompressed-image.ts';

/** The transforms at the beginning that change the size of files, and the rest. */
export function divided(transforms: readonly Transform[]): [ImageFileTransform[], Transform[]] {
  const first = transforms.findIndex((transform) => !isImageFileTransform(transform));
  const end = first < 0 ? transforms.length : first;
  return [transforms.slice(0, end) as ImageFileTransform[], transforms.slice(end)];
}

/** Decodes an image file to RGB, without its alpha channel, as torchvision's loader, and applies transforms. */
export async function decodeFile(
  sharp: Sharp,
  file: Uint8Array,
  transforms: readonly ImageFileTransform[],
  random: Random,
): Promise<Pixels> {
  const open = opened(sharp, file);
  if (transforms.length === 0) return await pixelsOf(open);
  const { width, height } = await open.metadata();
  let size: Extent = { width, height };
  const pipeline = new SharpPipeline(sharp, open);
  for (const transform of transforms) {
    for (const step of stepsOf(transform, size, random)) {
      await pipeline.add(step);
      size = sizeAfter(step, size);
    }
  }
  return await pixelsOf(pipeline.image);
}

function opened(sharp: Sharp, file: Uint8Array): SharpInstance {
  const pixels = decodeUncompressed(file);
  if (!pixels) return sharp(file, { sequentialRead: true, failOn: 'error' });
  const { data, width, height } = pixels;
  return sharp(data, { raw: { width, height, channels } });
}

/** Order in which sharp applies the steps of one image: at most one of each, however they are called. */
const places = { none: 0, extract: 1, resize: 2, extractAfterResize: 3, extend: 4 };

/**
 * Applies steps in their order. Steps that sharp would apply in a different order start from the decoded pixels so far.
 */
class SharpPipeline {
  image: SharpInstance;
  readonly #sharp: Sharp;
  #place = places.none;

  constructor(sharp: Sharp, image: SharpInstance) {
    this.#sharp = sharp;
    this.image = image;
  }

  async add(step: Step): Promise<void> {
    const isAfterResize = step.kind === 'extract' && this.#place >= places.resize;
    let place = isAfterResize ? places.extractAfterResize : places[step.kind];
    if (place <= this.#place) {
      const { data, width, height } = await pixelsOf(this.image);
      this.image = this.#sharp(data, { raw: { width, height, channels } });
      place = places[step.kind];
    }
    this.#place = place;
    const { kind, ...extent } = step;
    if (kind === 'resize') this.image.resize({ ...extent, fit: 'fill', kernel: 'linear' });
    else if (kind === 'extract') this.image.extract(extent as never);
    else this.image.extend({ ...(extent as object), background: 'black' });
  }
}

async function pixelsOf(image: SharpInstance): Promise<Pixels> {
  const { data, info } = await image
    .toColourspace('srgb')
    .removeAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}
