import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { InvalidDataError } from '../../../../src/data/datasets/invalid-data-error.ts';
import { encodeIdx, parseIdx } from '../../../../src/data/datasets/mnist/idx.ts';
import { mutated } from '../../../support/mutated.ts';

const images = { shape: [2, 3, 2], data: Uint8Array.from({ length: 12 }, (_, i) => 20 * i) };
const labels = { shape: [3], data: Uint8Array.of(7, 0, 9) };
const imageFile = encodeIdx(images);
const zipped = gzipSync(imageFile);

test('writes big-endian magic number and dimensions, then the bytes', () => {
  expect([...encodeIdx(labels)]).toEqual([0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9]);
});

test.each([
  ['images', imageFile, 3, images],
  ['gzip’d images', zipped, 3, images],
  ['labels', encodeIdx(labels), 1, labels],
  [
    'no labels',
    encodeIdx({ shape: [0], data: new Uint8Array(0) }),
    1,
    { shape: [0], data: new Uint8Array(0) },
  ],
])('reads %s', (_, bytes, dimensions, expected) => {
  const { shape, data } = parseIdx(bytes, 'file', dimensions);
  expect(shape).toEqual(expected.shape);
  expect([...data]).toEqual([...expected.data]);
});

describe('rejects, and names the file:', () => {
  const bent = zipped.with(zipped.length - 20, zipped[zipped.length - 20] ^ 0xff);
  test.each([
    ['an empty file', new Uint8Array(0), 'it is not an IDX file: it is empty where 0x00000803 was expected'],
    [
      'another format',
      Buffer.from('<html>'),
      'it is not an IDX file: it begins with 0x3c68746d where 0x00000803',
    ],
    ['two bytes', Buffer.of(0, 0), 'it begins with 0x0000 where 0x00000803'],
    [
      'elements other than bytes',
      imageFile.with(2, 0x0d),
      'it is not an IDX file: it begins with 0x00000d03',
    ],
    [
      'labels for images',
      encodeIdx(labels),
      'it has 1 dimensions, not 3: it begins with 0x00000801 where 0x00000803',
    ],
    ['half a header', imageFile.subarray(0, 9), 'its header ends after 9 of 16 bytes'],
    [
      'truncated data',
      imageFile.subarray(0, -1),
      'it is truncated: its header says 2 x 3 x 2 = 12 bytes, and 11 follow',
    ],
    [
      'no data',
      imageFile.subarray(0, 16),
      'it is truncated: its header says 2 x 3 x 2 = 12 bytes, and 0 follow',
    ],
    [
      'data after its end',
      Buffer.concat([imageFile, Buffer.of(1)]),
      'it has data after its end: its header says 2 x 3 x 2 = 12',
    ],
    [
      'dimensions beyond the file',
      Uint8Array.from(imageFile).fill(0xff, 4, 16),
      'it is truncated: its header says 4294967295 x',
    ],
    [
      'truncated gzip data',
      zipped.subarray(0, -10),
      'its gzip data is corrupt or incomplete (unexpected end of file)',
    ],
    ['corrupt gzip data', bent, 'its gzip data is corrupt or incomplete ('],
    ['truncated data in whole gzip data', gzipSync(encodeIdx(images).subarray(0, -3)), 'and 9 follow'],
  ])('%s', (_, bytes, problem) => {
    const parse = () => parseIdx(bytes, '/data/train-images', 3);
    expect(parse).toThrow(InvalidDataError);
    expect(parse).toThrow(`/data/train-images: `);
    expect(parse).toThrow(problem);
    expect(parse).toThrow('Replace it by the original');
  });
});

describe('gzip data that expands to more than the size in its header', () => {
  const bomb = (shape: readonly number[], bytes: number) =>
    gzipSync(Buffer.concat([encodeIdx({ shape, data: new Uint8Array(0) }), Buffer.alloc(bytes)]));

  test.each([
    [
      'data after its end',
      bomb([2, 3, 2], 2 ** 24),
      'it has data after its end: its header says 2 x 3 x 2 = 12 bytes, and its gzip data expands to more',
    ],
    [
      'a header of 3 GB',
      bomb([50_000, 300, 200], 0),
      'its header says 50000 x 300 x 200 = 3000000000 bytes, expected at most 1073741824 in a gzip file',
    ],
  ])('%s: names the claim and the bound', (_, bytes, problem) => {
    expect(() => parseIdx(bytes, '/data/images.gz', 3)).toThrow(`/data/images.gz: ${problem}`);
  });
});

test('400 damaged files are read or rejected by name', () => {
  let rejected = 0;
  for (const bytes of [...mutated(imageFile, 200), ...mutated(zipped, 200)]) {
    try {
      const { shape, data } = parseIdx(bytes, '/data/images', 3);
      expect(shape.reduce((product, size) => product * size)).toBe(data.length);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidDataError);
      expect((error as Error).message).toMatch(/^\/data\/images: /);
      rejected += 1;
    }
  }
  expect(rejected).toBeGreaterThan(200);
});
