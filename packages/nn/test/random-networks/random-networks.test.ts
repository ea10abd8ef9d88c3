import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { isFull } from '../../../../test/support/extent.ts';
import { python, torchProblem } from '../../../../test/support/torch-problem.ts';
import { Parameter, autocast, nn } from '../../src/index.ts';
import { largest } from '../support/numeric.ts';
import '../support/one-thread.ts';
import { build, type Built } from './build.ts';
import { generate } from './generate.ts';
import { modules } from './modules.ts';
import { describeSteps, type Network } from './network.ts';

// Random networks over all modules, operations and losses in the tables of random-networks/, compared with PyTorch. A network
// depends only on its number.

const networks = Array.from({ length: isFull ? 400 : 40 }, (_, i) => generate(isFull ? i : 10 * i));

/**
 * What test/golden/random_networks.py prints for a network: loss, output, gradients and state, or the reason why torch cannot.
 */
type Expected =
  | {
      readonly values: readonly {
        readonly data: readonly (number | string)[];
        readonly rounding: number;
        readonly dtype: string;
      }[];
    }
  | { readonly error: string };

/**
 * Containers, base classes, modules with random numbers or several inputs of other shapes, and modules that need ranks: golden
 * tests cover them.
 */
const elsewhere = [
  ...[
    'ModuleDict',
    'ModuleList',
    'ParameterDict',
    'ParameterList',
    'RecurrentNetwork',
    'RecurrentStep',
    'Sequential',
  ],
  ...['AlphaDropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'PairwiseDistance', 'SyncBatchNorm'],
  ...['Transformer', 'TransformerDecoder', 'TransformerEncoder'],
];

const script = fileURLToPath(new URL('../../../../test/golden/random_networks.py', import.meta.url));
function resultsOfTorch(...args: string[]): Expected[] {
  const options = { input: JSON.stringify(networks), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
  const { status, stdout, stderr } = spawnSync(python, [script, ...args], options);
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Expected);
}

describe.skipIf(torchProblem() !== undefined)('random networks equal those of PyTorch', () => {
  let results: readonly Expected[];
  beforeAll(() => {
    results = resultsOfTorch();
  });

  test.each(networks.map((network, index) => ({ title: titleOf(network), network, index })))(
    '$title',
    async ({ network, index }) => {
      const expected = results[index];
      if ('error' in expected) expect.fail(`${expected.error}\n${JSON.stringify(network)}`);
      const found = await computed(network);
      expect(found.map(({ name, data }) => [name, data.length])).toEqual(
        found.map(({ name }, i) => [name, expected.values[i]?.data.length]),
      );
      expect(found).toHaveLength(expected.values.length);
      for (const [i, { name, data }] of found.entries()) {
        const { data: written, rounding } = expected.values[i];
        // NaN and infinities are written as nan, inf and -inf.
        const exact = written.map((one) => Number(String(one).replace('inf', 'Infinity')));
        // Ten times the error of single precision in torch, with parameters that differ by rounding.
        const allowed = Math.max(2e-5 * Math.max(0.1, largest(exact.filter(Number.isFinite))), 10 * rounding);
        const worst = exact.reduce((most, one, at) => Math.max(most, differenceOf(one, data[at])), 0);
        expect(worst, `${name}\n${JSON.stringify(network)}`).toBeLessThanOrEqual(allowed);
      }
    },
  );
});

describe.skipIf(torchProblem() !== undefined)(
  'random networks in autocast are as near as those of PyTorch',
  () => {
    let results: readonly Expected[];
    beforeAll(() => {
      results = resultsOfTorch('autocast');
    });

    test.each(networks.map((network, index) => ({ title: titleOf(network), network, index })))(
      '$title',
      async ({ network, index }) => {
        const expected = results[index];
        const isMixed = 'error' in expected && isRejectedForDtypes(expected.error);
        if ('error' in expected && !isMixed) expect.fail(`${expected.error}\n${JSON.stringify(network)}`);
        const found = await computed(network, (run) => autocast({ dtype: 'bfloat16' }, run));
        if ('error' in expected) {
          for (const { name, data } of found) expect(data.every(Number.isFinite), name).toBe(true);
          return;
        }
        const { output } = autocast({ dtype: 'bfloat16' }, () => build(network));
        expect(output.dtype).toBe(expected.values[1].dtype);
        for (const [i, { name, data }] of found.entries()) {
          const { data: written, rounding } = expected.values[i];
          const exact = written.map((one) => Number(String(one).replace('inf', 'Infinity')));
          // Four times the error of torch's autocast, or of parameters that differ by rounding to bfloat16.
          const allowed = 4 * Math.max(2 ** -9 * largest(exact.filter(Number.isFinite)), rounding);
          const worst = exact.reduce((most, one, at) => Math.max(most, differenceOf(one, data[at])), 0);
          expect(worst, `${name}\n${JSON.stringify(network)}`).toBeLessThanOrEqual(allowed);
        }
      },
    );
  },
);

test.runIf(isFull)('every module is in a table, or listed as tested elsewhere', () => {
  const all = Object.entries(nn).flatMap(([name, value]) =>
    typeof value === 'function' && value.prototype instanceof nn.Module ? [name] : [],
  );
  const drawn = [...Object.keys(modules), ...elsewhere];
  expect(all.filter((name) => !name.endsWith('Loss') && !drawn.includes(name))).toEqual([]);
});

/** True if torch rejects operands of float32 and bfloat16, which ringrun promotes. */
function isRejectedForDtypes(error: string): boolean {
  return /the same dtype|expected dtype|to be equal to src\.dtype/.test(error);
}

/** Infinity and NaN must be equal. */
function differenceOf(expected: number, actual: number): number {
  if (Object.is(expected, actual)) return 0;
  const difference = Math.abs(expected - actual);
  return Number.isNaN(difference) ? Infinity : difference;
}

function titleOf({ seed, steps, loss }: Network): string {
  return `${seed}: ${describeSteps(steps)}; ${loss.name}`;
}

/** In the order of random_networks.py. */
async function computed(
  network: Network,
  inMode: (run: () => Built) => Built = (run) => run(),
): Promise<{ name: string; data: ArrayLike<number> & Float32Array }[]> {
  const { input, modules, output, loss } = inMode(() => build(network));
  const values = (await output.array()) as Float32Array;
  await loss.backward();
  const item = Float32Array.of(await loss.item());
  const trained = modules.flatMap((module, place) =>
    [...module.namedParameters()].map(([name, { grad, data }]) => ({
      name: `gradient of ${place}.${name}`,
      data: grad ?? new Float32Array(data.length),
    })),
  );
  const ofInput = input instanceof Parameter ? [{ name: 'gradient of the input', data: input.grad! }] : [];
  const state = modules.flatMap((module, place) =>
    [...module.stateDict()]
      .filter(([key]) => !key.endsWith('num_batches_tracked'))
      .map(([key, { data }]) => ({ name: `state ${place}.${key}`, data })),
  );
  return [{ name: 'loss', data: item }, { name: 'output', data: values }, ...ofInput, ...trained, ...state];
}
