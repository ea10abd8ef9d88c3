import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { runRanks, startRanks } from '../fixtures/ranks.ts';
import { envOverNccl, settingsOverNccl } from './settings.ts';

const isFull = requestedExtent() === 'full' || process.env['RINGRUN_GPU_CHECK'] === '1';

test.each(settingsOverNccl.filter(({ size }) => size === 2 || (isFull && size !== 3)))(
  'every collective on tensors of $size GPUs gives the values of a formula, for every dtype, op and length',
  { timeout: { short: 60_000, full: 600_000 }[requestedExtent()] },
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
      message: 'tensor lies in memory of a GPU that was freed, or reaches beyond its end',
    });
});

test('an array here and a tensor on a GPU there are a mismatch, shown on both sides', async () => {
  const reports = await runRanks(2, 'disagreementsOnDevice', { envOf: envOverNccl });
  for (const { name, message } of reports) {
    expect(name).toBe('CollectiveMismatchError');
    expect(message).toContain('allReduce #1 (float32, 100 elements, SUM)');
    expect(message).toContain('allReduce #1 (float32, 100 elements, SUM, on GPU)');
  }
});

test('what cannot be on a GPU is refused with the reason, and the group goes on', async () => {
  const reports = await runRanks(2, 'refusalsOnDevice', { envOf: envOverNccl });
  const expected = {
    band: /^op is BAND and the tensor lies on a GPU, where NCCL has SUM, AVG, PRODUCT, MIN, MAX: copyToHost it/,
    mixed: /^some of the arrays lie on a GPU and some on this host/,
    tag: /^tag is 1 and the tensor lies on a GPU/,
    anySource: /^src is missing and the tensor lies on a GPU/,
    sync: /^sendSync was given a tensor on a GPU, expected an array of this host: await send instead/,
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

test('a gloo group refuses a tensor on a GPU, and goes on', async () => {
  await using group = await startRanks(2, 'tensorInGlooGroup', { envOf: envOverNccl });
  for (const { reported } of group.ranks) {
    expect(await reported('message')).toMatchObject({
      name: 'InvalidArgumentError',
      message: expect.stringMatching(/^tensor lies on a GPU and this group's backend is gloo/) as string,
      sum: 3,
    });
  }
});
