import { describe, expect, test } from 'vitest';
import { fakeComputeLibraries } from '../native/test/fake-gpu/libraries.ts';
import { builtScript } from './support/built-script.ts';
import { node } from './support/command.ts';
import { ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { readResult, Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('gpu-ddp.script'), temporaryFolder());
const nccl = { ...fakeComputeLibraries(), OMP_NUM_THREADS: 1, TEST_BACKEND: 'nccl' };
const limitMs = 120_000;

/** Reports of the ranks at a timeout. */
const timeout = expect.stringMatching(/^ringrun: timeout of gpuStep #/) as unknown;

interface Failed {
  name: string;
  message?: string;
  isUnchanged?: boolean;
}

describe('a rank', () => {
  test('that runs another collective is named on all ranks', async () => {
    for (const { name, message } of await scenarios.run<Failed>(2, 'disagree', { env: nccl, limitMs })) {
      expect(name).toBe('CollectiveMismatchError');
      expect(message).toMatch(/gpuStep #\d+ \(float32, \d collectives, on GPU\)/);
      expect(message).toMatch(/barrier #\d+/);
    }
  });

  test('with a model of other collectives is named with the lengths of both', async () => {
    for (const { name, message } of await scenarios.run<Failed>(2, 'otherLengths', { env: nccl, limitMs })) {
      expect(name).toBe('CollectiveMismatchError');
      expect(message).toMatch(
        /collective 0: rank 0 has allGather of 3 elements, rank 1 has allGather of 5 elements/,
      );
    }
  });

  test('that is late is named at the timeout, and no parameter has changed', async () => {
    const [first, late] = await scenarios.run<Failed>(2, 'missing', { env: nccl, stderr: timeout, limitMs });
    expect(late.name).toBe('CollectiveMismatchError');
    expect(first).toMatchObject({ name: 'CollectiveTimeoutError', isUnchanged: true });
    expect(first.message).toMatch(/gpuStep #\d+/);
    expect(first.message).toMatch(/rank 1/);
  });
});

interface Failure extends Failed {
  next: string;
  seconds: number;
}

describe('a failure inside a step', () => {
  const failing = (fault: string, steps: number, stderr: unknown = '') =>
    scenarios.run<Failure>(2, 'failing', {
      env: { ...nccl, TEST_FAULT: fault, TEST_STEPS: steps },
      stderr,
      limitMs,
    });

  test.each(
    ways<readonly [string, number, string]>(
      [['ncclAllReduce:2:3', 1, 'ncclAllReduce']],
      [
        ['ncclAllReduce:1:3', 0, 'ncclAllReduce'],
        ['ncclCommGetAsyncError:2:3', 1, 'ncclCommGetAsyncError'],
        ['cuGraphLaunch:1:999', 2, 'cuGraphLaunch'],
      ],
    ),
  )('%s after %i steps is an error on all ranks, which names the step', async (fault, steps, call) => {
    const [other, failed] = await failing(fault, steps);
    expect(failed).toMatchObject({ name: 'RingrunError', message: expect.stringContaining(call) as string });
    expect(other).toMatchObject({ name: 'PeerDiedError', message: expect.stringContaining(call) as string });
    expect(Math.max(other.seconds, failed.seconds)).toBeLessThan(4);
    expect(other.message).toContain(`step ${steps + 1} of DistributedDataParallel`);
    for (const { next } of [other, failed]) expect(next).toBeDefined();
  });

  test.each(ways([1], [0]))(
    'collectives that do not end after %i steps are a timeout on all ranks',
    async (steps) => {
      for (const { name } of await failing('ncclAllReduce:1:hang', steps, timeout))
        expect(name).toBe('CollectiveTimeoutError');
    },
  );

  test.each(
    ways<readonly [string, number]>(
      [['cuGraphLaunch:1:kill', 2]],
      [
        ['ncclAllReduce:1:kill', 0],
        ['ncclAllReduce:2:kill', 1],
      ],
    ),
  )('the death of a rank in %s after %i steps is reported within seconds', async (fault, steps) => {
    const folder = temporaryFolder();
    const port = await freePort();
    const env = { ...nccl, WORLD_SIZE: 2, MASTER_ADDR: '127.0.0.1', MASTER_PORT: port };
    const script = builtScript('gpu-ddp.script');
    const [survivor, dead] = [0, 1].map((rank) =>
      node([script, 'failing', folder], {
        env: { ...env, RANK: rank, LOCAL_RANK: rank, TEST_FAULT: fault, TEST_STEPS: steps },
      }),
    );
    expect((await dead.ended).signal).toBe('SIGKILL');
    await survivor.ended;
    const found = readResult(folder, 'failing-0') as Failure;
    expect(found.name).toBe('PeerDiedError');
    expect(found.message).toContain(`step ${steps + 1} of DistributedDataParallel`);
    expect(found.message).toMatch(/rank 1/);
    expect(found.seconds).toBeLessThan(4);
  });
});
