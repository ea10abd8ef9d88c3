import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings } from '../conformance/settings.ts';
import { runRanks } from '../fixtures/ranks.ts';

const marks = { short: [4000, 8000], full: [20_000, 100_000] }[requestedExtent()];
const mostBytes = 4 * 2 ** 20;
const limitMs = 200_000;

test.each(settings.filter(({ size }) => size === 2))(
  `memory over $transport is as much after ${marks[1]} operations as after ${marks[0]}`,
  { timeout: limitMs },
  async ({ size, envOf }) => {
    const reports = await runRanks(size, 'memoryAfterOperations', {
      args: { marks, timeoutMs: limitMs },
      envOf,
    });
    for (const { bytes } of reports as { bytes: [number, number] }[])
      expect(bytes[1] - bytes[0]).toBeLessThan(mostBytes);
  },
);
