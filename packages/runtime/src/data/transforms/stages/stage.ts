import type { Random } from '../../random.ts';

/** [channels, height, width] of an image. */
export type ImageShape = readonly [channels: number, height: number, width: number];

/** Images of one shape, one after another in `pixels`, of which a stage reads some. */
export interface ByteImages {
  pixels: Uint8Array;
  /** Positions of the images to read. */
  indices: ArrayLike<number>;
}

/**
 * A part of a pipeline: from images of bytes to images of bytes. Drawing random numbers and applying them are separate, so
 * that the numbers of each image are drawn in the order of the transforms, and pixels change a batch at a time.
 */
export interface ByteStage<Drawn = unknown> {
  /** Shape of the results. */
  readonly shape: ImageShape;
  /** Draws the random numbers of one image. */
  draw(random: Random): Drawn;
  /** Writes the results one after another; `drawn` has the numbers of each image. */
  apply(from: ByteImages, drawn: readonly Drawn[], to: Uint8Array): void;
}

export function elementsOf([channels, height, width]: ImageShape): number {
  return channels * height * width;
}
