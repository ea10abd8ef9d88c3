import { describe, expect, test } from 'vitest';
import { F, Parameter, tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import { erf } from '../../support/reference-arrays.ts';
import '../../support/one-thread.ts';

/** The result and the gradient of x. */
async function trained(
  x: Float32Array,
  approximate: 'none' | 'tanh' = 'none',
): Promise<[y: Float32Array, dx: Float32Array]> {
  const input = new Parameter(x.slice(), [x.length]);
  const y = F.gelu(input, { approximate });
  const values = (await y.array()) as Float32Array;
  await y
    .mul(tensor(fill([x.length], 2)))
    .sum()
    .backward();
  return [values, input.grad!.slice()];
}

/** Around the widths of vectors, and more than one part. */
describe.each([1, 15, 16, 17, 33, 1023, 20_000])('%i elements', (count) => {
  test('agree with double precision and with plain operators', async () => {
    const x = fill([count], 1).map((one) => 7 * one);
    const { own, plain } = await bothWays(() => trained(x));
    const d = fill([count], 2);
    const exact = [...x].map((one) => (one * (1 + erf(one * Math.SQRT1_2))) / 2);
    const slopes = [...x].map(
      (one, i) =>
        d[i] *
        ((1 + erf(one * Math.SQRT1_2)) / 2 + (one * Math.exp((-one * one) / 2)) / Math.sqrt(2 * Math.PI)),
    );
    for (const [name, k, right] of [
      ['y', 0, exact],
      ['dx', 1, slopes],
    ] as const) {
      expectClose(name, own[k], right, 1e-6);
      expectClose(name, own[k], [...plain[k]], 1e-6);
    }
  });

  test('the form by the tangent agrees with double precision and with plain operators', async () => {
    const x = fill([count], 1).map((one) => 7 * one);
    const { own, plain } = await bothWays(() => trained(x, 'tanh'));
    const d = fill([count], 2);
    const slope = Math.sqrt(2 / Math.PI);
    const tangents = [...x].map((one) => Math.tanh(slope * (one + 0.044715 * one ** 3)));
    const exact = [...x].map((one, i) => (one * (1 + tangents[i])) / 2);
    const slopes = [...x].map((one, i) => {
      const inner = slope * (1 + 3 * 0.044715 * one ** 2);
      return d[i] * ((1 + tangents[i]) / 2 + (one * (1 - tangents[i] ** 2) * inner) / 2);
    });
    for (const [name, k, right] of [
      ['y', 0, exact],
      ['dx', 1, slopes],
    ] as const) {
      expectClose(name, own[k], right, 1e-6);
      // Its gradient has 1 − tanh u, which cancels.
      expectClose(name, own[k], [...plain[k]], 3e-6);
    }
  });
});

test.each(['none', 'tanh'] as const)(
  '%s: NaN and infinities give the results of plain operators',
  async (approximate) => {
    const x = Float32Array.of(NaN, Infinity, -Infinity, 100, -100, 0, -50, 50);
    const { own, plain } = await bothWays(async () => F.gelu(tensor(x), { approximate }).array());
    expect([...own]).toEqual([...plain]);
  },
);

test('results are bit-identical for any number of threads', async () => {
  const compute = () => trained(fill([40_000], 1));
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});
