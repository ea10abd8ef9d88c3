import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { ProcessGroup } from '@ringrun/collectives';
import {
  BFloat16Bits,
  createGlooGroup,
  dtypeOf,
  Float16Bits,
  HashStore,
  InvalidArgumentError,
  reduceOpsFor,
} from '@ringrun/collectives';

describe('a group of one', () => {
  let group: ProcessGroup;
  beforeAll(async () => {
    group = await createGlooGroup({ store: new HashStore(), rank: 0, size: 1 });
  });
  afterAll(() => group.destroy());

  const tensor = new Float32Array([1, 2, 3]);
  const refusals: [string, () => unknown, RegExp][] = [
    [
      'an Int16Array',
      () => {
        group.allReduceSync(new Int16Array(3) as never);
      },
      /tensor is of class Int16Array, expected one of Float32Array, Float64Array, Int8Array, Uint8Array, .*BigUint64Array, Float16Bits, BFloat16Bits$/,
    ],
    [
      'a Uint16Array',
      () => {
        group.broadcastSync(new Uint16Array(3) as never);
      },
      /tensor is of class Uint16Array, expected one of Float32Array.*new Float16Bits\(array\.buffer, array\.byteOffset, array\.length\) or new BFloat16Bits/,
    ],
    [
      'a Uint8ClampedArray',
      () => {
        group.allReduceSync(new Uint8ClampedArray(3) as never);
      },
      /tensor is of class Uint8ClampedArray, expected one of Float32Array/,
    ],
    [
      'a DataView',
      () => {
        group.broadcastSync(new DataView(new ArrayBuffer(8)) as never);
      },
      /tensor is of class DataView, expected one of Float32Array/,
    ],
    [
      'no tensor',
      () => {
        group.broadcastSync(undefined as never);
      },
      /tensor is undefined, expected one of Float32Array/,
    ],
    [
      'an unknown op',
      () => {
        group.allReduceSync(tensor, { op: 'MEDIAN' as never });
      },
      /op is 'MEDIAN', expected one of .*SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR/,
    ],
    [
      'a source beyond the group',
      () => {
        group.broadcastSync(tensor, { src: 1 });
      },
      /src is 1, expected .* from 0 to 0/,
    ],
    [
      'a fractional source',
      () => {
        group.broadcastSync(tensor, { src: 0.5 });
      },
      /src is 0\.5/,
    ],
    [
      'an unknown dtype',
      () => group.allocateSync('int7' as never, 1),
      /dtype is 'int7', expected one of float32/,
    ],
    ['a negative length', () => group.allocateSync('float32', -1), /length is -1/],
    [
      'a timeout of zero',
      () => {
        group.barrierSync({ timeoutMs: 0 });
      },
      /timeoutMs is 0, expected milliseconds/,
    ],
    [
      'a timeout that is no number',
      () => {
        group.barrierSync({ timeoutMs: '5' as never });
      },
      /timeoutMs is '5'/,
    ],
  ];

  const integerArrays = [Int8Array, Uint8Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
  const meaningless = [
    ...integerArrays.map((TensorClass) => ({ op: 'AVG' as const, TensorClass })),
    ...[Float32Array, Float64Array, Float16Bits, BFloat16Bits].flatMap((TensorClass) =>
      (['BAND', 'BOR', 'BXOR'] as const).map((op) => ({ op, TensorClass })),
    ),
  ];

  test.each(meaningless)('refuses $op of $TensorClass.name, and says what works', ({ op, TensorClass }) => {
    const array = new TensorClass(3);
    const dtype = dtypeOf(array)!;
    const call = () => {
      group.allReduceSync(array, { op });
    };
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(`op is ${op} and the tensor's dtype ${dtype}: `);
    expect(call).toThrow(`For ${dtype} there are ${reduceOpsFor(dtype).join(', ')}; ${op} is for `);
  });

  test('takes a Buffer as uint8', () => {
    const buffer = Buffer.from([1, 2, 255]);
    group.allReduceSync(buffer, { op: 'MAX' });
    expect([...buffer]).toEqual([1, 2, 255]);
  });

  test.each(refusals)('refuses %s', (_what, call, message) => {
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(message);
  });

  test('rejects the promise where the call is asynchronous', async () => {
    await expect(group.allReduce('x' as never)).rejects.toThrow(/tensor is 'x'/);
    await expect(group.broadcast(tensor, { src: -1 })).rejects.toThrow(/src is -1/);
    await expect(group.barrier({ timeoutMs: NaN })).rejects.toThrow(/timeoutMs is NaN/);
  });

  test('is still usable, and its sum and average are the values themselves', async () => {
    await group.allReduce(tensor);
    group.allReduceSync(tensor, { op: 'AVG' });
    await group.broadcast(tensor);
    await group.barrier();
    expect([...tensor]).toEqual([1, 2, 3]);
    expect(group.allocateSync('float32', 3)).toEqual(new Float32Array(3));
    expect(group.allocateSync('uint8', 3)).toEqual(new Uint8Array(3));
    expect(group.allocateSync('int64', 3)).toEqual(new BigInt64Array(3));
  });
});

test.each([
  [{ rank: 2, size: 2 }, /rank is 2, expected .* from 0 to 1/],
  [{ rank: 0, size: 0 }, /size is 0/],
  [{ rank: 0, size: 1, timeoutMs: -5 }, /timeoutMs is -5/],
  [{ rank: 0, size: 1, transport: 'ib' as never }, /'ib', expected 'shm' or 'tcp'/],
  [{ rank: 0, size: 2, masterAddress: '256.1.1.1.invalid' }, /set MASTER_ADDR/],
])('createGlooGroup refuses %o', async (settings, message) => {
  const call = createGlooGroup({ store: new HashStore(), ...settings });
  await expect(call).rejects.toThrow(InvalidArgumentError);
  await expect(call).rejects.toThrow(message);
});
