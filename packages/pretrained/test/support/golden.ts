import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { F, manualSeed, optim, tensor, type nn, type Tensor } from '@ringrun/nn';
import { expect } from 'vitest';

/** A tensor of expected.json. */
export interface Stored {
  readonly dtype: 'float32' | 'int64';
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** What PyTorch makes of a model in one step: see golden/make.py. */
export interface StepOfTorch {
  readonly loss: number;
  readonly state: Readonly<Record<string, { readonly sum: number; readonly first: readonly number[] }>>;
}

/** Contents of expected.json. */
export type Expected = Readonly<Record<string, Stored>> & {
  readonly step: StepOfTorch;
  readonly trained: number;
};

/** Path of a folder of golden/make.py. */
export function goldenFolder(name: string): string {
  return fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
}

export function expectedOf(name: string): Expected {
  return JSON.parse(readFileSync(`${goldenFolder(name)}/expected.json`, 'utf8')) as Expected;
}

export function tensorOf({ dtype, shape, data }: Stored): Tensor {
  return tensor(dtype === 'float32' ? Float32Array.from(data) : BigInt64Array.from(data, BigInt), shape);
}

/** The images of golden/make.py. */
export function images(): Tensor {
  const count = 2 * 3 * 32 * 32;
  return tensor(
    Float32Array.from({ length: count }, (_, i) => (((i * 7919) % 1013) - 506) / 256),
    [2, 3, 32, 32],
  );
}

/** Fails unless a tensor has the elements, of scores for each token the first ones, to about 6 digits. */
export function expectClose(actual: Tensor, expected: Stored, tolerance = 2e-5): void {
  const last = actual.shape.length - 1;
  const part = actual.narrow(last, 0, expected.shape[last]);
  expect(part.shape).toEqual(expected.shape);
  expectNumbersClose(part.arraySync() as Float32Array, expected.data, tolerance);
}

/** Fails unless all numbers are equal, relative to the greatest of them. */
export function expectNumbersClose(
  actual: ArrayLike<number>,
  expected: readonly number[],
  tolerance = 2e-5,
): void {
  expect(actual.length).toBe(expected.length);
  const greatest = Math.max(1e-3, ...expected.map(Math.abs));
  const differences = expected.map((value, i) => Math.abs(value - actual[i]));
  expect(Math.max(...differences) / greatest).toBeLessThan(tolerance);
}

/** The loss of the next tokens, those of padding excluded. */
export function languageLoss(logits: Tensor, ids: Tensor, mask: Tensor): Tensor {
  const next = ids.narrow(1, 1, ids.shape[1] - 1);
  const isToken = mask.narrow(1, 1, ids.shape[1] - 1).ne(0);
  const targets = next.where(isToken, -100);
  return F.crossEntropy(logits.narrow(1, 0, ids.shape[1] - 1).flatten(0, 1), targets.flatten());
}

/** One step as in golden/make.py, and its comparison with PyTorch's, whose keys a function maps to the model's. */
export async function expectStep(
  model: nn.Module,
  lossOf: () => Tensor,
  { loss: lossOfTorch, state }: StepOfTorch,
  keyOf: (key: string) => string = (key) => key,
): Promise<void> {
  manualSeed(1);
  model.train();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.2, weightDecay: 0.1 });
  const loss = lossOf();
  await loss.backward();
  await optimizer.step();
  expect(Math.abs((await loss.item()) - lossOfTorch) / lossOfTorch).toBeLessThan(1e-5);
  const own = model.stateDict();
  const compared = new Set<string>();
  for (const [key, { sum, first }] of Object.entries(state)) {
    const mapped = keyOf(key);
    const found = own.get(mapped) ?? { data: [] };
    compared.add(mapped);
    const total = [...found.data].reduce((sum, value) => sum + value, 0);
    expect([key, ...found.data.slice(0, 4), total]).toEqual([
      key,
      ...[...first, sum].map((value) => expect.closeTo(value, 3) as unknown),
    ]);
  }
  expect([...own.keys()].filter((key) => !compared.has(key))).toEqual([]);
}
