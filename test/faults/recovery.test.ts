import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { start } from '../../packages/rendezvous/test/store/processes.ts';
import { lossOfSamples, replay } from '../fixtures/recoverable-training.ts';
import type { BackwardOf } from '../fixtures/recoverable-training.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { builtScript } from '../support/built-script.ts';
import { launch, node } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { batchSize, dieAtStep, epochs, samples, saveAtStep, stepsOfEpoch } from './fixtures/epochs.ts';
import type { RecoveryResult } from './fixtures/recovery-result.ts';
import { expectSameTraining, Job } from './support/recovery-job.ts';

const isFull = process.env['RINGRUN_FAULTS'] === 'full';
/** The samples of one rank in one step. */
interface Use {
  step: number;
  indices: number[];
}

test('a process that starts when the job has ended ends with ERR_JOB_ENDED', async () => {
  const job = await Job.start(2, 5, { TIMEOUT_MS: 3000 });
  await job.verify(5);
  await job.restart(1);
  const { process: late } = job.ranks[1];
  expect(await late.ended).toEqual({ code: 1, signal: null });
  expect(late.output().stderr).toContain(
    'This process did not join the job: the others had already finished it. Start all ranks to run a new job.',
  );
});

const moments = ['forward', 'backward', 'optimizer'] as const;

test.each(isFull ? moments : moments.slice(1, 2))(
  'a rank is killed in %s: the others repeat the step without it and continue',
  async (moment) => {
    const job = await Job.start(3, 30, { DIE: `1:13:${moment}` });
    await job.ranks[1].process.ended;
    job.ranks[1].isKilled = true;
    const ranksByStep = await job.verify(30);
    // In the optimizer's step, its gradients have been averaged.
    const last = moment === 'optimizer' ? 13 : 12;
    expect(ranksByStep.slice(0, last)).toEqual(Array.from({ length: last }, () => [0, 1, 2]));
    expect(ranksByStep.slice(last)).toEqual(Array.from({ length: 30 - last }, () => [0, 2]));
    const { stdout, stderr } = job.ranks[0].process.output();
    expect(stdout).toContain('rank 0: 2 ranks, died [1], joined []');
    expect(stderr).toMatch(
      /^ringrun: rank 1 \(host .+, pid \d+\) is gone; training continues with 2 ranks$/m,
    );
  },
  120_000,
);

/** Without and with a communication hook. */
test.each(isFull ? [{}, { HOOK: 'twice' }] : [{}])(
  'a death between accumulated batches, a checkpoint of the survivors, a new process: %j',
  async (env) => {
    const steps = epochs * stepsOfEpoch;
    const job = await Job.start(3, steps, env, 'recovery-epochs');
    const usedBy = (rank: number) => {
      const path = join(job.out, `samples-${rank}.jsonl`);
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
      return new Map(
        lines.map((line) => JSON.parse(line) as Use).map(({ step, indices }) => [step, indices]),
      );
    };
    await job.ranks[1].process.ended;
    await vi.waitFor(() => {
      expect(usedBy(0).has(saveAtStep)).toBe(true);
    }, 120_000);
    await job.restart(1);
    const used = new Map<string, number[]>();
    const backwardOf: BackwardOf = async (net, rank, step) => {
      const indices = usedBy(rank).get(step)!;
      used.set(`${rank} ${step}`, indices);
      await lossOfSamples(net, indices.slice(0, batchSize / 2)).backward();
      await lossOfSamples(net, indices.slice(batchSize / 2)).backward();
    };
    const ranksByStep = await job.verify(steps, (ranks) => replay(ranks, backwardOf));
    const ofThree = ranksByStep.findIndex((ranks, i) => i > dieAtStep && ranks.length === 3);
    expect(ofThree).toBeGreaterThanOrEqual(saveAtStep);
    expect(ranksByStep).toEqual(
      ranksByStep.map((_, i) => (i + 1 < dieAtStep ? [0, 1, 2] : i < ofThree ? [0, 2] : [0, 2, 1])),
    );
    // Samples of the dead rank are lost; every other sample of an epoch is used once.
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      const ofEpoch = ranksByStep.slice(epoch * stepsOfEpoch, (epoch + 1) * stepsOfEpoch);
      const indices = ofEpoch.flatMap((ranks, i) =>
        ranks.flatMap((rank) => used.get(`${rank} ${epoch * stepsOfEpoch + i + 1}`)!),
      );
      expect(new Set(indices).size).toBe(indices.length);
      const lost = ofEpoch.filter((ranks) => !ranks.includes(1)).length * batchSize;
      expect(indices).toHaveLength(samples - lost);
    }
  },
  120_000,
);

test('below minRanks the survivors throw ERR_RECOVERY_FAILED', async () => {
  const job = await Job.start(2, 30, { DIE: '0:13:backward', MIN_RANKS: 2 });
  expect(await job.ranks[1].process.ended).toEqual({ code: 1, signal: null });
  expect(job.ranks[1].process.output().stderr).toContain(
    'Recovery failed: 1 of the ranks are left, expected at least 2 (minRanks).',
  );
});

/** Ways to compute a step: all-reduces started by the graph, by JavaScript, and by the graph with `compileStep`. */
const ways = [
  { name: 'backward', env: { BUFFERS: 0 } },
  { name: 'backward, broadcasts buffers', env: {} },
  { name: 'compileStep', env: { BUFFERS: 0, COMPILED: 1 } },
];

/** A run: how many ranks, over which transport, and the seed of its kills. */
const runs = Array.from({ length: isFull ? 75 : 1 }, (_, i) => i + (isFull ? 0 : 1)).map((seed) => ({
  seed,
  worldSize: 2 + (seed % 3),
  transport: seed % 2 === 0 ? 'shm' : 'tcp',
  restarts: seed % 3 !== 1,
  way: ways[Math.floor(seed / 6) % ways.length],
}));

test.each(runs)(
  'seed $seed, $worldSize ranks over $transport, $way.name: random kills keep the loss',
  async ({ seed, worldSize, transport, restarts, way }) => {
    const random = randomNumbers(seed);
    const steps = 200;
    const env = { RINGRUN_TRANSPORT: transport, PAUSE_MS: 5, ...way.env };
    const job = await Job.start(worldSize, steps, env);
    const kills = restarts ? 2 + Math.floor(random() * 2) : 1 + Math.floor(random() * (worldSize - 1));
    let done = 0;
    const restarted: Promise<void>[] = [];
    for (let i = 0; i < kills; i += 1) {
      await setTimeout(random() * 600);
      const victim = Math.floor(random() * worldSize);
      if (!job.kill(victim)) continue;
      done += 1;
      if (restarts) restarted.push(job.restart(victim));
    }
    await Promise.all(restarted);
    await job.verify(steps);
    expect(done).toBeGreaterThan(0);
  },
  120_000,
);

test('under the launcher the job survives a killed rank, restarts it, and exits with 0', async () => {
  const out = temporaryFolder();
  const env = { OUT: out, DIE: '1:13:backward', PAUSE_MS: 20 };
  const args = ['--nproc', '3', '--max-restarts', '1', builtScript('faults/recovery.script'), '250'];
  const { code, stderr, left, timedOut } = await launch(args, { env }).ended;
  expect({ code, left, timedOut }).toEqual({ code: 0, left: [], timedOut: false });
  expect(stderr).toMatch(
    /rank 1 \(pid \d+\) was killed by SIGKILL; the job continues, and rank 1 is restarted \(restart 1 of 1\)/,
  );
  expect(stderr).toContain('training continues with 2 ranks\n');
  expect(stderr).toContain('training continues with 3 ranks\n');
  expect(stderr).toMatch(/the job finished with all ranks, after 1 process died\n$/);
  const results = [0, 1, 2].map((rank) => readFileSync(join(out, `rank-${rank}.json`), 'utf8'));
  expect(results[1]).toBe(results[0]);
  expect(results[2]).toBe(results[0]);
  const result = JSON.parse(results[0]) as RecoveryResult;
  expect(result.ranksByStep[12]).toEqual([0, 2]);
  expect(result.ranksByStep.at(-1)).toEqual([0, 2, 1]);
  await expectSameTraining(result);
});

test('refuses uses that cannot survive a death, by name', async () => {
  const { stdout } = await node([builtScript('faults/recovery-refused.script')]).ended;
  expect(JSON.parse(stdout)).toEqual({
    syncBatchNorm: expect.stringContaining(
      'expected a model without collectives in forward, got norm',
    ) as string,
    second: expect.stringContaining(
      'expected one model with faultTolerance in a process, got a second one',
    ) as string,
    hookAfterState: expect.stringContaining(
      'expected registerCommHook before shareState, got it after',
    ) as string,
    join: expect.stringContaining('expected no join, got one') as string,
  });
});

test('without a launcher the death of rank 0 ends the job with an error that names its store', async () => {
  const env = {
    WORLD_SIZE: 2,
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: await freePort(),
    OUT: temporaryFolder(),
  };
  const script = new URL('recovery.script.ts', import.meta.url);
  const [, one] = [0, 1].map((rank) => start(script, { ...env, RANK: rank, DIE: '0:13:backward' }, ['30']));
  expect(await one.ended).toEqual({ code: 1, signal: null });
  expect(one.output().stderr).toContain(
    'Recovery failed: rank 0, which serves the store, has ended, and without the store the ranks cannot form their group again',
  );
});
