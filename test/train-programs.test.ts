// Whole programs with the Trainer of @ringrun/train, on two ranks, one after another in the same processes.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { isFull, ways } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const few = ['vae', 'gan', 'tabular', 'seq2seq', 'accumulation', 'multitask'] as const;
const others = ['vit', 'reinforce', 'transfer', 'jsonlines', 'layer', 'sweep'] as const;
const names = ways<(typeof few)[number] | (typeof others)[number]>(few, others);
type Name = (typeof names)[number];

const limitMs = 100_000;

let found: Promise<Map<string, { readonly identical: unknown }>> | undefined;

/** What each program prints at its end. */
async function programs(): Promise<Map<string, { readonly identical: unknown }>> {
  for (const name of names) builtScript(`train-programs/${name}.script`);
  const args = ['--nproc', '2', builtScript('train-programs.script'), temporaryFolder(), ...names];
  const env = { OMP_NUM_THREADS: 1, RINGRUN_TRANSPORT: 'shm' };
  const { code, stdout, stderr } = await launch(args, { env, limitMs }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return new Map(
    lines.map((line, index) => [names[index], JSON.parse(line) as { readonly identical: unknown }]),
  );
}

/** What a program prints at its end. */
async function run<Result>(name: Name): Promise<Result> {
  const printed = (await (found ??= programs())).get(name);
  expect(printed?.identical).toMatch(/^[0-9a-f]{64}$/);
  return printed as Result;
}

test(
  'a variational autoencoder reconstructs points that it has not seen',
  async () => {
    const { losses } = await run<{ losses: [before: number, after: number] }>('vae');
    expect(losses[1]).toBeLessThan(losses[0] / 4);
  },
  limitMs,
);

test('a GAN generates points around its examples', async () => {
  const { distances } = await run<{ distances: number[] }>('gan');
  expect(distances[0]).toBeGreaterThan(1.5);
  expect(distances.at(-1)).toBeLessThan(0.3);
});

test('a regression ends early, and its best model is loaded', async () => {
  const { score, epochs, stoppedEarly, isBest } = await run<{
    score: number;
    epochs: number;
    stoppedEarly: boolean;
    isBest: boolean;
  }>('tabular');
  expect({ stoppedEarly, isBest }).toEqual({ stoppedEarly: true, isBest: true });
  expect(epochs).toBeLessThan(200);
  expect(score).toBeGreaterThan(0.95);
});

test.runIf(isFull)('a vision transformer finds the direction of waves', async () => {
  const { accuracy } = await run<{ accuracy: number }>('vit');
  expect(accuracy).toBeGreaterThan(0.9);
});

test('an encoder and a decoder with one optimizer reverse sequences', async () => {
  const { accuracy } = await run<{ accuracy: number }>('seq2seq');
  expect(accuracy).toBeGreaterThan(0.9);
});

test.runIf(isFull)('an agent keeps a cart at its place with REINFORCE', async () => {
  const { distances } = await run<{ distances: number[] }>('reinforce');
  expect(distances.at(-1)).toBeLessThan(distances[0] / 2);
});

test.runIf(isFull)('a new head learns on frozen layers, whose bits stay', async () => {
  const { before, accuracy, isFrozen } = await run<{ before: number; accuracy: number; isFrozen: boolean }>(
    'transfer',
  );
  expect(isFrozen).toBe(true);
  expect(Math.min(before, accuracy)).toBeGreaterThan(0.9);
});

test.runIf(isFull)(
  'an LSTM classifies the texts of a file of JSON lines, and logs its settings',
  async () => {
    const { accuracy, auroc, epochs, logs } = await run<{
      accuracy: number;
      auroc: number;
      epochs: number;
      logs: string;
    }>('jsonlines');
    expect(Math.min(accuracy, auroc)).toBeGreaterThan(0.9);
    const [first, ...others] = readFileSync(logs, 'utf8').trim().split('\n');
    expect(JSON.parse(first)).toEqual({ hyperparameters: { lr: '0.01' } });
    expect(others.filter((line) => line.includes('val/auroc'))).toHaveLength(epochs);
  },
);

test.runIf(isFull)('a layer of its own with a gradient of its own fits a surface', async () => {
  const { r2 } = await run<{ r2: number }>('layer');
  expect(r2).toBeGreaterThan(0.95);
});

test('a moving average of the weights follows the steps of accumulated gradients', async () => {
  const { losses, steps } = await run<{ losses: number[]; steps: number[] }>('accumulation');
  expect(steps).toEqual([72, 72, 72]);
  const [before, after, averaged] = losses;
  expect(Math.max(after, averaged)).toBeLessThan(before / 20);
  expect(averaged).not.toBe(after);
});

test('three heads learn together, and each loss is logged', async () => {
  const {
    accuracy,
    error,
    names: logged,
  } = await run<{
    accuracy: number;
    error: Record<string, number>;
    names: string[];
  }>('multitask');
  expect(accuracy).toBeGreaterThan(0.9);
  expect(Math.max(...Object.values(error))).toBeLessThan(0.1);
  for (const name of ['train/total', 'train/kind', 'train/box', 'train/visible', 'val/loss'])
    expect(logged).toContain(name);
});

test.runIf(isFull)('all ranks of a sweep choose the same setting, which is trained longer', async () => {
  const { losses, best, loss, path } = await run<{
    losses: number[];
    best: object;
    loss: number;
    path: string;
  }>('sweep');
  expect(best).toEqual({ width: 32, lr: 0.03 });
  expect(loss).toBeLessThan(Math.min(...losses) / 2);
  expect(readFileSync(path, 'utf8')).toMatch(/val\/loss/);
});
