import { mkdirSync, readFileSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import type { Command } from './support/command.ts';
import { ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { pidOfRank } from './support/pid-of-rank.ts';
import { randomNumbers } from './support/random-numbers.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

// `npm run test:resume` uses more kills.
const kills = Number(process.env.RINGRUN_KILLS ?? 4);
/** Seed of the kill times; changes every day, so that all moments are tested over time. */
const seed = Math.floor(Date.now() / 86_400_000);
const ranks = [0, 1];
const limitMs = 60_000 + kills * 20_000;

// 21 images, of which each rank has 11: 3 steps of an epoch, the last with a batch of 3.
const data = syntheticMnist({ train: 21, test: 1 });
const steps = 6 * kills + 10;

let reference: Promise<string[]> | undefined;
/** The digests of the uninterrupted run, which runs once, in parallel with the first test that needs it. */
const undisturbed = () => (reference ??= runUndisturbed());

const random = randomNumbers(seed);
const below = (count: number) => Math.floor(random() * count);

test(
  `a run killed ${kills} times produces bit-identical parameters to an uninterrupted run`,
  { timeout: limitMs },
  async () => {
    const expected = undisturbed();
    const place = temporaryFolder();
    const results = temporaryFolder();
    const began: number[] = [];
    let unfinished = 0;
    for (let i = 0; i < kills; i += 1) {
      const inWrite = i % 2 === 1;
      const run = training(results, place);
      began.push(Number((await run.sees(/rank 0 begins at (\d+)/))[1]));
      await (inWrite ? killInWrite(run, place) : killInStep(run, began[i], i === 0 ? 7 : 2));
      const { code, left, timedOut } = await run.ended;
      expect({ code, left, timedOut }, `kill ${i} of seed ${seed}`).toEqual({
        code: 137,
        left: [],
        timedOut: false,
      });
      unfinished += unfinishedIn(place);
    }
    await endsWell(training(results, place));
    expect(began.at(-1), `began at ${began.join()}`).toBeGreaterThan(0);
    expect(began.toSorted((a, b) => a - b)).toEqual(began);
    expect(unfinished, 'kills that left a checkpoint unfinished').toBeGreaterThan(0);
    expect(digestsIn(results), `seed ${seed}`).toEqual(await expected);
    // Each rank has its own dropout masks, and its own running means since the last broadcast.
    expect(new Set(digestsIn(results)).size).toBe(ranks.length);
  },
);

test.each(ways(['rank 1'], ['the launcher']))(
  'SIGTERM to %s saves one checkpoint; the resumed run is bit-identical',
  async (target) => {
    const [place, results] = [temporaryFolder(), temporaryFolder()];
    const run = training(results, place);
    await run.sees(/rank 1 made step 2\b/);
    process.kill(target === 'rank 1' ? pidOfRank(run, 1) : run.pid, 'SIGTERM');
    const { code, left, stdout, stderr } = await run.ended;
    expect({ code, left }, stderr).toEqual({ code: 143, left: [] });
    const step = Number(/^ringrun: preempted at step (\d+), checkpoint saved/m.exec(stderr)?.[1]);
    const last = (rank: number) =>
      Number(
        stdout
          .match(new RegExp(`rank ${rank} made step (\\d+)`, 'g'))!
          .at(-1)!
          .split(' ')
          .at(-1),
      );
    expect(ranks.map(last)).toEqual([step, step]);
    expect(stderr.trimEnd().split('\n').at(-1)).toContain(
      `preempted at step ${step}, checkpoint saved to ${place} (SIGTERM on rank `,
    );
    const names = readdirSync(place).filter((name) => name.endsWith(`-step-${step}`));
    expect(names).toHaveLength(1);
    expect(readdirSync(join(place, names[0]))).toContain('manifest.json');
    const resumed = training(results, place);
    expect(Number((await resumed.sees(/rank 0 begins at (\d+)/))[1])).toBe(step);
    await endsWell(resumed);
    expect(digestsIn(results)).toEqual(await undisturbed());
  },
);

test('Ctrl-C saves one checkpoint, from which the next run continues', async () => {
  const [place, results] = [temporaryFolder(), temporaryFolder()];
  const run = training(results, place);
  await run.sees(/rank 1 made step 2\b/);
  process.kill(run.pid, 'SIGINT');
  const { code, left, stderr } = await run.ended;
  expect({ code, left }, stderr).toEqual({ code: 130, left: [] });
  const step = Number(/^ringrun: interrupted at step (\d+), checkpoint saved/m.exec(stderr)?.[1]);
  expect(stderr.trimEnd().split('\n').at(-1)).toContain(
    `interrupted at step ${step}, checkpoint saved to ${place} (SIGINT on rank `,
  );
  expect(readdirSync(place).filter((name) => name.endsWith(`-step-${step}`))).toHaveLength(1);
  const resumed = training(results, place);
  expect(Number((await resumed.sees(/rank 0 begins at (\d+)/))[1])).toBe(step);
  await endsWell(resumed);
  expect(digestsIn(results)).toEqual(await undisturbed());
});

test('SIGTERM to one of two nodes: all ranks save one checkpoint, and both launchers report it', async () => {
  const [place, results] = [temporaryFolder(), temporaryFolder()];
  const [first, second] = await trainingOnTwoNodes(results, place);
  await second.sees(/rank 1 made step 2\b/);
  process.kill(second.pid, 'SIGTERM');
  const ends = await Promise.all([first.ended, second.ended]);
  const step = Number(/^ringrun: preempted at step (\d+), /m.exec(ends[0].stderr)?.[1]);
  for (const [rank, { code, left, stdout, stderr }] of ends.entries()) {
    expect({ code, left }, stderr).toEqual({ code: 143, left: [] });
    expect(stderr.trimEnd().split('\n').at(-1)).toContain(
      `preempted at step ${step}, checkpoint saved to ${place} (SIGTERM on rank `,
    );
    expect(stdout.match(new RegExp(`rank ${rank} made step \\d+`, 'g'))!.at(-1)).toBe(
      `rank ${rank} made step ${step}`,
    );
  }
  expect(readdirSync(place).filter((name) => name.endsWith(`-step-${step}`))).toHaveLength(1);
  const resumed = await trainingOnTwoNodes(results, place);
  await resumed[0].sees(new RegExp(`rank 0 begins at ${step}\\b`));
  for (const { ended } of resumed) expect((await ended).code).toBe(0);
  expect(digestsIn(results)).toEqual(await undisturbed());
});

async function runUndisturbed(): Promise<string[]> {
  const results = temporaryFolder();
  await endsWell(training(results));
  return digestsIn(results);
}

function digestsIn(folder: string): string[] {
  return ranks.map((rank) => readFileSync(join(folder, String(rank)), 'utf8'));
}

function training(results: string, ...place: string[]): Command {
  return launch(
    ['--nproc', String(ranks.length), builtScript('resume.script'), data, String(steps), results, ...place],
    {
      limitMs,
    },
  );
}

/** Starts two launchers with one rank each. */
async function trainingOnTwoNodes(results: string, place: string): Promise<[Command, Command]> {
  const master = ['--master-addr', '127.0.0.1', '--master-port', String(await freePort())];
  const start = (nodeRank: number) =>
    launch(
      ['--nnodes', '2', '--node-rank', String(nodeRank), ...master].concat([
        builtScript('resume.script'),
        data,
        String(steps),
        results,
        place,
      ]),
      { limitMs },
    );
  return [start(0), start(1)];
}

/**
 * Waits for some milliseconds after one of the next steps of a random rank.
 *
 * @param least minimum number of steps that the run makes first: after 7, it has a checkpoint, because the save of step
 * 6 has waited until the one of step 3 was written
 */
async function killInStep(run: Command, began: number, least: number): Promise<void> {
  const victim = pidOfRank(run, below(ranks.length));
  await run.sees(new RegExp(`rank 0 made step ${began + least + below(6)}\\b`));
  await setTimeout(below(4));
  process.kill(victim, 'SIGKILL');
}

/** Waits for a new folder in `place`. */
async function killInWrite(run: Command, place: string): Promise<void> {
  mkdirSync(place, { recursive: true });
  const victim = pidOfRank(run, 0);
  await new Promise<void>((resolve) => {
    const watcher = watch(place, (_, name) => {
      if (!name?.startsWith('checkpoint-')) return;
      watcher.close();
      process.kill(victim, 'SIGKILL');
      resolve();
    });
    void run.ended.then(() => {
      watcher.close();
      resolve();
    });
  });
}

function unfinishedIn(place: string): number {
  const names = readdirSync(place).filter((name) => name.startsWith('checkpoint-'));
  const folders = names.map((name) => readdirSync(join(place, name)));
  return folders.filter((files) => !files.includes('manifest.json')).length;
}

async function endsWell(run: Command): Promise<void> {
  expect(withoutWaiting(await run.ended)).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
}
