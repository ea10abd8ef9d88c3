import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { readResult, Scenarios, type ScenarioJob } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const script = builtScript('train.script');
const scenarios = new Scenarios(script, temporaryFolder());

interface Run {
  readonly digest: string;
  readonly losses: readonly number[];
  readonly saved: readonly number[];
  readonly result?: { readonly globalStep: number; readonly epochs: number; readonly stoppedEarly: boolean };
  readonly early: object;
}

describe.each([1, 2])('on %d ranks', (ranks) => {
  let job: ScenarioJob | undefined;
  const results = <Result>(scenario: string) => {
    const warning = 'ringrun: Trainer.fit: ';
    job ??= scenarios.job(ranks, ['resume', 'steps', 'best', 'loggers', 'fit', 'gan'], {
      stderr: expect.not.stringContaining(warning),
    });
    return job.of<Result>(scenario);
  };

  test('a training that crashes resumes with the bits of an uninterrupted one', async () => {
    const found = await results<{ whole: Run; before: Run; after: Run }[]>('resume');
    for (const runs of found) {
      for (const { whole, before, after } of runs) {
        expect(before.result).toBeUndefined();
        expect(after.saved.length).toBeLessThan(whole.result!.globalStep);
        expect(after.digest).toBe(whole.digest);
        expect(after.early).toEqual(whole.early);
        expect(after.result).toEqual(whole.result);
        expect(after.losses).toEqual(whole.losses.slice(-after.losses.length));
      }
      expect(runs.map(({ whole }) => whole.digest)).toEqual(found[0].map(({ whole }) => whole.digest));
    }
    const [inEpoch, afterEpoch] = found[0];
    const ofEpoch = ranks === 1 ? 6 : 3;
    expect(inEpoch.before.saved).toEqual(ranks === 1 ? [2, 4] : [2, 3, 4]);
    expect(afterEpoch.before.saved.at(-1)).toBe(ranks === 1 ? ofEpoch : 6);
  });

  test('maxSteps ends in an epoch, and more steps continue there', async () => {
    const steps = await results<Record<'whole' | 'first' | 'second' | 'none', Run>>('steps');
    for (const { whole, first, second, none } of steps) {
      expect(first.result).toMatchObject({ globalStep: 4, epochs: ranks === 1 ? 0 : 1 });
      expect(second.digest).toBe(whole.digest);
      expect(none.digest).toBe(whole.digest);
      expect(none.losses).toEqual([]);
    }
  });

  test('the best and the last training of a ModelCheckpoint resume bit-identically', async () => {
    const found = await results<(Record<'whole' | 'after' | 'last', Run> & { path: string })[]>('best');
    for (const runs of found) {
      expect(runs.map(({ path }) => path)).toEqual(found[0].map(({ path }) => path));
      for (const { whole, after, last } of runs) {
        for (const resumed of [after, last]) {
          expect(resumed.digest).toBe(whole.digest);
          expect(resumed.early).toEqual(whole.early);
          expect(resumed.result).toEqual(whole.result);
          expect(resumed.losses.length).toBeLessThan(whole.losses.length);
          expect(resumed.losses).toEqual(whole.losses.slice(-resumed.losses.length));
        }
      }
    }
  });

  test('loggers receive the step of the checkpoint and the state of rank 0', async () => {
    const step = ranks === 1 ? 6 : 3;
    for (const resumed of await results('loggers')) expect(resumed).toEqual([[step, { runId: 'run0' }]]);
  });

  test('validations are the same on all ranks, rank 0 writes, and one rank can stop all', async () => {
    const found = await results<{
      run: Run;
      stopped: Run['result'];
      untrained: object;
      path: string;
      best: string;
    }>('fit');
    for (const one of found) expect(one).toEqual(found[0]);
    const [{ run, stopped, untrained, path, best }] = found;
    expect(run.losses).toHaveLength(3);
    expect(stopped).toMatchObject({ epochs: 2, stoppedEarly: true });
    // Of all samples, whatever the number of ranks.
    expect(untrained).toEqual({
      accuracy: expect.closeTo(untrainedValues.accuracy, 6) as number,
      loss: expect.closeTo(untrainedValues.loss, 5) as number,
    });
    const lines = readFileSync(path, 'utf8').trim().split('\n');
    const names = lines.map((line) => Object.keys(JSON.parse(line) as object).slice(2));
    const [training, validation] = [
      ['train/learning_rate', 'train/loss'],
      ['val/accuracy', 'val/loss'],
    ];
    const epoch = [...Array.from({ length: ranks === 1 ? 3 : 2 }, () => training), validation];
    expect(names).toEqual([...epoch, ...epoch, ...epoch]);
    expect(readdirSync(dirname(path))).toContain(basename(best));
  });

  test('two models with an optimizer each train together', async () => {
    const found = await results<{ result: object; digests: string[] }>('gan');
    for (const { result, digests } of found) {
      expect(result).toEqual({ globalStep: 12, epochs: 2, stoppedEarly: false });
      expect(digests).toEqual(found[0].digests);
    }
  });
});

/** Of the problem's model before training, in one process; fit.test.ts computes such values by hand. */
const untrainedValues = { accuracy: 7 / 15, loss: 1.06685 };

test('a preempted training saves, ends its loggers and exits with 143, and its next start has the same bits', async () => {
  const folder = temporaryFolder();
  const run = (first: string) =>
    launch(['--nproc', '2', script, 'preempted', folder], {
      env: { TRAIN_DIR: folder, TRAIN_FIRST: first, RINGRUN_TRANSPORT: 'shm' },
    }).ended;
  const preempted = await run('1');
  expect(preempted.code).toBe(143);
  expect(preempted.stderr).toMatch(/preempted at step [5-8], checkpoint saved to /);
  expect(preempted.stdout).toContain('closed: preempted');
  expect(preempted.stdout).toContain('saved at 3\n');
  const resumed = await run('0');
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(resumed.stdout).toMatch(/^resumed from .*: step [5-8], epoch [23]$/m);
  for (const rank of [0, 1]) {
    const { digest, whole } = readResult(folder, `preempted-${rank}`) as { digest: string; whole: string };
    expect(digest).toBe(whole);
  }
});
