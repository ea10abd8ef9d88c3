import type { Random } from '../../random.ts';
import { perChannel } from '../arguments.ts';
import type { RandomErasing } from '../random-erasing.ts';
import { elementsOf } from './stage.ts';
import type { ImageShape } from './stage.ts';

/** An erased rectangle. */
export interface Erasure {
  top: number;
  left: number;
  height: number;
  width: number;
  /** A value for each pixel of each channel; undefined if each channel has one value. */
  noise: Float32Array | undefined;
}

/** Maps the value of a channel, as transforms after the erasing do. */
export type ValueMap = (value: number, channel: number) => number;

/** Erases rectangles of tensors, in place. */
export class EraseStage {
  /** Applied to erased values. */
  readonly maps: ValueMap[] = [];
  readonly #shape: ImageShape;
  readonly #transform: RandomErasing;
  readonly #values: readonly number[];

  /** @throws InvalidArgumentError if `value` is for other channels */
  constructor(shape: ImageShape, transform: RandomErasing) {
    this.#shape = shape;
    this.#transform = transform;
    const { value } = transform;
    this.#values = value === 'random' ? [] : perChannel(value, shape[0], 'RandomErasing', 'value');
  }

  /** As torchvision: ten attempts at a random area and ratio. Undefined if nothing is erased. */
  draw(random: Random): Erasure | undefined {
    const [channels, rows, columns] = this.#shape;
    const { p, scale, ratio, value } = this.#transform;
    if (random.uniform(0, 1) >= p) return undefined;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const area = rows * columns * random.uniform(...scale);
      const aspect = Math.exp(random.uniform(Math.log(ratio[0]), Math.log(ratio[1])));
      const height = Math.round(Math.sqrt(area * aspect));
      const width = Math.round(Math.sqrt(area / aspect));
      if (height >= rows || width >= columns) continue;
      const top = random.below(rows - height + 1);
      const left = random.below(columns - width + 1);
      const count = channels * height * width;
      const noise =
        value === 'random' ? Float32Array.from({ length: count }, () => random.normal()) : undefined;
      return { top, left, height, width, noise };
    }
    return undefined;
  }

  /** `images`: one after another; `drawn` has the rectangle of each. */
  apply(images: Float32Array, drawn: readonly (Erasure | undefined)[]): void {
    for (const [position, erasure] of drawn.entries())
      if (erasure) this.#erase(images, position * elementsOf(this.#shape), erasure);
  }

  #erase(images: Float32Array, begin: number, { top, left, height, width, noise }: Erasure): void {
    const [channels, rows, columns] = this.#shape;
    for (let channel = 0; channel < channels; channel += 1) {
      const mapped = (value: number) => this.maps.reduce((result, map) => map(result, channel), value);
      const value = noise ? 0 : mapped(this.#values[channel]);
      for (let y = 0; y < height; y += 1) {
        const row = begin + (channel * rows + top + y) * columns + left;
        if (!noise) images.fill(value, row, row + width);
        else
          for (let x = 0; x < width; x += 1)
            images[row + x] = mapped(noise[(channel * height + y) * width + x]);
      }
    }
  }
}
