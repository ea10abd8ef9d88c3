import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Program } from '../bench/programs/program.ts';
import '../packages/nn/test/support/one-thread.ts';
import { launch } from './support/command.ts';
import { start as accumulation } from '../bench/programs/accumulation.ts';
import { start as dqn } from '../bench/programs/dqn.ts';
import { start as gan } from '../bench/programs/gan.ts';
import { start as jsonlines } from '../bench/programs/jsonlines.ts';
import { start as lora } from '../bench/programs/lora.ts';
import { start as multitask } from '../bench/programs/multitask.ts';
import { start as recommender } from '../bench/programs/recommender.ts';
import { start as reinforce } from '../bench/programs/reinforce.ts';
import { start as seq2seq } from '../bench/programs/seq2seq.ts';
import { start as sweep } from '../bench/programs/sweep.ts';
import { start as tabular } from '../bench/programs/tabular.ts';
import { start as transfer } from '../bench/programs/transfer.ts';
import { start as vit } from '../bench/programs/vit.ts';

/** What PyTorch computes in the same program from the same seed. */
interface Golden {
  readonly steps: number;
  /** Of the first steps. */
  readonly losses: readonly number[];
  /** After all steps. */
  readonly score: number;
}

const golden = JSON.parse(readFileSync(new URL('golden/programs.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>;

/** Losses that agree with PyTorch's within 1e-4. */
const closeTo = (losses: readonly number[]) =>
  losses.map((loss): unknown => expect.closeTo(loss, 4 - Math.ceil(Math.log10(Math.abs(loss)))));

/** The limit of each score, which PyTorch also reaches: its own is beside it. */
const programs: [name: string, start: () => Program, limit: number][] = [
  ['accumulation', accumulation, 0.105], // 0.097
  ['dqn', dqn, 0.2], // 0.155
  ['gan', gan, 0.6], // 0.535; 2.2 before the first step
  ['jsonlines', jsonlines, 0.08], // 0.064
  ['lora', lora, 0.08], // 0.067
  ['multitask', multitask, 0.15], // 0.109
  ['recommender', recommender, 0.45], // 0.428
  ['seq2seq', seq2seq, 1.6], // 1.525
  ['sweep', sweep, 0.15], // 0.139
  ['tabular', tabular, 0.7], // 0.663
  ['transfer', transfer, 0.8], // 0.732
  ['vit', vit, 0.5], // 0.435
];

test.each(programs)('%s has the first losses of PyTorch, and learns', async (name, start, limit) => {
  const { steps, losses: expected } = golden[name];
  const { step, score } = start();
  const losses: number[] = [];
  while (losses.length < steps) losses.push(await step());
  expect(losses.slice(0, expected.length)).toEqual(closeTo(expected));
  expect(score ? await score() : losses.at(-1)).toBeLessThan(limit);
});

test('reinforce learns; its actions are not those of torch.multinomial', async () => {
  const { step, score } = reinforce();
  for (let episode = 0; episode < golden['reinforce'].steps; episode += 1) await step();
  // PyTorch: 0.313. With some other seeds, neither library learns in as few episodes.
  expect(await score!()).toBeLessThan(0.5);
});

test('f1 on two ranks has the first losses of PyTorch on two ranks, and learns', async () => {
  const { steps, losses: expected } = golden['f1'];
  const args = ['--nproc-per-node', '2', 'bench/programs/measure.ts', 'f1', String(steps)];
  const { stdout, stderr, code } = await launch(args, { env: { OMP_NUM_THREADS: 1 } }).ended;
  expect(code, stderr).toBe(0);
  const found = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { losses: number[]; score: number };
  expect(found.losses.slice(0, expected.length)).toEqual(closeTo(expected));
  // PyTorch: 0.093.
  expect(found.score).toBeLessThan(0.12);
});
