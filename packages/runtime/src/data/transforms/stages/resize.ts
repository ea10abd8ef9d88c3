import { loadNative } from '@ringrun/native';
import type { Random } from '../../random.ts';
import type { RandomResizedCrop, Resize } from '../image-file-transforms.ts';
import { randomPart, resized } from '../steps.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';

/** A rectangle of an image, in pixels. */
export interface ImagePart {
  top: number;
  left: number;
  height: number;
  width: number;
}

/** Resizes images, or random parts of them. */
export class ResizeStage implements ByteStage<ImagePart> {
  readonly shape: ImageShape;
  readonly #from: ImageShape;
  readonly #transform: Resize | RandomResizedCrop;

  constructor(from: ImageShape, transform: Resize | RandomResizedCrop) {
    const [channels, height, width] = from;
    const to =
      transform.kind === 'Resize'
        ? resized(transform.size, { height, width })
        : { height: transform.size[0], width: transform.size[1] };
    this.shape = [channels, to.height, to.width];
    this.#from = from;
    this.#transform = transform;
  }

  draw(random: Random): ImagePart {
    const [, height, width] = this.#from;
    if (this.#transform.kind === 'Resize') return { top: 0, left: 0, height, width };
    return randomPart(this.#transform, { height, width }, random);
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly ImagePart[], to: Uint8Array): void {
    const rows = drawn.flatMap(({ top, left, height, width }, position) => [
      indices[position],
      top,
      left,
      height,
      width,
    ]);
    const [, height, width] = this.shape;
    loadNative().resizeImages(pixels, this.#from, Int32Array.from(rows), [height, width], to);
  }
}
