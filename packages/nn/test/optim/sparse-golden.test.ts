import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  F,
  optim,
  Parameter,
  SparseGradient,
  tensor,
  type StoredTensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';

// PyTorch's numbers, as written by `test/golden/sparse.py`.

interface Golden {
  readonly scaled: readonly number[];
  readonly gradients: readonly { step: number; indices: readonly number[]; values: readonly number[] }[];
  readonly optimizers: readonly {
    readonly optimizer: 'SGD' | 'Adagrad' | 'SparseAdam';
    readonly settings: object;
    readonly parameter: readonly number[];
    readonly states: Readonly<Record<string, number | readonly number[]>>;
  }[];
}

const fixture = new URL('../../../../test/golden/sparse.json', import.meta.url);
const golden = JSON.parse(readFileSync(fixture, 'utf8')) as Golden;

const [count, width, steps, paddingIdx] = [9, 4, 7, 2];
const tolerance = 1e-5;

const table = () => new Parameter(fill([count, width], 1), [count, width]);

/** `rows_of` of sparse.py. */
function rowsOf(step: number): bigint[] {
  const looked = [0, 1, 2].map((place) => (3 * step + place * place) % count);
  return [...looked, paddingIdx, step % 4, step % 4].map(BigInt);
}

/** `loss_of` of sparse.py. */
function lossOf(weight: Parameter, step: number): Tensor {
  const squares = (x: Tensor) => x.mul(x).sum();
  const rows = (at: number) => tensor(BigInt64Array.from(rowsOf(at)), [2, 3]);
  const looked = F.embedding(rows(step), weight, { paddingIdx, sparse: true });
  const loss = squares(looked.mul(tensor(fill([2, 3, width], 20 + step), [2, 3, width])));
  if (step % 3 === 1) {
    const bags = F.embeddingBag(rows(step + 1), weight, undefined, { paddingIdx, sparse: true });
    return loss.add(squares(bags.sub(tensor(fill([2, width], 40 + step), [2, width]))));
  }
  if (step % 3 === 0) return loss;
  const perSampleWeights = tensor(fill([6], 60 + step), [6]);
  const offsets = tensor(BigInt64Array.of(0n, 1n, 1n, 4n), [4]);
  const options = { mode: 'sum', sparse: true, perSampleWeights } as const;
  const flat = tensor(BigInt64Array.from(rowsOf(step + 2)), [6]);
  const bags = F.embeddingBag(flat, weight, offsets, options);
  return loss.add(squares(bags.sub(tensor(fill([4, width], 50 + step), [4, width]))));
}

test('scaleGradByFreq divides the gradient of a row by the number of its look-ups', async () => {
  const weight = table();
  const rows = tensor(BigInt64Array.from(rowsOf(1)), [2, 3]);
  const looked = F.embedding(rows, weight, { paddingIdx, scaleGradByFreq: true });
  const scaled = looked.mul(tensor(fill([2, 3, width], 21), [2, 3, width]));
  await scaled.mul(scaled).sum().backward();
  expectClose('gradient', weight.grad!, golden.scaled, tolerance);
  const both = { scaleGradByFreq: true, sparse: true };
  expect(() => F.embedding(rows, weight, both)).toThrow(
    'embedding: expected scaleGradByFreq or sparse, got both',
  );
});

test.each(golden.gradients)('the gradient of step $step has the rows of torch', async (expected) => {
  const weight = table();
  await lossOf(weight, expected.step).backward();
  const grad = weight.grad as SparseGradient;
  expect(grad.isSparse).toBe(true);
  expect(grad.coalesce()).toBe(grad);
  expect(Array.from(grad.indices(), Number)).toEqual(expected.indices);
  expectClose('values', grad.slice(), expected.values, tolerance);
  const dense = new Float32Array(count * width);
  for (const [position, index] of expected.indices.entries())
    dense.set(expected.values.slice(position * width, (position + 1) * width), index * width);
  expectClose('toDense', grad.toDense(), dense, tolerance);
});

test.each(golden.optimizers)(
  '$optimizer $settings updates as in torch, also after loadStateDict',
  async (expected) => {
    const Kind = optim[expected.optimizer] as new (params: Parameter[], options: object) => optim.Optimizer;
    const weight = table();
    let optimizer = new Kind([weight], expected.settings);
    for (let step = 0; step < steps; step += 1) {
      optimizer.zeroGrad();
      await lossOf(weight, step).backward();
      if (step === 3) await lossOf(weight, step + 1).backward();
      await optimizer.step();
      if (step !== 4) continue;
      const saved = structuredClone(optimizer.stateDict());
      optimizer.release();
      optimizer = new Kind([weight], expected.settings);
      optimizer.loadStateDict(saved);
    }
    expectClose('parameter', weight.data, expected.parameter, tolerance);
    const { step, ...states } = optimizer.stateDict().state[0];
    expect(step).toBe(steps);
    const names = Object.keys(expected.states).filter((name) => name !== 'step');
    expect(Object.keys(states).sort()).toEqual(names.sort());
    for (const [name, stored] of Object.entries(states))
      expectClose(name, (stored as StoredTensor).data, expected.states[name] as number[], tolerance);
  },
);
