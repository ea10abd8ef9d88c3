import type { Dataset, ImageDataset, ImageSample } from 'ringrun';

/** The images of MNIST from one digit on, which becomes class 0. */
export class DigitsFrom implements Dataset<ImageSample> {
  readonly length: number;
  readonly #images: ImageDataset;
  readonly #first: bigint;
  readonly #indices: readonly number[];

  /** @param count number of leading images of `images` to search, at most all */
  constructor(first: number, images: ImageDataset, count = images.length) {
    this.#first = BigInt(first);
    this.#images = images;
    const looked = [...Array(Math.min(count, images.length)).keys()];
    this.#indices = looked.filter((index) => images.at(index).label >= this.#first);
    this.length = this.#indices.length;
  }

  at(index: number): ImageSample {
    const { image, label } = this.#images.at(this.#indices[index]);
    return { image, label: label - this.#first };
  }
}
