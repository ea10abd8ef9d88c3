import type { Random } from '../../random.ts';
import type { ColorTransform } from '../colors.ts';
import { ColorStage } from './colors.ts';
import type { ColorStep } from './colors.ts';
import { ResizeStage } from './resize.ts';
import type { ImagePart } from './resize.ts';
import { elementsOf } from './stage.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';

/** Resizes masks by the nearest pixel, as torchvision's v2.functional.resize does for a Mask. */
export class NearestResizeStage extends ResizeStage {
  readonly #masks: ImageShape;

  constructor(...args: ConstructorParameters<typeof ResizeStage>) {
    super(...args);
    this.#masks = args[0];
  }

  override apply({ pixels, indices }: ByteImages, drawn: readonly ImagePart[], to: Uint8Array): void {
    const [channels, height, width] = this.shape;
    const [, fromHeight, fromWidth] = this.#masks;
    let target = 0;
    for (const [position, part] of drawn.entries()) {
      const rows = nearest(part.top, part.height, height);
      const columns = nearest(part.left, part.width, width);
      for (let channel = 0; channel < channels; channel += 1) {
        const plane = indices[position] * elementsOf(this.#masks) + channel * fromHeight * fromWidth;
        for (const row of rows)
          for (const column of columns) to[target++] = pixels[plane + row * fromWidth + column];
      }
    }
  }
}

/** Which of `from` pixels each of `to` pixels shows. In float32, as torch computes it. */
function nearest(begin: number, from: number, to: number): number[] {
  const scale = Math.fround(from / to);
  return Array.from(
    { length: to },
    (_, index) => begin + Math.min(from - 1, Math.floor(Math.fround(index * scale))),
  );
}

/** Draws the random numbers of a change of colours, and copies masks. */
export class UnchangedStage implements ByteStage<readonly ColorStep[]> {
  readonly shape: ImageShape;
  readonly #colors: ColorStage;

  constructor(shape: ImageShape, transform: ColorTransform) {
    this.shape = shape;
    this.#colors = new ColorStage(shape, transform);
  }

  draw(random: Random): readonly ColorStep[] {
    return this.#colors.draw(random);
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly unknown[], to: Uint8Array): void {
    const size = elementsOf(this.shape);
    for (let position = 0; position < drawn.length; position += 1) {
      const begin = indices[position] * size;
      to.set(pixels.subarray(begin, begin + size), position * size);
    }
  }
}
