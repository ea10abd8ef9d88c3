import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ImageDecoder } from '../../../src/data/images/image-decoder.ts';
import { decodeUncompressed } from '../../../src/data/images/uncompressed-image.ts';
import { ToTensor } from '../../../src/data/transforms/index.ts';

/** Files that Pillow 13.0 wrote, and the pixels that its `Image.open(file).convert('RGB')` reads. */
const golden = JSON.parse(
  readFileSync(new URL('../golden/images.json', import.meta.url), 'utf8'),
) as readonly { name: string; file: string; width: number; height: number; rgb: string }[];

test.each(golden)('$name has the pixels that Pillow reads', async ({ name, file, width, height, rgb }) => {
  const decoder = new ImageDecoder([new ToTensor()]);
  const bytes = Buffer.from(file, 'base64');
  const [{ image }] = await decoder.decode([{ name, bytes, label: 0n, identity: [0] }], {
    seed: 0,
    epoch: 0,
  });
  expect(image.shape).toEqual([3, height, width]);
  const pixels = Buffer.from(rgb, 'base64');
  const expected = Array.from(
    image.data,
    (_, i) => pixels[(i % (width * height)) * 3 + Math.floor(i / (width * height))],
  );
  expect(Array.from(image.data, (value) => Math.round(value * 255))).toEqual(expected);
});

describe('a damaged file never reads outside of its bytes:', () => {
  const uncompressed = golden.filter(({ name }) => /\.(bmp|pgm|ppm)$/.test(name));

  test.each(uncompressed)('$name that ends early', ({ file }) => {
    const whole = Buffer.from(file, 'base64');
    const [isText, lastOf] = [whole.toString('latin1', 0, 2) < 'P4', whole.length - 1];
    for (let length = 2; length < (isText ? lastOf - 4 : lastOf); length += 1)
      expect(() => decodeUncompressed(whole.subarray(0, length)), `${length} bytes`).toThrow(
        /bitmap|portable map|pixels/,
      );
  });

  test('one whose header was changed, at any byte', () => {
    for (const { file } of uncompressed) {
      const whole = Buffer.from(file, 'base64');
      for (let at = 2; at < Math.min(70, whole.length); at += 1) {
        const changed = Uint8Array.from(whole);
        for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
          changed[at] = value;
          try {
            const { data, width, height } = decodeUncompressed(changed)!;
            expect(data.length).toBe(width * height * 3);
          } catch (error) {
            expect(String(error)).toMatch(/bitmap|portable map|pixels/);
          }
        }
      }
    }
  });
});
