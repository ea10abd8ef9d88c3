import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { runRanks } from '../support/ranks.ts';
import { settingsOverNcclInFull } from '../nccl/settings.ts';

const settings = [...settingsOnCpu, ...settingsOverNcclInFull];

/** Operations at which the memory is looked at: the last of several equal stretches, after all that is done once only. */
const { from, to } = { short: { from: 4000, to: 12_000 }, full: { from: 20_000, to: 100_000 } }[
  requestedExtent()
];
const stretches = 8;
const marks = Array.from({ length: stretches + 1 }, (_, i) => from + ((to - from) / stretches) * i);

/** Over the whole way. A loss of 100 bytes in an operation is more, in the full form; in the short one, 2 KiB: arrays, not what holds them. */
const maxBytes = { short: 16, full: 4 }[requestedExtent()] * 2 ** 20;
const limitMs = 200_000;

/** Bytes by which memory grows in a stretch, but not once or twice: the allocators below take pages now and then, and keep them. */
function steadyGrowth(bytes: number[]): number {
  const growths = bytes.slice(1).map((one, i) => one - bytes[i]);
  return growths.sort((a, b) => a - b)[stretches / 2];
}

test.each(settings.filter(({ size }) => size === 2))(
  `memory over $transport is as much after ${to} operations as after ${from}`,
  { timeout: limitMs },
  async ({ size, envOf }) => {
    const reports = await runRanks(size, 'memoryAfterOperations', {
      args: { marks, timeoutMs: limitMs },
      envOf,
    });
    for (const { bytes } of reports as { bytes: number[] }[])
      expect(stretches * steadyGrowth(bytes), `bytes at each mark: ${bytes.join(', ')}`).toBeLessThan(
        maxBytes,
      );
  },
);
