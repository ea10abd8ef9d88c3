import { createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { once } from 'node:events';
import { connectStore } from '../../../rendezvous/src/index.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { workerEnvironment } from '../../src/job/worker-environment.ts';
import type { JobSettings } from '../../src/job/worker-environment.ts';
import { launch, temporaryScript } from '../support/launched.ts';

const job: JobSettings = {
  name: 'train.ts',
  round: {
    runId: 'run-1',
    restartCount: 2,
    groupRank: 1,
    groupWorldSize: 3,
    processesPerNode: [2, 3, 1],
    masterAddress: 'node-0',
    masterPort: 1234,
    storeEndpoint: 'tcp://127.0.0.1:5678',
  },
  role: 'trainer',
  maxRestarts: 5,
  gracePeriodMs: 2500,
  processesPerNode: 3,
  usableCpus: 8,
};

test("a worker receives torchrun's variables", () => {
  expect(
    workerEnvironment(job, 2, { errorFile: '/tmp/errors/rank-2.json' }, { HOME: '/root', RANK: '77' }),
  ).toEqual({
    HOME: '/root',
    OMP_NUM_THREADS: '2',
    RANK: '4',
    LOCAL_RANK: '2',
    GROUP_RANK: '1',
    ROLE_RANK: '4',
    ROLE_NAME: 'trainer',
    WORLD_SIZE: '6',
    LOCAL_WORLD_SIZE: '3',
    GROUP_WORLD_SIZE: '3',
    ROLE_WORLD_SIZE: '6',
    MASTER_ADDR: 'node-0',
    MASTER_PORT: '1234',
    RINGRUN_RUN_ID: 'run-1',
    RINGRUN_JOB_NAME: 'train.ts',
    RINGRUN_RESTART_COUNT: '2',
    RINGRUN_MAX_RESTARTS: '5',
    RINGRUN_GRACE: '2.5',
    RINGRUN_STORE: 'tcp://127.0.0.1:5678',
    RINGRUN_ERROR_FILE: '/tmp/errors/rank-2.json',
  });
});

test.each([
  ['more processes than CPUs', { ...job, processesPerNode: 16 }, {}, '1'],
  ['as many CPUs as processes', { ...job, processesPerNode: 8 }, {}, '1'],
  ['a choice of the user', job, { OMP_NUM_THREADS: '5' }, '5'],
])('OMP_NUM_THREADS with %s', (_, settings, inherited, expected) => {
  expect(workerEnvironment(settings, 0, { errorFile: undefined }, inherited)['OMP_NUM_THREADS']).toBe(
    expected,
  );
});

test('workers receive ranks, a free master port, a store that answers, and temporary files', async () => {
  const script = temporaryScript(
    'show.mjs',
    `console.log('ENV', encodeURIComponent(JSON.stringify(process.env)));
    process.stdin.resume().on('end', () => setTimeout(() => {}, 1e6));
    process.on('SIGTERM', () => process.exit(0));`,
  );
  const launched = launch(['--nproc', '2', script, '--epochs', '3']);
  const lines = await launched.marked('ENV', 2);
  const seen = lines.map(([json]) => JSON.parse(decodeURIComponent(json)) as Record<string, string>);
  seen.sort((a, b) => Number(a['RANK']) - Number(b['RANK']));

  expect(seen.map((env) => [env['RANK'], env['LOCAL_RANK'], env['WORLD_SIZE']])).toEqual([
    ['0', '0', '2'],
    ['1', '1', '2'],
  ]);
  for (const name of ['MASTER_ADDR', 'MASTER_PORT', 'RINGRUN_STORE', 'RINGRUN_RUN_ID']) {
    expect(seen[0][name]).toBe(seen[1][name]);
  }
  for (const env of seen) expect(env).not.toHaveProperty('RINGRUN_LAUNCHER_PIPE');

  const server = createServer().listen(Number(seen[0]['MASTER_PORT']));
  await once(server, 'listening');
  onTestFinished(() => void server.close());

  const { hostname, port } = new URL(seen[0]['RINGRUN_STORE']);
  vi.stubEnv('RINGRUN_SECRET', seen[1]['RINGRUN_SECRET']);
  onTestFinished(() => void vi.unstubAllEnvs());
  const store = await connectStore({ host: hostname, port: Number(port), timeoutMs: 10_000 });
  expect(await store.add('counter', 5)).toBe(5);
  await store.close();

  const files = dirname(seen[0]['RINGRUN_ERROR_FILE']);
  expect(existsSync(files)).toBe(true);
  process.kill(launched.pid, 'SIGTERM');
  await launched.ended;
  expect(existsSync(files)).toBe(false);
});
