import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { expectClose } from '../packages/nn/test/support/numeric.ts';
import { roundedToBfloat16 } from '../packages/nn/test/support/rounded-to-bfloat16.ts';
import { expectSummary, type Summary } from '../packages/nn/test/support/summary.ts';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('sync-batch-norm.script'), temporaryFolder());

/** PyTorch's BatchNorm on the concatenated batches of all ranks, from test/golden/operators.py. */
interface GoldenCase {
  /** For each: output, gradients of the input and the parameters, buffers. */
  readonly steps: readonly (readonly Summary[])[];
  readonly evaluation: readonly [output: Summary, gradient: Summary];
}
const file = new URL('golden/operators.json', import.meta.url);
const { batchNorms } = JSON.parse(readFileSync(file, 'utf8')) as { batchNorms: Record<string, GoldenCase> };

interface Case {
  readonly steps: readonly {
    /** Output and input gradient of this rank's samples. */
    readonly own: readonly (readonly number[])[];
    /** Gradients of the parameters and buffers. */
    readonly common: readonly (readonly number[])[];
  }[];
  readonly evaluation?: readonly (readonly number[])[];
}
type Cases = Readonly<Record<string, Case>>;

/** The samples of all ranks, in order. */
const joined = (parts: readonly (readonly number[])[]) => Float32Array.from(parts.flat());

function arraysOf(ranks: readonly Case[], step: number): Float32Array[] {
  const [{ own, common }] = ranks.map(({ steps }) => steps[step]);
  return [
    ...own.map((_, place) => joined(ranks.map(({ steps }) => steps[step].own[place]))),
    ...common.map((array) => Float32Array.from(array)),
  ];
}

/** Tolerance relative to the largest element: float32 sums in a different order. */
const rounding = 5e-6;

let reference: Promise<Cases> | undefined;
/** Computed once, in the first test that needs it. */
const alone = () => (reference ??= scenarios.runAlone<Cases>('alone'));

describe.each(
  ways<[number, string]>(
    [
      [2, 'tcp'],
      [3, 'shm'],
    ],
    [
      [1, 'shm'],
      [2, 'shm'],
    ],
  ),
)('%i ranks, %s', (size, transport) => {
  test('with batches of different sizes match one process and PyTorch, forward and backward', async () => {
    const one = await alone();
    const found = await scenarios.run<Cases>(size, 'synchronized', { transport });
    expect(Object.keys(one).sort()).toEqual(Object.keys(batchNorms).sort());
    for (const [name, golden] of Object.entries(batchNorms)) {
      const ranks = found.map((cases) => cases[name]);
      for (const [step, expected] of golden.steps.entries()) {
        // Bit-identical: every rank computes the common values from the same numbers.
        for (const { steps } of ranks) expect(steps[step].common).toEqual(ranks[0].steps[step].common);
        const arrays = arraysOf(ranks, step);
        expect(arrays.length).toBe(expected.length);
        for (const [place, array] of arrays.entries()) {
          const what = `${name}, step ${step}, array ${place}`;
          expectSummary(what, array, expected[place]);
          expectClose(what, array, arraysOf([one[name]], step)[place], rounding);
        }
      }
      for (const [place, expected] of golden.evaluation.entries()) {
        if (name === 'nothing tracked') continue;
        const what = `${name}, evaluation ${place}`;
        expectSummary(what, joined(ranks.map(({ evaluation }) => evaluation![place])), expected);
      }
    }
  });
});

test('results of bfloat16 are those of float32 rounded once, with equal statistics', async () => {
  for (const { narrow, wide } of await scenarios.run<Record<'narrow' | 'wide', Cases>>(3, 'narrow')) {
    for (const [name, { steps }] of Object.entries(wide)) {
      for (const [step, { own, common }] of steps.entries()) {
        const found = narrow[name].steps[step];
        expect(found.own[0], name).toEqual([...roundedToBfloat16(own[0])]);
        expectClose(`${name}, gradient of the input`, found.own[1], own[1], 0.02);
        for (const [place, array] of common.entries())
          expectClose(`${name}, ${place}`, found.common[place], array, 0.02);
      }
    }
  }
});

test('BatchNorm without synchronization does not match', async () => {
  const ranks = await scenarios.run<Case>(2, 'notSynchronized');
  const [output] = arraysOf(ranks, 0);
  expect(() => {
    expectSummary('output', output, batchNorms.images.steps[0][0]);
  }).toThrow('of at most');
});

interface Trained {
  output: number[];
  again: number[];
  gradients: number[];
  buffers: number[];
}

test.each(ways(['shm'], ['tcp']))(
  '%s: overlap, unused layers, noSync and detectAnomaly yield the gradients of one process',
  async (transport) => {
    const expectedOf = await scenarios.runAlone<Record<string, Trained>>('aloneWays');
    const found = await scenarios.run<Record<string, Trained>>(2, 'ways', { transport });
    expect(found[1]).toEqual(found[0]);
    expect(Object.keys(found[0])).toHaveLength(8);
    for (const [way, { gradients, buffers }] of Object.entries(found[0])) {
      const [kind] = way.split(',');
      const expected = expectedOf[kind === 'detectAnomaly' ? 'plain' : kind];
      expectClose(`${way}: gradients`, gradients, expected.gradients, rounding);
      expectClose(`${way}: buffers`, buffers, expected.buffers, rounding);
    }
  },
);

test('ranks with different graph layouts and concurrent runs issue collectives in one order', async () => {
  const expected = await scenarios.runAlone<Trained>('aloneLayouts');
  const found = await scenarios.run<Trained>(2, 'layouts');
  for (const output of ['output', 'again'] as const) {
    expectClose(output, joined(found.map((rank) => rank[output])), expected.output, rounding);
  }
  expectClose('gradients', found[0].gradients, expected.gradients, 2e-5);
  expect(found[1].gradients).toEqual(found[0].gradients);
  expect(found[1].buffers).toEqual(found[0].buffers);
});

test('layers use the groups that were passed to them', async () => {
  const found = await scenarios.run<{ means: number[]; problem: unknown }>(3, 'groups');
  const problem = {
    code: 'ERR_ARGUMENT',
    message: expect.stringContaining('expected a process group, got null') as unknown,
  };
  for (const [rank, { means, problem: of }] of found.entries()) {
    expect(means).toEqual([11, rank === 2 ? 21 : 6]);
    expect(of).toMatchObject(problem);
  }
});

test('collectives of the graph without JavaScript are bit-identical to calls by JavaScript', async () => {
  interface Found {
    calls: number;
    gradients: number[];
    buffers: number[];
  }
  const found = await scenarios.run<Record<string, Found>>(2, 'callers');
  const collectivesOfStep = 4;
  for (const [rank, { graph, ...others }] of found.entries()) {
    expect(graph.calls).toBe(0);
    expect(others['JavaScript'].calls).toBe(4 * collectivesOfStep);
    expect(others['JavaScript of rank 0'].calls).toBe(rank === 0 ? 4 * collectivesOfStep : 0);
    for (const { gradients, buffers } of Object.values(others)) {
      expect(gradients).toEqual(graph.gradients);
      expect(buffers).toEqual(graph.buffers);
    }
  }
});

test('forward uses the current default group, and a rank without a group only itself', async () => {
  expect(await scenarios.run(2, 'regrouped')).toEqual([
    [6, 1, 6],
    [6, 11, 6],
  ]);
});

test('fewer than 2 values per channel are refused on all ranks, and training can continue', async () => {
  const found = await scenarios.run<{ problem: unknown; same: boolean; batches: number }>(2, 'tooFew');
  const message =
    'SyncBatchNorm: expected more than 1 value per channel over all ranks of the group in training, ' +
    'got 1 of rank 0, 0 of rank 1. Use a larger batch or eval().';
  for (const rank of found) {
    expect(rank).toEqual({
      problem: { name: 'ShapeError', code: 'ERR_SHAPE', message },
      same: true,
      batches: 2,
    });
  }
});

test("the group's error names a missing rank, and running statistics stay unchanged", async () => {
  const found = await scenarios.run<{ problem: unknown; buffers: number[] }>(2, 'mismatch');
  for (const { problem, buffers } of found) {
    expect(problem).toMatchObject({ name: 'CollectiveMismatchError' });
    expect(buffers).toEqual([0, 0, 1, 1, 0]);
  }
});

test('join refuses such a model and names the layer; DDP refuses ranks that differ in a layer', async () => {
  const found = await scenarios.run<Record<string, { code: string; message: string }>>(2, 'refusals');
  for (const { join, began, differ } of found) {
    expect(join.code).toBe('ERR_JOIN_COLLECTIVES');
    expect(join.message).toMatch(/^join: norm1 is a collective of all ranks, as SyncBatchNorm is,/);
    expect(began).toBe(false);
    expect(differ.code).toBe('ERR_MODEL_MISMATCH');
    expect(differ.message).toContain(
      'collective part 0: rank 0 has none (0 collective parts in all); rank 1 has norm1.',
    );
  }
});

test('detectAnomaly names the layer and the rank of a NaN, even if other ranks have none', async () => {
  type Found = Record<'before' | 'behind' | 'alone', { code: string; message: string } | 'none'>;
  const [first, second] = await scenarios.run<Found>(2, 'anomaly');
  const nonfinite = (message: string) => ({
    code: 'ERR_NONFINITE',
    message: expect.stringContaining(message) as unknown,
  });
  const foreign = "from finite inputs of this rank; another rank's inputs are not finite";
  expect(first.before).toMatchObject(nonfinite(`CombineStatistics`));
  expect(first.before).toMatchObject(nonfinite(foreign));
  expect(second.before).toMatchObject(nonfinite('A tensor float32[4,1,6,6] holds NaN in 1 of 144 elements'));
  expect(first.behind).toMatchObject(nonfinite('the loss is finite, but the gradient of parameter'));
  expect(first.behind).toMatchObject(nonfinite(foreign));
  expect(second.behind).toMatchObject(nonfinite('holds Infinity in 1 of 1'));
  expect(first.alone).toBe('none');
  expect(second.alone).toMatchObject(nonfinite('holds NaN in 1 of 1'));
});
