import { InvalidArgumentError } from '@ringrun/collectives/errors';
import { loadNative } from '@ringrun/native';
import type { Random } from '../random.ts';
import type { Normalize, RandomCrop, Transform } from './transforms.ts';

/** [channels, height, width] of an image. */
export type ImageShape = readonly [channels: number, height: number, width: number];

/** What is seen of an image: pixel (x, y) of the view is the image's pixel (left + x * step, top + y); outside of the image it is black. */
interface View {
  top: number;
  left: number;
  /** 1, or -1 where left and right are exchanged. */
  step: number;
  width: number;
  height: number;
}

/**
 * Transforms, made ready for images of one shape: all of them in one pass over the pixels.
 *
 * Cropping and flipping only choose which pixels are seen, and the others only depend on a pixel's byte and channel: so a view is followed through the former, a
 * table of 256 values for each channel through the latter, and each value of the result is looked up once. The values are computed in double precision and rounded
 * once, where torch rounds after each step (differences of one unit in the last place).
 */
export class Pipeline {
  /** Of the result. */
  readonly shape: ImageShape;
  readonly #from: ImageShape;
  readonly #geometry: readonly Transform[];
  /** For each channel the values of bytes 0 to 255. */
  readonly #values: Float32Array;
  /** For each channel the value of what lies outside of the image. */
  readonly #outside: Float32Array;

  /** Throws `InvalidArgumentError` for transforms that do not suit each other or the images. */
  constructor(transforms: readonly Transform[], from: ImageShape) {
    const tables = tablesOf(transforms, from[0]);
    this.#from = from;
    this.#geometry = transforms;
    this.#values = Float32Array.from(tables.flatMap(({ values }) => values));
    this.#outside = Float32Array.from(tables, ({ outside }) => outside);
    const size = sizeOf(transforms, from);
    this.shape = [from[0], size.height, size.width];
  }

  /**
   * Transforms images that lie one after the other in `pixels`, each with chances of its own, and fills `target` with them. In native code: the loop over the pixels takes 2 µs there
   * for an image of CIFAR-10, and 6 µs in V8's, 8 once any array of the process has been handed on and each access has to look for that.
   */
  run(pixels: Uint8Array, wanted: readonly { index: number; random: Random }[], target: Float32Array): void {
    const [, height, width] = this.shape;
    const views = new Int32Array(4 * wanted.length);
    for (const [place, { index, random }] of wanted.entries()) {
      const { top, left, step } = viewOf(this.#geometry, this.#from, random);
      views.set([index, top, left, step], 4 * place);
    }
    loadNative().lookUpImages(
      pixels,
      this.#from,
      this.#values,
      this.#outside,
      views,
      [height, width],
      target,
    );
  }
}

/** Chance enters in the order of the transforms: a crop draws its row and its column, a flip draws once. */
function viewOf(transforms: readonly Transform[], [, height, width]: ImageShape, random: Random): View {
  const view: View = { top: 0, left: 0, step: 1, width, height };
  for (const transform of transforms) {
    if (transform.kind === 'RandomCrop') crop(view, transform, random);
    else if (transform.kind === 'RandomHorizontalFlip' && random.uniform(0, 1) < transform.p) flip(view);
  }
  return view;
}

function crop(view: View, { height, width, padding }: RandomCrop, random: Random): void {
  const down = random.below(view.height + 2 * padding - height + 1) - padding;
  const right = random.below(view.width + 2 * padding - width + 1) - padding;
  view.top += down;
  view.left += right * view.step;
  view.height = height;
  view.width = width;
}

function flip(view: View): void {
  view.left += (view.width - 1) * view.step;
  view.step = -view.step;
}

/** Of the result; refuses a crop that is larger than what it crops. */
function sizeOf(
  transforms: readonly Transform[],
  [, height, width]: ImageShape,
): { height: number; width: number } {
  let size = { height, width };
  for (const transform of transforms) {
    if (transform.kind !== 'RandomCrop') continue;
    const room = { height: size.height + 2 * transform.padding, width: size.width + 2 * transform.padding };
    if (transform.height > room.height || transform.width > room.width) {
      throw new InvalidArgumentError(
        `RandomCrop: a part of ${transform.height} x ${transform.width} does not fit in images of ${size.height} x ${size.width} ` +
          `with a padding of ${transform.padding}. Crop less, or pad more.`,
      );
    }
    size = { height: transform.height, width: transform.width };
  }
  return size;
}

interface Table {
  values: number[];
  outside: number;
}

/** For each channel: what transforms make of each byte, and of the black that a padding adds, which they see from there on. */
function tablesOf(transforms: readonly Transform[], channels: number): Table[] {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const tables: Table[] = Array.from({ length: channels }, () => ({ values: bytes, outside: 0 }));
  let isTensor = false;
  let isPadded = false;
  const map = (channel: number, change: (value: number) => number) => {
    const { values, outside } = tables[channel];
    tables[channel] = { values: values.map(change), outside: isPadded ? change(outside) : 0 };
  };
  for (const transform of transforms) {
    if (transform.kind === 'RandomCrop' && transform.padding > 0) {
      requireOnePadding(isPadded);
      isPadded = true;
    } else if (transform.kind === 'ToTensor') {
      requireBytes(isTensor);
      isTensor = true;
      for (let channel = 0; channel < channels; channel += 1) map(channel, (value) => value / 255);
    } else if (transform.kind === 'Normalize') {
      requireChannels(transform, channels, isTensor);
      const { mean, std } = transform;
      for (let channel = 0; channel < channels; channel += 1)
        map(channel, (value) => (value - mean[channel]) / std[channel]);
    }
  }
  if (!isTensor)
    throw new InvalidArgumentError(
      'Compose: there is no ToTensor among the transforms, and models take no bytes. Add new ToTensor().',
    );
  return tables;
}

function requireOnePadding(isPadded: boolean): void {
  if (isPadded)
    throw new InvalidArgumentError('Compose: got two RandomCrop with padding. Pad in the first one only.');
}

function requireBytes(isTensor: boolean): void {
  if (isTensor) throw new InvalidArgumentError('Compose: got ToTensor twice. Leave one of them out.');
}

function requireChannels({ mean }: Normalize, channels: number, isTensor: boolean): void {
  if (!isTensor)
    throw new InvalidArgumentError('Compose: Normalize takes what ToTensor makes. Put ToTensor before it.');
  if (mean.length === channels) return;
  throw new InvalidArgumentError(
    `Normalize: got mean and std of ${mean.length} channels for images of ${channels}. Give one number for each channel.`,
  );
}
