import { channels } from './pixels.ts';
import type { Pixels } from './pixels.ts';

/*
 * Windows bitmaps (.bmp) and portable maps (.ppm, .pgm), which torchvision reads, but the published builds of sharp do
 * not.
 */

/** An image of 4 GiB has a damaged header. */
const maxPixels = 2 ** 30;

/**
 * Decodes a bitmap or a portable map to RGB, by its first bytes; undefined for other files.
 *
 * @throws Error with the damaged or unsupported part
 */
export function decodeUncompressed(file: Uint8Array): Pixels | undefined {
  const magic = String.fromCharCode(...file.subarray(0, 2));
  if (magic === 'BM') return decodeBitmap(file);
  return /^P[2356]$/.test(magic) ? decodePortableMap(file, Number(magic[1])) : undefined;
}

/** Little-endian. A file header of 14 bytes, an information header, a palette, and rows of whole 4-byte words. */
function decodeBitmap(file: Uint8Array): Pixels {
  if (file.length < 54) throw new Error('the bitmap ends within its header');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const [start, headerBytes] = [view.getUint32(10, true), view.getUint32(14, true)];
  const [width, signedHeight] = [view.getInt32(18, true), view.getInt32(22, true)];
  const [bits, compression] = [view.getUint16(28, true), view.getUint32(30, true)];
  const height = Math.abs(signedHeight);
  if (headerBytes < 40 || ![1, 4, 8, 24, 32].includes(bits) || !isPlain(view, bits, compression))
    throw new Error(`bitmaps with ${bits} bits of compression ${compression} are not supported`);
  requireExtent(width, height);
  const rowBytes = 4 * Math.ceil((width * bits) / 32);
  if (start + rowBytes * height > file.length) throw new Error('the bitmap ends before its last row');
  const data = new Uint8Array(width * height * channels);
  const palette = file.subarray(14 + headerBytes, start);
  for (let y = 0; y < height; y += 1) {
    // Rows begin at the bottom, unless the height is negative.
    const row = start + (signedHeight < 0 ? y : height - 1 - y) * rowBytes;
    for (let x = 0; x < width; x += 1) {
      const [source, at] =
        bits >= 24 ? [file, row + (x * bits) / 8] : [palette, 4 * indexAt(file, row, x, bits)];
      if (at + 2 >= source.length)
        throw new Error('a pixel of the bitmap has a colour outside of its palette');
      const to = (y * width + x) * channels;
      data[to] = source[at + 2];
      data[to + 1] = source[at + 1];
      data[to + 2] = source[at];
    }
  }
  return { data, width, height };
}

/** Without compression, or with masks (3) equal to the default layout of 32 bits: blue, green, red. */
function isPlain(view: DataView, bits: number, compression: number): boolean {
  if (compression === 0) return true;
  if (compression !== 3 || bits !== 32 || view.byteLength < 66) return false;
  const masks = [54, 58, 62].map((at) => view.getUint32(at, true));
  return masks[0] === 0xff0000 && masks[1] === 0xff00 && masks[2] === 0xff;
}

/** The leftmost pixel of a byte has its highest bits. */
function indexAt(file: Uint8Array, row: number, x: number, bits: number): number {
  const bit = x * bits;
  return (file[row + (bit >> 3)] >> (8 - bits - (bit & 7))) & (2 ** bits - 1);
}

/** Width, height and the largest value as text, and the values: 2 and 3 as text, 5 and 6 as bytes; 2 and 5 are grey. */
function decodePortableMap(file: Uint8Array, kind: number): Pixels {
  const numbers = new TextNumbers(file, 2);
  const [width, height, most] = [numbers.next(), numbers.next(), numbers.next()];
  requireExtent(width, height);
  if (most < 1 || most > 255) throw new Error(`portable maps with values up to ${most} are not supported`);
  const own = kind === 3 || kind === 6 ? 3 : 1;
  // One whitespace character ends the header.
  const bytes = kind >= 5 ? file.subarray(numbers.position + 1) : undefined;
  // As text, each value takes a digit and a space, but for the last one.
  const values = bytes?.length ?? (file.length - numbers.position) / 2;
  if (values < width * height * own) throw new Error('the portable map ends before its last row');
  const data = new Uint8Array(width * height * channels);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    for (let channel = 0; channel < own; channel += 1) {
      const value = bytes ? bytes[pixel * own + channel] : numbers.next();
      const level = Math.min(255, Math.round((value / most) * 255));
      const to = pixel * channels + channel;
      data.fill(level, to, own === 1 ? to + channels : to + 1);
    }
  }
  return { data, width, height };
}

/** Decimal numbers between whitespace, with comments from # to the end of the line. */
class TextNumbers {
  position: number;
  readonly #file: Uint8Array;

  constructor(file: Uint8Array, position: number) {
    this.#file = file;
    this.position = position;
  }

  next(): number {
    for (let isComment = false; this.position < this.#file.length; this.position += 1) {
      const byte = this.#file[this.position];
      if (byte === 0x23) isComment = true;
      else if (byte === 0x0a) isComment = false;
      else if (!isComment && !isSpace(byte)) break;
    }
    const start = this.position;
    while (isDigit(this.#file[this.position])) this.position += 1;
    if (start === this.position || this.position - start > 9)
      throw new Error(`the portable map has no number at byte ${start}`);
    return Number(String.fromCharCode(...this.#file.subarray(start, this.position)));
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function requireExtent(width: number, height: number): void {
  if (width < 1 || height < 1 || width * height > maxPixels)
    throw new Error(`an image of ${width} x ${height} pixels is not supported`);
}
