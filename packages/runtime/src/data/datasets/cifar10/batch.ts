import { InvalidDataError } from '../invalid-data-error.ts';

/** Red, green, blue; rows; columns. */
export const imageShape = [3, 32, 32] as const;
export const pixelsPerImage = 3 * 32 * 32;
export const classes = 10;

/** Bytes of a record of a batch file: a label and the pixels of its image. */
const recordBytes = 1 + pixelsPerImage;

/**
 * Copies the records of a batch file to `labels` and `pixels`, starting at image `first`. `file` is its name
 * in errors. Throws `InvalidDataError` for an invalid label; `countOf` checks the number of bytes.
 */
export function readBatch(
  bytes: Uint8Array,
  file: string,
  { labels, pixels, first }: { labels: Uint8Array; pixels: Uint8Array; first: number },
): void {
  for (let record = 0; record * recordBytes < bytes.length; record += 1) {
    const start = record * recordBytes;
    if (bytes[start] >= classes) {
      const problem = `label ${record} is ${bytes[start]}, not a class from 0 to ${classes - 1}`;
      throw new InvalidDataError(file, problem, replaceIt);
    }
    labels[first + record] = bytes[start];
    pixels.set(bytes.subarray(start + 1, start + recordBytes), (first + record) * pixelsPerImage);
  }
}

export const replaceIt = 'Replace it by the original, or delete it if ringrun downloaded it, and run again';

/**
 * Number of records in a batch file of `length` bytes. Throws `InvalidDataError` unless it is a positive
 * whole number.
 */
export function countOf(length: number, file: string): number {
  if (length > 0 && length % recordBytes === 0) return length / recordBytes;
  const problem = `it has ${length} bytes, not a multiple of ${recordBytes} (a label and 32 x 32 pixels in 3 colours)`;
  throw new InvalidDataError(file, problem, replaceIt);
}

/** Encodes a batch file. */
export function encodeBatch(labels: Uint8Array, pixels: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(labels.length * recordBytes);
  for (const [image, label] of labels.entries()) {
    bytes[image * recordBytes] = label;
    const pixelsOfImage = pixels.subarray(image * pixelsPerImage, (image + 1) * pixelsPerImage);
    bytes.set(pixelsOfImage, image * recordBytes + 1);
  }
  return bytes;
}
