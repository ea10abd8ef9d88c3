import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isFull } from './support/extent.ts';
import { launch } from './support/command.ts';
import type { Ended } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { syntheticCifar10 } from './support/synthetic-cifar10.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const typescript = 'packages/examples-cifar/train.ts';
const compiled = compiledExample('examples-cifar');
const images = { train: 1200, test: 400 };
const data = syntheticCifar10(images);
const folder = temporaryFolder();

async function start(worldSize: number, args: readonly string[], script = compiled): Promise<Ended> {
  return await launch(['--nproc', String(worldSize), script, '--data', data, ...args]).ended;
}

async function train(worldSize: number, args: readonly string[], script = compiled): Promise<string> {
  const { stdout, ...ended } = withoutWaiting(await start(worldSize, args, script));
  expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  return stdout;
}

function digestOf(stdout: string): string | undefined {
  return /^parameters identical on \d+ ranks?: ([0-9a-f]{64})$/m.exec(stdout)?.[1];
}

function accuracyOf(stdout: string): number {
  return Number([...stdout.matchAll(/^accuracy=(\d\.\d{4})\tloss=/gm)].at(-1)?.[1]);
}

const learning = ['--epochs', '6', '--optimizer', 'adam', '--lr', '0.005', '--schedule', 'onecycle'];

test('the CNN learns synthetic images on two ranks, with augmentation and loader threads', async () => {
  const threaded = await train(2, [...learning, '--workers', '1'], typescript);
  expect(accuracyOf(threaded)).toBeGreaterThan(0.4);
  expect(digestOf(threaded)).toBeDefined();
  if (isFull) expect(digestOf(await train(2, learning))).toBe(digestOf(threaded));
});

test.runIf(isFull)('ResNet-18 runs a step, and its ranks stay identical', async () => {
  const small = syntheticCifar10({ train: 32, test: 16 });
  const args = ['--model', 'resnet18', '--batch-size', '16', '--data', small];
  expect(digestOf(await train(2, args))).toBeDefined();
});

test('--resume mid-epoch is bit-identical to an uninterrupted run, even with loader threads', async () => {
  const args = ['--momentum', '0.9', '--schedule', 'cosine', '--warmup', '1', '--checkpoint-interval', '4'];
  const whole = await train(2, [...args, '--epochs', '2', '--output', join(folder, 'whole')]);
  // The second epoch has ten steps, and the last four are lost: the second newest checkpoint is of step six.
  const path = join(folder, 'whole', 'checkpoint-000005-step-16');
  expect(existsSync(path)).toBe(true);
  const resuming = ['--output', join(folder, 'rest'), '--resume', path, '--workers', '1'];
  const rest = await train(2, [...args, '--epochs', '2', ...resuming]);
  expect(rest).toContain('step 16, epoch 2');
  expect(rest).not.toContain('Train Epoch: 1');
  expect(digestOf(rest)).toBe(digestOf(whole));
});

test.runIf(isFull)('--compare prints steps, seconds and accuracy of one rank and of three', async () => {
  const stdout = await train(3, ['--epochs', '1', '--compare']);
  const table = stdout.slice(stdout.indexOf('1 rank '));
  expect(table).toMatch(/^ *1 rank +3 ranks$/m);
  expect(table).toMatch(/^steps per rank +19 +7$/m);
  expect(table).toMatch(/^accuracy +0\.\d{4} +0\.\d{4}$/m);
});

test.runIf(isFull)(
  '--global-batch-size: two ranks train on the batches of one and end with its loss',
  async () => {
    const args = ['--global-batch-size', '64', '--no-augment', '--epochs', '1', '--log-interval', '1'];
    const [alone, both] = [await train(1, args), await train(2, args)];
    const losses = (stdout: string) =>
      [...stdout.matchAll(/^Train Epoch: 1 \[(\d+)\//gm)].map(([, seen]) => seen);
    expect(losses(both)).toEqual(losses(alone));
    expect(accuracyOf(both)).toBeCloseTo(accuracyOf(alone), 2);
  },
);

describe('invalid options', () => {
  test.each([
    ['a global batch that does not divide', 2, ['--global-batch-size', '65'], 'Use 64 or 66'],
    ['two batch sizes', 1, ['--batch-size', '8', '--global-batch-size', '64'], 'cannot be used with'],
    ['a comparison that is resumed', 1, ['--compare', '--resume'], 'cannot be used with'],
    ['an unknown model', 1, ['--model', 'resnet50'], 'Allowed choices are cnn, resnet18'],
  ])('%s', async (_, worldSize, args, message) => {
    const { code, stderr, left } = await start(worldSize, args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(left).toEqual([]);
  });
});
