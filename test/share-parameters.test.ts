import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { node } from './support/command.ts';
import { isFull, ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

/** A layer without gradients, and a model in bfloat16 on a processor without instructions for it. */
const stderr = expect.stringMatching(
  /^(ringrun: (extra.* did not contribute|autocast: this processor has no bfloat16 instructions).*\n)*$/,
) as unknown;

const scenarios = new SharedScenarios(builtScript('share-parameters.script'), temporaryFolder());

type Trained = Record<'shared' | 'plain', Record<'parameters' | 'state' | 'gradients' | 'read', string>>;

/** The short form uses every third variant on one host, and every fifth otherwise. */
const [third, fifth] = [3, 5].map((every) => ({ EVERY: isFull ? 1 : every }));
const oneHost = { transport: 'shm', env: third };
const twoHosts = { transport: '', env: { TWO_HOSTS: 1, ...fifth } };

test.each(
  ways(
    [
      { size: 2, hosts: 1, ...oneHost },
      { size: 3, hosts: 2, ...twoHosts },
    ],
    [
      { size: 3, hosts: 1, ...oneHost },
      { size: 5, hosts: 2, ...twoHosts },
    ],
  ),
)(
  'shared and separate parameters are bit-identical: $size ranks on $hosts host(s)',
  async ({ size, hosts, transport, env }) => {
    const job = scenarios.job(size, ['bits'], { stderr, transport, env });
    const ranks = await job.of<Record<string, Trained>>('bits');
    for (const [rank, variants] of ranks.entries()) {
      for (const [name, { shared, plain }] of Object.entries(variants)) {
        expect(shared, `${name} on rank ${rank}`).toEqual(plain);
        expect(shared.parameters, name).toBe(ranks[0][name].plain.parameters);
      }
    }
    expect(Object.keys(ranks[0])).toHaveLength(isFull ? 22 : hosts === 1 ? 8 : 5);
  },
);

test('a job is bit-identical when values are in memory of the executor', async () => {
  interface Result extends Record<'host' | 'separate' | 'shared', Trained['plain']> {
    copies: Record<string, number>;
    notFreed: number;
  }
  const options = { stderr, env: fifth };
  for (const variants of await scenarios.run<Record<string, Result>>(2, 'separateMemory', options)) {
    for (const [name, { host, separate, shared, copies, notFreed }] of Object.entries(variants)) {
      expect(separate, name).toEqual(host);
      expect(shared, `${name}, shared`).toEqual(host);
      expect(Math.min(...Object.values(copies)), name).toBeGreaterThan(100);
      expect(notFreed, name).toBe(0);
    }
    expect(Object.keys(variants)).toHaveLength(isFull ? 22 : 5);
  }
});

test('two ranks with Adam need 3 numbers less for each 2 parameters', async () => {
  // Uses new processes, whose memory holds nothing else.
  const plain = await scenarios.job(2, ['memory']).of<number>('memory');
  const shared = await scenarios.job(2, ['memory'], { env: { SHARE: 1 } }).of<number>('memory');
  const parametersMb = (2 * 2000 * 2001 * 4) / 1e6;
  const saved = plain[0] + plain[1] - shared[0] - shared[1];
  // Of the 8 numbers per parameter on both ranks, including gradients, 3 are shared.
  expect(saved).toBeGreaterThan(0.85 * 3 * parametersMb);
});

test('a checkpoint is the same file with and without shared parameters, and continues either way', async () => {
  interface Result {
    uninterrupted: string;
    tensors: string;
    results: { name: string; state: string; tensors: string }[];
  }
  for (const { uninterrupted, tensors, results } of await scenarios.run<Result>(2, 'checkpoints')) {
    for (const result of results) expect(result).toMatchObject({ state: uninterrupted, tensors });
  }
});

test('shared parameters keep their values on all ranks if one cannot load a checkpoint', async () => {
  const unchanged = { message: expect.stringContaining('cannot load') as unknown, isUnchanged: true };
  expect(await scenarios.run(2, 'failedResume')).toEqual([unchanged, unchanged]);
});

test('after destroyProcessGroup each rank has its own parameters, and another group trains them', async () => {
  const ranks = await scenarios.run(2, 'destroyed');
  expect(ranks).toEqual(Array(2).fill({ isEqual: true, isOwn: true, isContinued: true }));
});

test('a compiled step averages no gradients before its update, and waits twice', async () => {
  const expected = {
    ofCompiled: { barrier: 2, allGather: 1 },
    ofPlain: { allReduce: 1, barrier: 2, allGather: 0 },
  };
  expect(await scenarios.run(2, 'calls')).toEqual([expected, expected]);
});

test('a rank killed mid-step is named by the others, which keep their own parameters', async () => {
  const folder = temporaryFolder();
  const env = { WORLD_SIZE: 3, MASTER_ADDR: '127.0.0.1', MASTER_PORT: await freePort() };
  const ranks = [0, 1, 2].map((rank) =>
    node([builtScript('share-parameters.script'), 'death', folder], { env: { ...env, RANK: rank } }),
  );
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  expect(ends.map(({ signal, code, left }) => ({ signal, code, left }))).toMatchObject([
    { code: 0, left: [] },
    { code: 0, left: [] },
    { signal: 'SIGKILL', left: [] },
  ]);
  for (const rank of [0, 1]) {
    expect(JSON.parse(readFileSync(join(folder, `death-${rank}.json`), 'utf8'))).toEqual({
      name: 'PeerDiedError',
      message: expect.stringContaining(`rank 2 (host ${hostname()}, pid ${ranks[2].pid}) is gone`) as unknown,
      bias: 1,
    });
  }
});

test('refuses unsupported uses of shared parameters, and names the alternatives', async () => {
  const [tcp] = await scenarios.run<unknown[]>(2, 'refusals', { transport: 'tcp' });
  const [shm, other] = await scenarios.run<unknown[]>(2, 'refusals');
  expect(other).toEqual(shm);
  const invalid = (message: string) => ({
    name: 'InvalidArgumentError',
    message: expect.stringContaining(message) as unknown,
  });
  expect(tcp).toMatchObject([invalid("got transport 'tcp'. Use the backend gloo")]);
  expect(shm).toMatchObject([
    invalid('shareParameters: expected true or false, got yes'),
    invalid("shareParameters: expected faultTolerance 'none', got 'shrink'"),
    invalid('join: expected a model without shareParameters'),
    {
      name: 'ModelMismatchError',
      message: expect.stringContaining(
        'rank 0 has shareParameters true; rank 1 has shareParameters false',
      ) as unknown,
    },
  ]);
});
