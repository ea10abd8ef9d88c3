import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compileStep, manualSeed, optim, tensor, type Tensor } from '@ringrun/nn';
import { GPT, decayedApart, lossOf, warmupAndCosine } from '../src/index.ts';

const golden = JSON.parse(
  readFileSync(new URL('../../../test/golden/autocast_losses.json', import.meta.url), 'utf8'),
) as Record<'float32' | 'autocast', number[]>;

const steps = golden.float32.length;
const batchSize = 6;
const shape = { vocabSize: 65, context: 32, layers: 2, heads: 4, width: 64 };

/** The losses of test/golden/autocast_losses.py. */
async function train(options: { autocast?: 'bfloat16' }): Promise<number[]> {
  manualSeed(1);
  const model = new GPT(shape);
  const optimizer = new optim.AdamW(decayedApart(model), { lr: 1e-3, betas: [0.9, 0.99], weightDecay: 0.1 });
  const scheduler = new optim.lrScheduler.LambdaLR(optimizer, (step) => warmupAndCosine(step, steps, 10));
  const step = compileStep(optimizer, (x: Tensor, y: Tensor) => lossOf(model, x, y), {
    clipGradNorm: 1,
    ...options,
  });
  const losses: number[] = [];
  for (let i = 0; i < steps; i += 1) {
    const loss = await step(...batch(i));
    scheduler.step();
    losses.push(await loss.item());
  }
  return losses;
}

/** `batch` of bench/gpt/model.py for rank 0. */
function batch(step: number): [tokens: Tensor, targets: Tensor] {
  const { context, vocabSize } = shape;
  const seed = 2 * step;
  const tokenAt = (place: number) =>
    BigInt((place * (7 + (seed % 5)) + seed * 31 + (Math.floor(place / 3) % 11)) % vocabSize);
  const windows = (shift: number) =>
    BigInt64Array.from({ length: batchSize * context }, (_, i) =>
      tokenAt(Math.floor(i / context) * (context + 1) + (i % context) + shift),
    );
  return [tensor(windows(0), [batchSize, context]), tensor(windows(1), [batchSize, context])];
}

test('losses of 200 steps in autocast are as near to those in float32 as PyTorch keeps them', async () => {
  const [wide, narrow] = [await train({}), await train({ autocast: 'bfloat16' })];
  expect(distance(wide.slice(0, 50), golden.float32.slice(0, 50))).toBeLessThan(1e-3);
  expect(narrow).not.toEqual(wide);
  const found = distance(narrow, wide);
  const expected = distance(golden.autocast, golden.float32);
  // Equal but for the order of sums, which depends on the processor.
  expect(found).toBeLessThan(1.25 * expected);
  expect(narrow.at(-1)!).toBeLessThan(narrow[0] - 1);
});

/** Root mean square of the differences. */
function distance(a: readonly number[], b: readonly number[]): number {
  return Math.sqrt(a.reduce((sum, one, i) => sum + (one - b[i]) ** 2, 0) / a.length);
}
