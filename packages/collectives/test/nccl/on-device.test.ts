import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { runRanks, startRanks } from '../support/ranks.ts';
import { envOverNccl, settingsOverNccl } from './settings.ts';

const isFull = requestedExtent() === 'full' || process.env['RINGRUN_GPU_CHECK'] === '1';

test.each(settingsOverNccl.filter(({ size }) => size === 2 || (isFull && size !== 3)))(
  'collectives on $size GPUs produce the values of a formula, for every dtype, op and length',
  { timeout: { short: 120_000, full: 600_000 }[requestedExtent()] },
  async ({ size, envOf }) => {
    const reports = await runRanks(size, 'conformanceOnDevice', {
      args: { extent: requestedExtent() },
      envOf,
    });
    for (const { count } of reports) expect(count).toBeGreaterThan(500);
  },
);

test('tensors on GPUs are sent, copied, divided, shared with other libraries and freed', async () => {
  const reports = await runRanks(2, 'tensorsOnDevice', { envOf: envOverNccl });
  for (const { freed } of reports)
    expect(freed).toEqual({
      code: 'ERR_INVALID_ARGUMENT',
      message: 'tensor refers to GPU memory that was freed, or reaches past the end of its allocation',
    });
});

/** The error texts on both ranks, by case of on-device.js. */
const sides = {
  place: ['allReduce #1 (float32, 100 elements, SUM)', 'allReduce #1 (float32, 100 elements, SUM, on GPU)'],
  lengths: [
    'allReduceCoalesced #1 (float32, 2 arrays, SUM, on GPU)',
    'array 1 has 50 elements on rank 0 and 51 on rank 1',
  ],
  dtypeOfMessage: ['(float32, 100 elements, on GPU', '(int32, 100 elements, on GPU'],
  lengthOfMessage: ['(float32, 99 elements, on GPU', '(float32, 100 elements, on GPU'],
  bothSend: ['to rank 0', 'to rank 1'],
};

test('errors show both sides if ranks disagree about GPU tensors', async () => {
  const reports = await runRanks(2, 'disagreementsOnDevice', { envOf: envOverNccl });
  for (const report of reports) {
    const { found } = report as { found: Record<string, { name: string; message: string }> };
    for (const [about, expected] of Object.entries(sides)) {
      expect({ about, ...found[about] }).toMatchObject({ name: 'CollectiveMismatchError' });
      for (const side of expected) expect(found[about].message).toContain(side);
    }
  }
});

test('a message fails at its timeout if not received, and immediately if the rank died', async () => {
  await using group = await startRanks(2, 'messagesUnanswered', { envOf: envOverNccl });
  const [sender, receiver] = group.ranks;
  expect(await sender.reported('found')).toMatchObject({
    found: { late: { name: 'CollectiveTimeoutError' }, gone: { name: 'PeerDiedError' } },
  });
  expect(await receiver.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

test('messages of different dtypes that their receivers wait for are received', async () => {
  expect(await runRanks(2, 'lateMessages', { envOf: envOverNccl })).toHaveLength(2);
});

const isFake = process.env['RINGRUN_GPU_CHECK'] !== '1';

/** Runs a scenario on two ranks; returns rank 0's calls of the fake libraries. */
async function callsOf(scenario: string): Promise<string[]> {
  const log = join(mkdtempSync(join(tmpdir(), 'ringrun-calls-')), 'calls');
  try {
    await runRanks(2, scenario, {
      envOf: (rank) => ({ ...envOverNccl(rank), ...(rank === 0 ? { RINGRUN_FAKE_GPU_LOG: log } : {}) }),
    });
    return readFileSync(log, 'utf8').trim().split('\n');
  } finally {
    rmSync(dirname(log), { recursive: true });
  }
}

test.runIf(isFake)(
  'a list of GPU tensors is one NCCL launch; a list of host arrays is copied as one',
  async () => {
    const calls = await callsOf('fusedReductions');
    const [start, end] = [calls.indexOf('ncclGroupStart'), calls.indexOf('ncclGroupEnd')];
    expect(calls.slice(start, end + 1)).toEqual([
      'ncclGroupStart',
      // One of the four tensors has no elements.
      ...Array.from({ length: 3 }, () => 'ncclAllReduce'),
      'ncclGroupEnd',
    ]);
    const ofArrays = calls.slice(end).filter((name) => /^(cuMemcpy|ncclAllReduce|ncclGroup)/.test(name));
    expect(ofArrays.slice(1, 4)).toEqual(['cuMemcpyHtoDAsync_v2', 'ncclAllReduce', 'cuMemcpyDtoHAsync_v2']);
  },
);

test.runIf(isFake)(
  'operations start after the work of a given stream, without blocking the host',
  async () => {
    const busyMs = 400;
    const reports = await runRanks(2, 'streamsInOrder', {
      envOf: (rank) => ({ ...envOverNccl(rank), RINGRUN_FAKE_GPU_BUSY_MS: String(busyMs) }),
    });
    for (const { callbackAfter, reducedAfter } of reports as Record<string, number>[]) {
      expect(callbackAfter).toBeLessThan(busyMs);
      expect(reducedAfter).toBeGreaterThanOrEqual(busyMs);
    }
  },
);

test('unsupported uses of GPU tensors are refused with the reason; the group remains usable', async () => {
  const reports = await runRanks(2, 'refusalsOnDevice', { envOf: envOverNccl });
  const expected = {
    band: /^op is BAND and the tensor is on a GPU, where NCCL supports SUM, AVG, PRODUCT, MIN, MAX: use copyToHost/,
    mixedList: /^expected all arrays on a GPU or all in host memory, got some of each/,
    mixed: /^expected all arrays on a GPU or all in host memory, got some of each/,
    tag: /^tag is 1 and the tensor is on a GPU/,
    anySource: /^src is missing and the tensor is on a GPU/,
    sync: /^sendSync: expected an array in host memory, got a tensor on a GPU. Use await send/,
    dtype: /^array has dtype float32, expected int32/,
    length: /^array has 7 elements, expected 8/,
  };
  for (const report of reports) {
    const { refusals } = report as { refusals: Record<string, { name: string; message: string }> };
    for (const [name, message] of Object.entries(expected)) {
      expect(refusals[name]).toEqual({
        name: 'InvalidArgumentError',
        message: expect.stringMatching(message) as string,
      });
    }
  }
});

test('a CPU group refuses a tensor on a GPU, and remains usable', async () => {
  await using group = await startRanks(2, 'tensorInCpuGroup', { envOf: envOverNccl });
  for (const { reported } of group.ranks) {
    expect(await reported('message')).toMatchObject({
      name: 'InvalidArgumentError',
      message: expect.stringMatching(/^tensor is on a GPU, but this group's backend is gloo/) as string,
      sum: 3,
    });
  }
});
