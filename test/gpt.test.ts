import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { isFull } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const folder = temporaryFolder();
const small = ['--synthetic', '--context', '16', '--layers', '1', '--heads', '2', '--width', '16'];

async function run(worldSize: number, script: string, args: readonly string[]): Promise<string> {
  const { stdout, ...ended } = withoutWaiting(
    await launch(['--nproc', String(worldSize), script, ...args]).ended,
  );
  expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  return stdout;
}

const typescript = 'packages/examples-gpt/train.ts';
const compiled = compiledExample('examples-gpt');
const train = (worldSize: number, args: readonly string[], script = compiled) =>
  run(worldSize, script, [...small, ...args]);
const digestOf = (stdout: string) => /^parameters identical on \d ranks?: ([0-9a-f]{64})$/m.exec(stdout)?.[1];
const lossOf = (stdout: string) =>
  Number(/^validation loss (\d\.\d{4}) per character on \d+ characters$/m.exec(stdout)?.[1]);

test('the losses of 50 steps of a GPT on two ranks equal those of PyTorch DDP', async () => {
  const golden = JSON.parse(
    readFileSync(new URL('golden/gpt_losses.json', import.meta.url), 'utf8'),
  ) as number[][];
  await run(2, builtScript('gpt.script'), [folder]);
  for (const [rank, losses] of golden.entries()) {
    const found = JSON.parse(readFileSync(join(folder, `${rank}.json`), 'utf8')) as number[];
    expect(found).toHaveLength(losses.length);
    const worst = Math.max(...losses.map((loss, step) => Math.abs(found[step] - loss)));
    expect(worst, `rank ${rank}`).toBeLessThan(1e-4);
    // Checks that it trained: without training, the losses would agree as well.
    expect(losses.at(-1)!).toBeLessThan(losses[0] - 1);
  }
});

describe('the example', () => {
  test('learns synthetic sentences, resumes bit-identically, and samples', async () => {
    const output = join(folder, 'checkpoints');
    const length = ['--steps', '400'];
    const saving = ['--output', output, '--checkpoint-interval', '300'];
    const both = await train(2, [...length, ...saving], typescript);
    // The letters alone have a loss above 2.5.
    expect(lossOf(both)).toBeLessThan(2);
    if (isFull)
      expect(lossOf(await train(1, [...length, '--batch-size', '24']))).toBeCloseTo(lossOf(both), 2);

    const from = join(output, 'checkpoint-000001-step-300');
    const rest = await train(2, [...length, '--output', join(folder, 'rest'), '--resume', from]);
    expect(rest).toContain(`resumed from ${from}: step 300`);
    expect(digestOf(rest)).toBeDefined();
    expect(digestOf(rest)).toBe(digestOf(both));

    const sampled = await train(1, [...length, '--output', output, '--resume', '--sample', '40']);
    expect(sampled).not.toContain('Train Epoch');
    expect(lossOf(sampled)).toBe(lossOf(both));
    expect(sampled.slice(sampled.indexOf(' characters\n') + ' characters\n'.length)).toMatch(
      /^\n[\w. \n]{40}\n$/,
    );
  });
});
