import { describe, expect, test, vi } from 'vitest';
import { partElements } from '@ringrun/core';
import { evaluate } from '../../src/compiler/compile.ts';
import type { TensorData } from '../../src/dtype.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../src/graph/node.ts';
import {
  ArgumentError,
  cat,
  compileStep,
  nn,
  optim,
  Parameter,
  programCache,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { clipNorm, clipNormOfParts } from '../../src/ops/own/clip-norm.ts';
import { input } from '../../src/ops/source.ts';
import { bothWays, onThreads } from '../support/both-ways.ts';
import { clipCases } from '../support/clip-golden.ts';
import { fill, fillNotFinite } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

const { clipGradNorm, clipGradValue } = nn.utils;

/** Around the widths of vectors, and of the parts that threads compute. */
const sizes = [1, 7, 15, 16, 17, 33, 1023, 2 ** 15 + 5];

/** A loss with these gradients, and an optimizer in whose step p ← p − g. */
function training(gradients: readonly Float32Array[]) {
  const parameters = gradients.map(({ length }) => new Parameter(new Float32Array(length), [length]));
  const optimizer = new optim.SGD(parameters, { lr: 1 });
  const lossOf = (): Tensor =>
    cat(parameters.map((parameter, position) => parameter.mul(tensor(gradients[position])))).sum();
  const updates = () => parameters.map(({ data }) => data.map((element) => -element));
  return { parameters, optimizer, lossOf, updates };
}

/** The clipped gradients and the norm of each way to clip. */
const ways = {
  separately: async (gradients: readonly Float32Array[], options: optim.ClippingOptions) => {
    const { parameters, optimizer, lossOf, updates } = training(gradients);
    await lossOf().backward();
    const { clipGradNorm: toNorm, clipGradValue: limit } = options;
    const { maxNorm, ...rest } = typeof toNorm === 'object' ? toNorm : { maxNorm: toNorm };
    const norm = maxNorm === undefined ? undefined : clipGradNorm(parameters, maxNorm, rest);
    if (limit !== undefined) clipGradValue(parameters, limit);
    await optimizer.step();
    return { updates: updates(), norm: norm === undefined ? undefined : Math.fround(norm) };
  },
  inStep: async (gradients: readonly Float32Array[], options: optim.ClippingOptions) => {
    const { optimizer, lossOf, updates } = training(gradients);
    await lossOf().backward();
    await optimizer.step(options);
    return { updates: updates(), norm: optimizer.gradNorm };
  },
  compiled: async (gradients: readonly Float32Array[], options: optim.ClippingOptions) => {
    const { optimizer, lossOf, updates } = training(gradients);
    await compileStep(optimizer, lossOf, options)();
    return { updates: updates(), norm: optimizer.gradNorm };
  },
};

/** Non-finite elements must be equal. */
function expectCloseOrEqual(what: string, actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  const notFinite = (elements: ArrayLike<number>) =>
    Array.from(elements, (element) => (Number.isFinite(element) ? 0 : element));
  const finite = (elements: ArrayLike<number>) =>
    Array.from(elements, (element) => (Number.isFinite(element) ? element : 0));
  expect(notFinite(actual), what).toEqual(notFinite(expected));
  expectClose(what, finite(actual), finite(expected), 1e-5);
}

const options: [name: string, optim.ClippingOptions][] = [
  ['the norm', { clipGradNorm: 0.1 }],
  ['a norm far above the limit', { clipGradNorm: 1e6 }],
  ['the norm to 0', { clipGradNorm: 0 }],
  ['p = 1', { clipGradNorm: { maxNorm: 0.7, normType: 1 } }],
  ['p = 3.3', { clipGradNorm: { maxNorm: 0.7, normType: 3.3 } }],
  ['p = ∞', { clipGradNorm: { maxNorm: 0.1, normType: Infinity } }],
  ['values', { clipGradValue: 0.1 }],
];

describe.each(options)('an update clips %s', (_, clipping) => {
  test('bit-identically in each way, for odd sizes', async () => {
    const gradients = sizes.map((size, seed) => fill([size], seed));
    const separately = await ways.separately(gradients, clipping);
    expect(await ways.inStep(gradients, clipping)).toEqual(separately);
    expect(await ways.compiled(gradients, clipping)).toEqual(separately);
  });

  test('to the results of plain operators, including NaN and infinities', async () => {
    const fillInfinite = (shape: number[], seed: number) =>
      fillNotFinite(shape, seed).map((element) => (Number.isNaN(element) ? 1 : element));
    for (const make of [fill, fillNotFinite, fillInfinite]) {
      const gradients = sizes.map((size, seed) => make([size], seed));
      const { own, plain } = await bothWays(() => ways.inStep(gradients, clipping));
      expectCloseOrEqual('norm', [own.norm ?? 0], [plain.norm ?? 0]);
      for (const [position, update] of own.updates.entries()) {
        expectCloseOrEqual(`update ${position}`, update, plain.updates[position]);
      }
    }
  });

  test('bit-identically on any number of threads', async () => {
    const gradients = [fill([2 ** 17 + 3], 1), fill([5], 2)];
    const compute = () => ways.compiled(gradients, clipping);
    expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
  });
});

test('an empty gradient has norm 0', async () => {
  const gradients = [new Float32Array(0), Float32Array.of(3, 4)];
  const { own, plain } = await bothWays(() => ways.inStep(gradients, { clipGradNorm: 2.5 }));
  expect([own.norm, plain.norm]).toEqual([5, 5]);
  expectClose('update', own.updates[1], [1.5, 2], 1e-6);
});

test.each(clipCases)(
  'a compiled step clips to $maxNorm, p = $normType, as in torch',
  async ({ maxNorm, normType, norm: expected, gradients }) => {
    const clipping = { clipGradNorm: { maxNorm, normType } };
    const { updates, norm } = await ways.compiled([fill([12], 1), fill([5], 2)], clipping);
    expectClose('norm', [norm!], [expected], 1e-6);
    for (const [position, gradient] of gradients.entries()) {
      expectClose(`gradient ${position}`, updates[position], gradient, 1e-6);
    }
  },
);

/** The norm and the factor. */
async function computed({ norm, factor }: { norm: Value; factor: Value }): Promise<TensorData[]> {
  return [...(await evaluate([norm, factor]))];
}

test.each([1, 2, 3.3, Infinity])(
  'a norm with parts on two ranks is bit-identical to the whole norm: p = %s',
  async (normType) => {
    const attributes = { normType, requiresFinite: false };
    const leaf = (data: Float32Array) => input('float32', [data.length], { data });
    const largest = leaf(Float32Array.of(0.5));
    for (const make of [fill, fillNotFinite]) {
      const arrays = [...sizes, 3 * partElements + 7].map((size, seed) => make([size], seed));
      // The last array is divided after its second part.
      const last = arrays.length - 1;
      const cut = 2 * partElements;
      let lastPart = 0;
      const numbered = arrays.slice(0, last).map((data) => {
        const part = lastPart;
        lastPart += Math.ceil(data.length / partElements);
        return { value: leaf(data), part };
      });
      const ofRanks = [
        [...numbered, { value: leaf(arrays[last].subarray(0, cut)), part: lastPart }],
        [{ value: leaf(arrays[last].subarray(cut)), part: lastPart + 2 }],
        [],
      ];
      const sent = Array<Float32Array | undefined>(ofRanks.length).fill(undefined);
      const normOnRank = (rank: number) => {
        const group = {
          rank,
          size: ofRanks.length,
          allReduce: () => Promise.reject(new Error('expected no all-reduce')),
          allGather: (output: unknown, own: unknown) => {
            sent[rank] = (own as Float32Array).slice();
            for (const [other, parts] of sent.entries()) {
              if (parts) (output as Float32Array).set(parts, other * parts.length);
            }
            return Promise.resolve();
          },
        };
        const total = lastPart + 4;
        return computed(clipNormOfParts({ arrays: ofRanks[rank], total, group }, largest, attributes));
      };
      for (const rank of [2, 1]) await normOnRank(rank);
      const whole = await computed(clipNorm(arrays.map(leaf), largest, attributes));
      expect(await normOnRank(0)).toEqual(whole);
    }
  },
);

describe('a step that clips', () => {
  test('keeps the gradients before clipping, and its norm', async () => {
    const { parameters, optimizer, lossOf } = training([Float32Array.of(3, 4)]);
    expect(optimizer.gradNorm).toBeUndefined();
    await compileStep(optimizer, lossOf, { clipGradNorm: 1 })();
    expect([optimizer.gradNorm, ...parameters[0].grad!]).toEqual([5, 3, 4]);
    await lossOf().backward();
    await optimizer.step();
    expect(optimizer.gradNorm).toBe(5);
  });

  test('is one program, reused for another limit but not for another kind of norm', async () => {
    const { optimizer, lossOf } = training([fill([9], 1)]);
    programCache.clear();
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    await compileStep(optimizer, lossOf, { clipGradNorm: 1 })();
    await compileStep(optimizer, lossOf, { clipGradNorm: { maxNorm: 2, normType: 2 } })();
    expect(compile).toHaveBeenCalledTimes(1);
    await compileStep(optimizer, lossOf, { clipGradNorm: { maxNorm: 2, normType: 1 } })();
    await compileStep(optimizer, lossOf)();
    expect(compile).toHaveBeenCalledTimes(3);
    compile.mockRestore();
  });

  test.each(['inStep', 'compiled'] as const)(
    'fails on a non-finite norm, and changes nothing: %s',
    async (way) => {
      for (const element of [NaN, -Infinity]) {
        const gradients = [Float32Array.of(3, 4), Float32Array.of(1, element)];
        const clipping = { clipGradNorm: { maxNorm: 1, errorIfNonfinite: true } };
        const attempt = async () => {
          const { optimizer, lossOf, updates } = training(gradients);
          const step =
            way === 'compiled'
              ? compileStep(optimizer, lossOf, clipping)
              : async () => {
                  optimizer.zeroGrad();
                  await lossOf().backward();
                  await optimizer.step(clipping);
                };
          await expect(step()).rejects.toMatchObject({
            code: 'ERR_NONFINITE',
            message: expect.stringContaining(`norm of all gradients, got ${Math.abs(element)}`) as string,
          });
          const unchanged = updates().flatMap((update) => [...update].map(Math.abs));
          gradients[1][1] = 4;
          await step();
          gradients[1][1] = element;
          return { unchanged, norm: optimizer.gradNorm };
        };
        const { own, plain } = await bothWays(attempt);
        expect(own).toEqual({ unchanged: [0, 0, 0, 0], norm: Math.fround(Math.sqrt(9 + 16 + 1 + 16)) });
        expect(plain).toEqual(own);
      }
    },
  );

  test.each<[string, unknown]>([
    ['compileStep: expected an object of options, got 1', 1],
    ['compileStep: maxNorm is not an option. Its options are clipGradNorm, clipGradValue', { maxNorm: 1 }],
    ['compileStep: maxNorm must be at least 0, got -1', { clipGradNorm: -1 }],
    ['compileStep: maxNorm must be at least 0, got undefined', { clipGradNorm: { normType: 1 } }],
    ['compileStep: normType must be above 0, got 0', { clipGradNorm: { maxNorm: 1, normType: 0 } }],
    ['compileStep: clipGradNorm: norm is not an option', { clipGradNorm: { norm: 1 } }],
    ['compileStep: clipValue must be at least 0, got NaN', { clipGradValue: NaN }],
    ['expected clipGradNorm or clipGradValue, got both', { clipGradNorm: 1, clipGradValue: 1 }],
  ])('rejects: %s', async (message, given) => {
    const { optimizer, lossOf, updates } = training([Float32Array.of(1)]);
    const compile = () => compileStep(optimizer, lossOf, given as never);
    expect(compile).toThrow(ArgumentError);
    expect(compile).toThrow(message);
    await lossOf().backward();
    await expect(optimizer.step(given as never)).rejects.toThrow(message.replace('compileStep', 'step'));
    expect(updates()).toEqual([Float32Array.of(-0)]);
  });
});
