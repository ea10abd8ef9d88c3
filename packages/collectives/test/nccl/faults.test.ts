import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { runRanks, startRanks } from '../support/ranks.ts';
import { envOverNccl } from './settings.ts';

interface Outcome {
  error?: { name: string; code: string; message: string };
  /** The group's error for a later operation. */
  again?: string;
  ms: number;
}

/** Only with the fake libraries: NVIDIA's libraries cannot inject faults. */
const isFake = process.env['RINGRUN_GPU_CHECK'] !== '1';

/** Time limit of operations although the libraries are stuck. */
const timeoutMs = 1500;

/** Time limit if nothing is stuck; long, for busy machines. */
const rankTimeoutMs = 20_000;

async function outcomes(
  faults: string[],
  { victim = 1, timeoutMs = rankTimeoutMs }: { victim?: number; timeoutMs?: number } = {},
) {
  const reports = await runRanks(2, 'injectedFaults', {
    args: { faults, timeoutMs, victim },
    envOf: envOverNccl,
  });
  for (const { after } of reports) expect(after).toEqual({});
  const byRank = reports.map(({ found }) => found as Record<string, Outcome>);
  return faults.map((fault) => ({ fault, ofEach: byRank.map((found) => found[fault]) }));
}

/** FUNCTION:CALL:RESULT, as in RINGRUN_FAKE_GPU_FAULT. */
const calls = [
  // Call 9: the first group of the process calls it once for each of the 8 GPUs first.
  'cuDeviceGet:9:101',
  'cuDevicePrimaryCtxRetain:1:2',
  'cuCtxSetCurrent:1:201',
  'cuStreamCreate:2:2',
  'cuEventCreate:1:2',
  'cuMemAlloc_v2:1:2',
  'cuMemHostAlloc:1:2',
  'cuMemcpyHtoDAsync_v2:1:700',
  'cuMemcpyDtoHAsync_v2:2:700',
  'cuMemcpyDtoDAsync_v2:1:700',
  'cuMemsetD8Async:1:700',
  'cuEventRecord:3:700',
  'cuStreamWaitEvent:2:700',
  'cuEventQuery:4:700',
  'cuLaunchHostFunc:1:700',
  'ncclCommInitRankConfig:1:3',
  'ncclCommInitRankConfig:1:async=2',
  'ncclCommGetAsyncError:2:3',
  'ncclAllReduce:2:1',
  'ncclReduce:1:2',
  'ncclBroadcast:1:3',
  'ncclAllGather:1:4',
  'ncclReduceScatter:1:5',
  'ncclSend:1:1',
  'ncclRecv:1:1',
  'ncclGroupStart:1:3',
  'ncclGroupEnd:1:3',
  // The second of two fused operations, and their launch.
  'ncclAllReduce:6:1',
  'ncclGroupEnd:2:3',
  'ncclAllReduce:1:async=6',
];

test.runIf(isFake)(
  'an error of any call on one rank is reported on every rank with the rank and call',
  { timeout: 120_000 },
  async () => {
    for (const { fault, ofEach } of await outcomes(calls)) {
      const [other, victim] = ofEach;
      const [name, , what] = fault.split(':');
      const said = what.startsWith('async') ? 'NCCL reports an error of its communicator' : name;
      expect({ fault, ...victim.error }).toMatchObject({ name: 'RingrunError', code: 'ERR_SYSTEM' });
      expect({ fault, ...other.error }).toMatchObject({ name: 'PeerDiedError', code: 'ERR_PEER_DIED' });
      for (const { error, again, ms } of ofEach) {
        // A failed query of an event is reported as a failure of the GPU's work.
        expect(error!.message).toContain(name === 'cuEventQuery' ? 'work on GPU 1 failed' : said);
        if (again !== undefined) expect(again).toBe(error!.message);
        expect(ms, fault).toBeLessThan(10_000);
      }
    }
  },
);

test.runIf(isFake)(
  'the timeout ends a stuck operation on every rank, and destroy does not wait for it',
  async () => {
    const faults = ['ncclCommInitRankConfig:1:hang', 'ncclAllReduce:2:hang', 'ncclSend:1:hang'];
    for (const { fault, ofEach } of await outcomes(faults, { timeoutMs })) {
      for (const { error, ms } of ofEach) {
        expect({ fault, ...error }).toMatchObject({ code: 'ERR_COLLECTIVE_TIMEOUT' });
        expect(ms, fault).toBeLessThan(timeoutMs + 8000);
      }
    }
  },
);

test.runIf(isFake)('destroying a group ends its stuck operation, and no thread spins meanwhile', async () => {
  const reports = await runRanks(2, 'destroyingWhileStuck', { args: { timeoutMs }, envOf: envOverNccl });
  for (const { stuck, ms, busyMs } of reports) {
    expect(stuck).toMatchObject({ name: 'CollectiveTimeoutError', code: 'ERR_COLLECTIVE_TIMEOUT' });
    expect(ms).toBeLessThan(timeoutMs + 8000);
    expect(busyMs).toBeLessThan(timeoutMs / 2);
  }
});

test.runIf(isFake)('errors while a group is aborted or destroyed affect no rank', async () => {
  const faults = [
    'ncclCommFinalize:1:3',
    'ncclCommDestroy:1:3',
    'cuStreamDestroy_v2:1:700',
    'cuEventDestroy_v2:1:700',
    'cuMemFree_v2:1:700',
  ];
  for (const { fault, ofEach } of await outcomes(faults)) {
    for (const { error } of ofEach) expect({ fault, error }).toEqual({ fault, error: undefined });
  }
  const [{ ofEach }] = await outcomes(['ncclAllReduce:2:1,ncclCommAbort:1:3']);
  expect(ofEach.map(({ error }) => error?.name)).toEqual(['PeerDiedError', 'RingrunError']);
});

// Waits for each of its time limits.
test.runIf(isFake && requestedExtent() === 'full')(
  'a communicator that cannot be aborted or finalized is abandoned',
  async () => {
    const [hung, ...farewells] = await outcomes(
      ['ncclAllReduce:2:hang,ncclCommAbort:1:hang', 'ncclCommFinalize:1:hang', 'ncclCommDestroy:1:hang'],
      { timeoutMs },
    );
    for (const { error } of hung.ofEach) expect(error).toMatchObject({ code: 'ERR_COLLECTIVE_TIMEOUT' });
    for (const { fault, ofEach } of farewells) {
      for (const { error, ms } of ofEach) {
        expect({ fault, error }).toEqual({ fault, error: undefined });
        expect(ms, fault).toBeLessThan(10_000);
      }
    }
  },
);

test.runIf(isFake)(
  'a rank that fails before it publishes its rank info fails all ranks with its error',
  async () => {
    const faults = [
      'cuDeviceGet:1:2',
      'cuDeviceGetName:1:2',
      'cuDeviceGetUuid:1:2',
      'cuDeviceGetPCIBusId:1:2',
      'cuDeviceTotalMem_v2:1:2',
      'cuDeviceGetCount:1:2',
      'ncclGetUniqueId:1:2',
    ];
    for (const { fault, ofEach } of await outcomes(faults, { victim: 0 })) {
      const [name] = fault.split(':');
      for (const { error } of ofEach) expect(error!.message, fault).toContain(name);
    }
  },
);

test.runIf(isFake).each(['ncclCommInitRankConfig:1:kill', 'ncclAllReduce:2:kill', 'cuEventQuery:5:kill'])(
  'a rank that is killed at %s is named on the other ranks, which end normally',
  async (fault) => {
    await using group = await startRanks(3, 'dyingInLibraries', {
      envOf: (rank) => ({ ...envOverNccl(rank), ...(rank === 1 ? { RINGRUN_FAKE_GPU_FAULT: fault } : {}) }),
    });
    const victim = group.ranks[1];
    expect(await victim.ended).toEqual({ code: null, signal: 'SIGKILL' });
    const diedAt = Date.now();
    for (const { rank, reported, ended } of group.ranks.filter((one) => one !== victim)) {
      const { outcome, endedAt } = (await reported('outcome')) as { outcome: Outcome; endedAt: number };
      expect({ rank, ...outcome.error }).toMatchObject({ name: 'PeerDiedError' });
      expect(outcome.error!.message).toMatch(new RegExp(`^rank 1 \\(host .*, pid ${victim.pid}\\) is gone`));
      expect(endedAt - diedAt).toBeLessThan(5000);
      expect(await ended).toEqual({ code: 0, signal: null });
    }
  },
);

test('a process that exits during an operation ends immediately and loses no data of others', async () => {
  await using waiting = await startRanks(2, 'exitWhileWaiting', { envOf: envOverNccl });
  const [leaving, staying] = waiting.ranks;
  expect(await leaving.ended).toEqual({ code: 7, signal: null });
  expect(await staying.reported('name')).toMatchObject({
    name: expect.stringMatching(/^(PeerDiedError|CollectiveMismatchError)$/) as string,
  });
  const reports = await runRanks(2, 'exitWithoutDestroy', {
    args: { length: 1_500_000 },
    envOf: envOverNccl,
  });
  expect(reports).toEqual([{ done: true }, { done: true }]);
});
