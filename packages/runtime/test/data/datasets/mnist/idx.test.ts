import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { InvalidDataError } from '../../../../src/data/datasets/invalid-data-error.ts';
import { encodeIdx, parseIdx } from '../../../../src/data/datasets/mnist/idx.ts';

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
    ['an empty file', new Uint8Array(0), 'it is no IDX file: it is empty where 0x00000803 was expected'],
    [
      'another format',
      Buffer.from('<html>'),
      'it is no IDX file: it begins with 0x3c68746d where 0x00000803',
    ],
    ['two bytes', Buffer.of(0, 0), 'it begins with 0x0000 where 0x00000803'],
    ['elements other than bytes', imageFile.with(2, 0x0d), 'it is no IDX file: it begins with 0x00000d03'],
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
