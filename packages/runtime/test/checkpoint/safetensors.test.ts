import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BFloat16Bits, Float16Bits, InvalidArgumentError } from '@ringrun/core';
import { afterAll, describe, expect, test } from 'vitest';
import { loadSafetensors } from '../../src/checkpoint/load-safetensors.ts';
import { decodeSafetensors, encodeSafetensors } from '../../src/checkpoint/safetensors.ts';
import type { ArrayWithShape } from '../../src/checkpoint/safetensors.ts';
import { mutated } from '../support/mutated.ts';

/** Builds a file from the text of its header and its data. */
function fileOf(header: string, data: readonly number[] = []): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Uint8Array.from([...length, ...text, ...data]);
}

test('encodes length, padded header and elements as the format specifies', () => {
  const tensors = new Map<string, ArrayWithShape>([
    ['a', { shape: [3], data: Uint8Array.of(7, 8, 9) }],
    ['b', { shape: [1, 2], data: Float32Array.of(1, -2) }],
  ]);
  // Wider elements are first. 1 is 3f800000, −2 is c0000000, both little-endian.
  const header =
    '{"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}';
  const padding = ' '.repeat((8 - (header.length % 8)) % 8);
  expect(padding).not.toBe('');
  const expected = fileOf(header + padding, [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 7, 8, 9]);
  expect(Buffer.from(encodeSafetensors(tensors)).equals(Buffer.from(expected))).toBe(true);
});

test('writes metadata into the header, which readers skip', () => {
  const tensors = new Map([['a', { shape: [1], data: Float32Array.of(1) }]]);
  const file = encodeSafetensors(tensors, undefined, { format: 'pt' });
  expect(Buffer.from(file).toString('latin1')).toContain('{"__metadata__":{"format":"pt"},"a":');
  expect(decodeSafetensors(file)).toEqual(tensors);
});

const everyDtype: [dtype: string, tensor: ArrayWithShape][] = [
  ['I8', { shape: [3], data: Int8Array.of(-1, 0, 127) }],
  ['F64', { shape: [2], data: Float64Array.of(Math.PI, -0) }],
  ['BF16', { shape: [1], data: BFloat16Bits.fromFloat32([1.5]) }],
  ['U16', { shape: [2, 1], data: Uint16Array.of(1, 65535) }],
  ['F32', { shape: [], data: Float32Array.of(NaN) }],
  ['I64', { shape: [2], data: BigInt64Array.of(-1n, 2n ** 62n) }],
  ['F16', { shape: [3], data: Float16Bits.fromFloat32([1, 2, 65504]) }],
  ['U64', { shape: [1], data: BigUint64Array.of(2n ** 64n - 1n) }],
  ['U8', { shape: [0, 4], data: new Uint8Array(0) }],
  ['I32', { shape: [1], data: Int32Array.of(-(2 ** 31)) }],
  ['I16', { shape: [1], data: Int16Array.of(-2) }],
  ['U32', { shape: [1], data: Uint32Array.of(2 ** 32 - 1) }],
];

test('round-trips every dtype; each tensor starts at a multiple of its element size', () => {
  const tensors = new Map(everyDtype);
  const file = encodeSafetensors(tensors);
  const header = JSON.parse(Buffer.from(file.subarray(8)).toString().split('}}')[0] + '}}') as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >;
  const found = decodeSafetensors(file);
  for (const [dtype, { shape, data }] of tensors) {
    expect(header[dtype].dtype).toBe(dtype);
    expect(header[dtype].data_offsets[0] % data.BYTES_PER_ELEMENT).toBe(0);
    expect(found.get(dtype)).toEqual({ shape, data });
    expect(found.get(dtype)!.data.constructor).toBe(data.constructor);
    // Views, not copies.
    expect(found.get(dtype)!.data.buffer).toBe(file.buffer);
  }
  expect(found.size).toBe(tensors.size);
});

test('reads metadata, an unpadded header, tensors in any order, and booleans', () => {
  const header =
    '{"__metadata__":{"format":"pt"},"late":{"dtype":"BOOL","shape":[2],"data_offsets":[4,6]},"early":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
  expect((8 + header.length) % 4).not.toBe(0);
  const found = decodeSafetensors(fileOf(header, [0, 0, 0x80, 0x3f, 1, 0]));
  expect(Object.fromEntries(found)).toEqual({
    early: { shape: [1], data: Float32Array.of(1) },
    late: { shape: [2], data: Uint8Array.of(1, 0) },
  });
});

test('reads empty tensors before others, in any order of the header', () => {
  const header =
    '{"full":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"empty":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}';
  expect([...decodeSafetensors(fileOf(header, [7])).keys()]).toEqual(['empty', 'full']);
});

describe('loadSafetensors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'safetensors-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  const stored = (bytes: Uint8Array) => {
    const path = join(folder, 'x.safetensors');
    writeFileSync(path, bytes);
    return path;
  };

  test('loads every dtype, each tensor in its own memory', async () => {
    const tensors = new Map(everyDtype);
    const found = await loadSafetensors(stored(encodeSafetensors(tensors)));
    for (const [name, { shape, data }] of tensors) {
      expect(found.get(name)).toEqual({ shape, data });
      expect(found.get(name)!.data.constructor).toBe(data.constructor);
      expect(found.get(name)!.data.buffer.byteLength).toBe(data.byteLength);
    }
    expect(found.size).toBe(tensors.size);
  });

  test('names a missing file and a folder', async () => {
    await expect(loadSafetensors(join(folder, 'none'))).rejects.toMatchObject({
      code: 'ERR_CHECKPOINT_NOT_FOUND',
    });
    await expect(loadSafetensors(folder)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_READ' });
  });

  const entry = (fields: string) => fileOf(`{"x":{${fields}}}`);
  const huge = Buffer.alloc(10);
  huge.writeBigUInt64LE(2n ** 62n);
  test.each([
    ['a pickle', Buffer.from('PK\u0003\u0004 and so on'), 'it is a zip archive, as torch.save writes'],
    ['a header of 4 EiB', huge, 'its header has 4611686018427388000 bytes, but the file has 10'],
    ['no JSON', fileOf('{"x":'), 'its header is not JSON'],
    ['a list', fileOf('[1]'), 'its header is not a JSON object'],
    [
      'a tensor without offsets',
      entry('"dtype":"F32","shape":[1]'),
      'x has no valid dtype, shape and data_offsets',
    ],
    ['null', fileOf('{"x":null}'), 'x has no valid dtype, shape and data_offsets'],
    [
      'a negative offset',
      entry('"dtype":"U8","shape":[1],"data_offsets":[-1,0]'),
      'x has no valid dtype, shape and data_offsets',
    ],
    [
      'a tensor beyond the end',
      entry('"dtype":"U8","shape":[8589934592],"data_offsets":[0,8589934592]'),
      'got 0 to 8589934592 of 0',
    ],
  ])('rejects %s before allocating memory for it', async (_, bytes, message) => {
    await expect(loadSafetensors(stored(bytes))).rejects.toMatchObject({
      code: 'ERR_CHECKPOINT_DAMAGED',
      message: expect.stringContaining(message) as unknown,
    });
  });
});

test('overwrites all of the memory it receives', () => {
  const tensors = new Map([['x', { shape: [2], data: Float32Array.of(1, 2) }]]);
  const expected = encodeSafetensors(tensors);
  const memory = new Uint8Array(expected.length).fill(0xff);
  expect(encodeSafetensors(tensors, () => memory)).toBe(memory);
  expect(memory).toEqual(expected);
});

describe('rejects', () => {
  const f32 = (offsets: string, shape = '[1]') =>
    `{"x":{"dtype":"F32","shape":${shape},"data_offsets":${offsets}}}`;
  test.each([
    ['a file that is too short', Uint8Array.of(1, 0, 0), 'it has 3 bytes, expected 10 or more'],
    [
      'a header that is longer than the file',
      fileOf('{}').map((byte, i) => (i === 1 ? 1 : byte)),
      'its header has 258 bytes, but the file has 10',
    ],
    [
      'a truncated file',
      fileOf(f32('[0,4]'), [1, 2, 3]),
      'x (F32 [1]): expected bytes 0 to 4, got 0 to 4 of 3',
    ],
    ['a gap', fileOf(f32('[4,8]'), [1, 2, 3, 4, 5, 6, 7, 8]), 'expected bytes 0 to 4'],
    [
      'bytes after the last tensor',
      fileOf(f32('[0,4]'), [1, 2, 3, 4, 5]),
      '1 bytes do not belong to any tensor',
    ],
    [
      'a shape with more elements than the data',
      fileOf(f32('[0,4]', '[2]'), [1, 2, 3, 4]),
      'expected bytes 0 to 8',
    ],
    [
      'an unknown dtype',
      fileOf('{"x":{"dtype":"F4","shape":[],"data_offsets":[0,0]}}'),
      'x has the dtype F4, which ringrun does not read, but F64, F32',
    ],
  ])('%s', (_, file, message) => {
    expect(() => decodeSafetensors(file)).toThrow(message);
  });

  test.each([
    [
      'a length that does not match the shape',
      'x',
      { shape: [3], data: new Float32Array(2) },
      'expected 3 elements for shape [3], got 2',
    ],
    [
      'the reserved name',
      '__metadata__',
      { shape: [], data: new Float32Array(1) },
      'is reserved by the format',
    ],
    [
      'clamped bytes',
      'x',
      { shape: [1], data: new Uint8ClampedArray(1) },
      'expected a typed array with a dtype',
    ],
  ])('encoding %s', (_, name, tensor, message) => {
    const write = () => encodeSafetensors(new Map([[name, tensor as unknown as ArrayWithShape]]));
    expect(write).toThrow(InvalidArgumentError);
    expect(write).toThrow(message);
  });
});

test('400 damaged files are decoded or rejected, and no tensor is larger than its file', () => {
  const file = encodeSafetensors(new Map(everyDtype));
  let rejected = 0;
  for (const bytes of mutated(file, 400)) {
    try {
      for (const { data } of decodeSafetensors(Uint8Array.from(bytes)).values())
        expect(data.byteLength).toBeLessThan(bytes.length);
    } catch (error) {
      expect((error as Error).constructor).toBe(Error);
      rejected += 1;
    }
  }
  expect(rejected).toBeGreaterThan(100);
});
