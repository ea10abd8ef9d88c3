import { InvalidArgumentError } from '@ringrun/core';
import type { Pad, PaddingMode } from '../geometry.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';
import { elementsOf } from './stage.ts';

/** Adds borders of an image's own pixels. Borders of one colour are part of a view. */
export class PadStage implements ByteStage<undefined> {
  readonly shape: ImageShape;
  readonly #from: ImageShape;
  /** For each row of the result, the image's row. */
  readonly #rows: readonly number[];
  /** For each column of the result, the image's column. */
  readonly #columns: readonly number[];
  /** Columns of the result before those of the image itself. */
  readonly #left: number;

  /**
   * @param who name of the transform, for messages
   * @throws InvalidArgumentError for a border that is wider than the pixels it shows
   */
  constructor(from: ImageShape, { padding, paddingMode }: Pick<Pad, 'padding' | 'paddingMode'>, who: string) {
    const [channels, height, width] = from;
    const [left, top, right, bottom] = padding;
    const most = (length: number) =>
      paddingMode === 'reflect' ? length - 1 : paddingMode === 'symmetric' ? length : Infinity;
    if (Math.max(top, bottom) > most(height) || Math.max(left, right) > most(width))
      throw new InvalidArgumentError(
        `${who}: expected a ${paddingMode} padding of at most ${most(width)} x ${most(height)} for images of ${width} x ${height}, got [${padding.join(', ')}]. Pad less, or choose 'edge'.`,
      );
    this.shape = [channels, height + top + bottom, width + left + right];
    this.#from = from;
    this.#rows = positions(paddingMode, height, top, bottom);
    this.#columns = positions(paddingMode, width, left, right);
    this.#left = left;
  }

  draw(): undefined {
    return undefined;
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly undefined[], to: Uint8Array): void {
    const [channels, height, width] = this.#from;
    const columns = this.#columns;
    let target = 0;
    for (let position = 0; position < drawn.length; position += 1) {
      for (let channel = 0; channel < channels; channel += 1) {
        const plane = indices[position] * elementsOf(this.#from) + channel * height * width;
        for (const row of this.#rows) {
          const begin = plane + row * width;
          to.set(pixels.subarray(begin, begin + width), target + this.#left);
          for (let x = 0; x < this.#left; x += 1) to[target + x] = pixels[begin + columns[x]];
          for (let x = this.#left + width; x < columns.length; x += 1)
            to[target + x] = pixels[begin + columns[x]];
          target += columns.length;
        }
      }
    }
  }
}

/** Which of `length` pixels each pixel shows, from `before` in front of them to `after` behind. */
function positions(mode: PaddingMode, length: number, before: number, after: number): number[] {
  return Array.from({ length: before + length + after }, (_, index) => {
    const position = index - before;
    if (mode === 'edge') return Math.min(Math.max(position, 0), length - 1);
    // The edge itself is shown twice by 'symmetric', and once by 'reflect'.
    const edge = mode === 'symmetric' ? 1 : 0;
    if (position < 0) return -position - edge;
    return position < length ? position : 2 * (length - 1) - position + edge;
  });
}
