import { expect, test, vi } from 'vitest';
import type { GpuProduct, NativeTensor } from '@ringrun/native';
import { fakeDevice } from './fake-device.ts';

const device = fakeDevice();

/** Small integers, whose sums of products are exact in float32 and bfloat16's products are too. */
const integers = (length: number, seed: number) =>
  Float32Array.from({ length }, (_, i) => ((i * 7 + seed * 3) % 9) - 4);

const toBfloat16 = (array: Float32Array) =>
  Uint16Array.from(new Uint32Array(array.buffer), (bits) => bits >>> 16);
const fromBfloat16 = (array: Uint16Array) =>
  new Float32Array(Uint32Array.from(array, (bits) => bits << 16).buffer);

/** Carries out a product whose operands are slots: left, right, start, bias, result. */
async function multiply(arrays: readonly (NativeTensor & ArrayBufferView)[], product: Partial<GpuProduct>) {
  const result = arrays.length - 1;
  const program = device.createProgram({
    name: 'test',
    arenaBytes: 0,
    slots: arrays.map(({ byteLength }) => byteLength),
    commands: [
      {
        ...{ kind: 'product', name: 'product_0', dtype: 'float32', m: 1, n: 1, k: 1 },
        ...{ left: { at: { slot: 0 } }, right: { at: { slot: 1 } }, result: { at: { slot: result } } },
        ...product,
      },
    ],
  });
  const memories = arrays.map((array, slot) => {
    const memory = device.allocate(array.byteLength);
    void device.upload(array, memory);
    program.bind(slot, memory);
    return memory;
  });
  // Directly, recorded and replayed.
  for (let run = 0; run < 3; run += 1) {
    void device.upload(arrays[result], memories[result]);
    await program.run();
  }
  const found = arrays[result].subarray(0);
  await device.download(memories[result], found);
  return found;
}

const dot = (k: number, left: (i: number) => number, right: (i: number) => number) =>
  Array.from({ length: k }, (_, i) => left(i) * right(i)).reduce((a, b) => a + b, 0);

const [m, n, k] = [5, 7, 33];

test.each([
  [false, false],
  [false, true],
  [true, false],
  [true, true],
])('products of matrices, left transposed: %s, right transposed: %s', async (leftT, rightT) => {
  const [left, right] = [integers(m * k, 1), integers(k * n, 2)];
  const found = await multiply([left, right, new Float32Array(m * n)], {
    ...{ m, n, k },
    left: { at: { slot: 0 }, transposed: leftT },
    right: { at: { slot: 1 }, transposed: rightT },
  });
  const expected = Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    return dot(
      k,
      (inner) => left[leftT ? inner * m + i : i * k + inner],
      (inner) => right[rightT ? j * k + inner : inner * n + j],
    );
  });
  expect([...(found as Float32Array)]).toEqual(expected);
});

test('batches with strides of rows and matrices, one of them shared', async () => {
  const [batch, rowStride] = [3, n + 2];
  const [left, right] = [integers(batch * m * k, 1), integers(k * n, 2)];
  const found = (await multiply([left, right, new Float32Array(batch * m * rowStride)], {
    ...{ m, n, k, batch },
    right: { at: { slot: 1 }, batchStride: 0 },
    result: { at: { slot: 2 }, rowStride },
  })) as Float32Array;
  for (let b = 0; b < batch; b += 1) {
    for (let i = 0; i < m; i += 1) {
      for (let j = 0; j < rowStride; j += 1) {
        const expected =
          j < n
            ? dot(
                k,
                (inner) => left[(b * m + i) * k + inner],
                (inner) => right[inner * n + j],
              )
            : 0;
        expect(found[(b * m + i) * rowStride + j]).toBe(expected);
      }
    }
  }
});

test('start, bias, alpha and activations', async () => {
  const [left, right] = [integers(m * k, 1), integers(k * n, 2)];
  const [start, bias] = [integers(m * n, 3), integers(n, 4)];
  const plain = Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    const sum = dot(
      k,
      (inner) => left[i * k + inner],
      (inner) => right[inner * n + j],
    );
    return 0.5 * sum + start[at] + bias[j];
  });
  const found = (activation?: 'relu' | 'gelu') =>
    multiply([left, right, start, bias, new Float32Array(m * n)], {
      ...{ m, n, k, alpha: 0.5, activation, bias: { slot: 3 }, start: { at: { slot: 2 } } },
    } as Partial<GpuProduct>);
  expect([...((await found()) as Float32Array)]).toEqual(plain);
  expect([...((await found('relu')) as Float32Array)]).toEqual(plain.map((value) => Math.max(value, 0)));
  const gelu = (await found('gelu')) as Float32Array;
  for (const [i, x] of plain.entries()) {
    const expected = 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
    expect(Math.abs(gelu[i] - expected)).toBeLessThanOrEqual(1e-5 * (1 + Math.abs(x)));
  }
});

test('bfloat16 with a result of float32 or bfloat16, and TF32', async () => {
  const [left, right] = [integers(m * k, 1), integers(k * n, 2)];
  const expected = (await multiply([left, right, new Float32Array(m * n)], { m, n, k })) as Float32Array;
  const halves = [toBfloat16(left), toBfloat16(right)];
  const wide = await multiply([...halves, new Float32Array(m * n)], {
    ...{ m, n, k, dtype: 'bfloat16', resultDtype: 'float32' },
  });
  expect(wide).toEqual(expected);
  const narrow = await multiply([...halves, new Uint16Array(m * n)], { m, n, k, dtype: 'bfloat16' });
  expect(fromBfloat16(narrow as Uint16Array)).toEqual(expected);
  vi.stubEnv('NVIDIA_TF32_OVERRIDE', undefined);
  // cuBLASLt uses TF32 where its tensor cores have a tile.
  const size = 64;
  const filled = (number: number) => new Float32Array(size * size).fill(number);
  const shape = { m: size, n: size, k: size };
  const factors = () => [filled(1 + 2 ** -12), filled(1), filled(0)];
  expect(await multiply(factors(), { ...shape, tf32: true })).toEqual(filled(size));
  expect(await multiply(factors(), shape)).toEqual(filled(size * (1 + 2 ** -12)));
});

test('a product that cannot be is refused', () => {
  const program = (product: Partial<GpuProduct>) =>
    device.createProgram({
      ...{ name: 'test', arenaBytes: 4096, slots: [] },
      commands: [
        {
          ...{ kind: 'product', name: 'product_0', dtype: 'float32', m, n, k },
          ...{ left: { at: { arena: 0 } }, right: { at: { arena: 0 } }, result: { at: { arena: 0 } } },
          ...product,
        },
      ],
    });
  expect(() => program({ k: 0 })).toThrow(
    'program test, command product_0: product: expected sizes of at least 1, got 5×0 times 0×7',
  );
  expect(() => program({ left: { at: { arena: 0 }, rowStride: 3 } })).toThrow(
    'cublasLtMatmulAlgoGetHeuristic (5×33 times 33×7): an unsupported value or parameter was passed to the function (7)',
  );
});
