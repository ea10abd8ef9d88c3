import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { runRanks } from '../support/ranks.ts';
import { settingsOverNcclInFull } from '../nccl/settings.ts';

const settings = [...settingsOnCpu, ...settingsOverNcclInFull];

/**
 * Numbers of operations after which memory is measured: the ends of equal stretches, the first after all one-time
 * allocations.
 */
const { from, to } = { short: { from: 4000, to: 12_000 }, full: { from: 20_000, to: 100_000 } }[
  requestedExtent()
];
const stretches = 8;
const marks = Array.from({ length: stretches + 1 }, (_, i) => from + ((to - from) / stretches) * i);

/**
 * Bytes over all stretches. The full form detects a leak of 100 bytes per operation; the short form detects 2 KiB,
 * which finds leaked arrays but not leaked bookkeeping.
 */
const maxBytes = { short: 16, full: 4 }[requestedExtent()] * 2 ** 20;
const limitMs = 200_000;

/** Median growth of a stretch in bytes, because allocators occasionally map pages and keep them. */
function steadyGrowth(bytes: number[]): number {
  const growths = bytes.slice(1).map((one, i) => one - bytes[i]);
  return growths.sort((a, b) => a - b)[stretches / 2];
}

test.each(settings.filter(({ size }) => size === 2))(
  `memory use over $transport does not grow between ${from} and ${to} operations`,
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
