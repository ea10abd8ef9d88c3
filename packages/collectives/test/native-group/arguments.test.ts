import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCpuGroup, HashStore } from '@ringrun/collectives';
import { BFloat16Bits, dtypeOf, Float16Bits, InvalidArgumentError, reduceOpsFor } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';

describe('a group of one', () => {
  let group: ProcessGroup;
  beforeAll(async () => {
    group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
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
      'one array in place of a list',
      () => {
        group.allReduceCoalescedSync(tensor as never);
      },
      /tensors is of class Float32Array, expected a list of arrays/,
    ],
    [
      'a list of two dtypes',
      () => {
        group.allReduceCoalescedSync([tensor, new Int32Array(3)]);
      },
      /tensors\[1\] has dtype int32, expected float32, the dtype of tensors\[0\]/,
    ],
    [
      'a list with a hole',
      () => {
        // eslint-disable-next-line no-sparse-arrays -- the hole is refused
        group.allReduceCoalescedSync([tensor, , tensor] as never);
      },
      /tensors\[1\] is undefined, expected one of Float32Array/,
    ],
    [
      'an unknown op for an empty list',
      () => {
        group.allReduceCoalescedSync([], { op: 'MEDIAN' as never });
      },
      /op is 'MEDIAN', expected one of/,
    ],
    [
      'an average of lists of integers',
      () => {
        group.allReduceCoalescedSync([new Int32Array(3)], { op: 'AVG' });
      },
      /op is AVG and the tensor's dtype int32/,
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
      'a timeout that is not a number',
      () => {
        group.barrierSync({ timeoutMs: '5' as never });
      },
      /timeoutMs is '5'/,
    ],
  ];

  const messages: [string, () => unknown, RegExp][] = [
    [
      'a destination beyond the group',
      () => group.isend(tensor, 1),
      /dst is 1, expected a rank .* from 0 to 0/,
    ],
    ['itself as destination', () => group.isend(tensor, 0), /dst is 0, which is this rank itself/],
    ['itself as source', () => group.irecv(tensor, { src: 0 }), /src is 0, which is this rank itself/],
    [
      'a receive from any rank in a group of one',
      () => group.irecv(tensor),
      /recv was called in a group of one, expected .* two or more/,
    ],
    [
      'a list as a message',
      () => group.isend([tensor] as never, 0),
      /tensor is a list of 1, expected one of Float32Array/,
    ],
  ];

  test.each(messages)('refuses %s synchronously', (_what, call, message) => {
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(message);
  });

  const rejections: [string, () => Promise<unknown>, RegExp][] = [
    [
      'reduce to an unknown rank',
      () => group.reduce(tensor, { dst: 3 }),
      /dst is 3, expected .* from 0 to 0/,
    ],
    [
      'an average of integers in reduce',
      () => group.reduce(new Int32Array(2), { op: 'AVG' }),
      /op is AVG and the tensor's dtype int32/,
    ],
    [
      'bits of floating point in reduceScatter',
      () => group.reduceScatter(tensor, tensor, { op: 'BOR' }),
      /op is BOR and the tensor's dtype float32/,
    ],
    [
      'reduceScatter of an input that is too long',
      () => group.reduceScatter(new Float32Array(2), tensor),
      /input has 3 elements, expected 2: 1 rank, 2 elements of output for each/,
    ],
    [
      'allGather into an output that is too short',
      () => group.allGather(new Float32Array(2), tensor),
      /output has 2 elements, expected 3/,
    ],
    ['gather without output', () => group.gather(tensor), /output is missing on rank 0, which is dst/],
    ['scatter without input', () => group.scatter(tensor), /input is missing on rank 0, which is src/],
    ['send to itself', () => group.send(tensor, 0), /dst is 0, which is this rank itself/],
    ['recv from an unknown rank', () => group.recv(tensor, { src: -1 }), /src is -1, expected a rank/],
    ['a barrier with a timeout of 0', () => group.monitoredBarrier({ timeoutMs: 0 }), /timeoutMs is 0/],
    [
      'an object from an unknown rank',
      () => group.broadcastObject(1, { src: 1 }),
      /src is 1, expected a rank/,
    ],
    ['objects to an unknown rank', () => group.gatherObject(1, { dst: 0.5 }), /dst is 0\.5, expected a rank/],
    [
      'an object collective with a negative timeout',
      () => group.allGatherObject(1, { timeoutMs: -1 }),
      /timeoutMs is -1/,
    ],
    [
      'a function in an object',
      () => group.broadcastObject({ hooks: [1, test] }),
      /object\.hooks\[1\] is a function/,
    ],
  ];

  test.each(rejections)('rejects %s', async (_what, call, message) => {
    const rejected = call();
    await expect(rejected).rejects.toThrow(InvalidArgumentError);
    await expect(rejected).rejects.toThrow(message);
  });

  const integerArrays = [Int8Array, Uint8Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
  const meaningless = [
    ...integerArrays.map((TensorClass) => ({ op: 'AVG' as const, TensorClass })),
    ...[Float32Array, Float64Array, Float16Bits, BFloat16Bits].flatMap((TensorClass) =>
      (['BAND', 'BOR', 'BXOR'] as const).map((op) => ({ op, TensorClass })),
    ),
  ];

  test.each(meaningless)(
    'refuses $op of $TensorClass.name, and lists the supported ops',
    ({ op, TensorClass }) => {
      const array = new TensorClass(3);
      const dtype = dtypeOf(array)!;
      const call = () => {
        group.allReduceSync(array, { op });
      };
      expect(call).toThrow(InvalidArgumentError);
      expect(call).toThrow(`op is ${op} and the tensor's dtype ${dtype}: `);
      expect(call).toThrow(`${dtype} supports ${reduceOpsFor(dtype).join(', ')}; ${op} supports `);
    },
  );

  test('accepts a Buffer as uint8', () => {
    const buffer = Buffer.from([1, 2, 255]);
    group.allReduceSync(buffer, { op: 'MAX' });
    expect([...buffer]).toEqual([1, 2, 255]);
  });

  test.each(refusals)('refuses %s', (_what, call, message) => {
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(message);
  });

  test('rejects the promise of an asynchronous call', async () => {
    await expect(group.allReduce('x' as never)).rejects.toThrow(/tensor is 'x'/);
    await expect(group.broadcast(tensor, { src: -1 })).rejects.toThrow(/src is -1/);
    await expect(group.barrier({ timeoutMs: NaN })).rejects.toThrow(/timeoutMs is NaN/);
  });

  test('remains usable: its sum and average are the values themselves', async () => {
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
  [{ rank: 0, size: 2, masterAddress: '256.1.1.1.invalid', timeoutMs: 600 }, /set MASTER_ADDR/],
])('createCpuGroup refuses %o', async (settings, message) => {
  const call = createCpuGroup({ store: new HashStore(), ...settings });
  await expect(call).rejects.toThrow(InvalidArgumentError);
  await expect(call).rejects.toThrow(message);
});
