import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { isFull } from '../../../../test/support/extent.ts';
import { ArgumentError, exportOnnx, tensor, type Tensor } from '../../src/index.ts';
import { sizeOf } from '../../src/value-type.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { expectClose, largest } from '../support/numeric.ts';
import '../support/one-thread.ts';
import { NetworkModule } from './exported.ts';
import { generate } from './generate.ts';
import { tokens } from './modules.ts';
import { describeSteps, type Filled } from './network.ts';

// The networks of random-networks.test.ts as exported models, in onnxruntime with its default optimisations.

const networks = Array.from({ length: isFull ? 400 : 40 }, (_, i) => generate(isFull ? i : 10 * i));
const batches = [1, 2, 3, 5, 97];

describe('exported random networks are equal for every batch that the module accepts', () => {
  const compared = new Map<number, number>();
  const refused: string[] = [];

  test.each(
    networks.map((network) => ({ title: `${network.seed}: ${describeSteps(network.steps)}`, network })),
  )('$title', async ({ network }) => {
    const { shape, as } = network.input as Filled;
    const dtype = as === 'numbers' ? 'float32' : 'int64';
    const module = new NetworkModule(network);
    let bytes: Uint8Array;
    try {
      bytes = exportOnnx(module, { inputs: [{ name: 'input', shape, dtype }] });
    } catch (error) {
      // Many networks have numbers of the shape of their input; others have steps or parts for each element of the batch.
      expect(error).toBeInstanceOf(ArgumentError);
      expect((error as Error).message).toMatch(
        /the batch cannot be dynamic: (forward fails|forward computes|in )/,
      );
      refused.push((error as Error).message);
      return;
    }
    const session = await ort.InferenceSession.create(bytes);
    for (const batch of batches) {
      const given = shape.with(0, batch);
      const data = dtype === 'float32' ? fill(given, batch) : fillClasses(sizeOf(given), tokens, batch);
      const expected = await attempt(() => module.forward(tensor(data, given)));
      if (expected === undefined) continue;
      const { output } = await session.run({ input: new ort.Tensor(dtype, data as Float32Array, given) });
      expect(output.dims, `batch of ${batch}`).toEqual(expected.shape);
      const { numbers } = expected;
      const tolerance = 1e-4 * Math.max(1, largest(numbers.filter(Number.isFinite)));
      expectSame(`batch of ${batch}`, output.data as Float32Array, numbers, tolerance);
      compared.set(network.seed, (compared.get(network.seed) ?? 0) + 1);
    }
  });

  test('most are exported, and most of them are compared at every batch', () => {
    const others = refused.filter((message) => !message.includes('forward fails'));
    expect(compared.size).toBeGreaterThanOrEqual(networks.length * 0.7);
    expect([...compared.values()].filter((count) => count === batches.length).length).toBeGreaterThan(
      compared.size * 0.8,
    );
    expect(others.length).toBeLessThanOrEqual(networks.length * 0.05);
  });
});

/** Undefined if the module rejects the batch, or an index of the network is too large for it. */
async function attempt(
  compute: () => Tensor,
): Promise<{ shape: readonly number[]; numbers: Float32Array } | undefined> {
  try {
    const result = compute();
    return { shape: result.shape, numbers: (await result.array()) as Float32Array };
  } catch {
    return undefined;
  }
}

/** Infinity and NaN must be equal. */
function expectSame(what: string, actual: Float32Array, expected: Float32Array, tolerance: number): void {
  const isFinite = (_: number, index: number) => Number.isFinite(expected[index]);
  const special = (numbers: Float32Array) => numbers.filter((_, index) => !Number.isFinite(expected[index]));
  expect(special(actual), what).toEqual(special(expected));
  expectClose(what, actual.filter(isFinite), expected.filter(isFinite), tolerance, 1);
}
