import { InvalidArgumentError } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import type { Random } from '../../random.ts';
import type { ColorJitter, ColorTransform } from '../colors.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';
import { elementsOf } from './stage.ts';

/** Operations of the addon, by number. */
export const colorOperations = { brightness: 0, contrast: 1, saturation: 2, hue: 3, gray: 4 } as const;

/** One change of an image's colours. */
export interface ColorStep {
  operation: number;
  factor: number;
}

const toGray: ColorStep = { operation: colorOperations.gray, factor: 0 };

/** Changes the colours of images, and the number of their channels for Grayscale. */
export class ColorStage implements ByteStage<readonly ColorStep[]> {
  readonly shape: ImageShape;
  readonly #from: ImageShape;
  readonly #transform: ColorTransform;

  /** @throws InvalidArgumentError for images of other than 1 or 3 channels */
  constructor(from: ImageShape, transform: ColorTransform) {
    const [channels, height, width] = from;
    if (channels !== 1 && channels !== 3)
      throw new InvalidArgumentError(
        `${transform.kind}: expected images of 1 or 3 channels, got ${channels} channels. Leave it out.`,
      );
    this.shape = [transform.kind === 'Grayscale' ? transform.numOutputChannels : channels, height, width];
    this.#from = from;
    this.#transform = transform;
  }

  draw(random: Random): readonly ColorStep[] {
    const transform = this.#transform;
    if (transform.kind === 'ColorJitter') return jitter(transform, random);
    return transform.kind === 'Grayscale' || random.uniform(0, 1) < transform.p ? [toGray] : [];
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly (readonly ColorStep[])[], to: Uint8Array): void {
    const size = elementsOf(this.#from);
    const isSameShape = elementsOf(this.shape) === size;
    const changed = isSameShape ? to : new Uint8Array(drawn.length * size);
    for (let position = 0; position < drawn.length; position += 1) {
      const begin = indices[position] * size;
      changed.set(pixels.subarray(begin, begin + size), position * size);
    }
    const rows = drawn.flatMap((steps, position) =>
      steps.flatMap(({ operation, factor }) => [position, operation, factor]),
    );
    loadNative().adjustColors(changed, this.#from, Float64Array.from(rows));
    if (!isSameShape) this.#copyFirstChannel(changed, to, drawn.length);
  }

  /** The gray level is in the first channel, and in all channels of the result. */
  #copyFirstChannel(from: Uint8Array, to: Uint8Array, count: number): void {
    const [channels, height, width] = this.shape;
    const plane = height * width;
    for (let position = 0; position < count; position += 1) {
      const begin = position * this.#from[0] * plane;
      const level = from.subarray(begin, begin + plane);
      for (let channel = 0; channel < channels; channel += 1)
        to.set(level, (position * channels + channel) * plane);
    }
  }
}

/** A random order of the operations, then the factor of each, as in torchvision. */
function jitter(transform: ColorJitter, random: Random): ColorStep[] {
  const names = ['brightness', 'contrast', 'saturation', 'hue'] as const;
  const order = shuffled([0, 1, 2, 3], random);
  const drawn = names.map((name) => {
    const range = transform[name];
    return range && { operation: colorOperations[name], factor: random.uniform(...range) };
  });
  return order.map((position) => drawn[position]).filter((step) => step !== undefined);
}

function shuffled(list: number[], random: Random): number[] {
  for (let end = list.length; end > 1; end -= 1) {
    const chosen = random.below(end);
    [list[end - 1], list[chosen]] = [list[chosen], list[end - 1]];
  }
  return list;
}
