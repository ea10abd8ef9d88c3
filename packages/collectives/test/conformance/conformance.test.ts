import { expect, test } from 'vitest';

import { bytesPerElement, reduceOpsFor } from '@ringrun/core';
import type { DType } from '@ringrun/core';

import { runRanks } from '../support/ranks.ts';
import { settingsOverNccl } from '../nccl/settings.ts';
import { requestedExtent } from './extent.ts';
import { encrypted, isInSuite, settings } from './settings.ts';

/** By collective. */
type Summary = Record<string, { cases: number; hash: string }>;

const extent = requestedExtent();
const dtypes = Object.keys(bytesPerElement) as DType[];
const reductions = dtypes.flatMap((dtype) => reduceOpsFor(dtype));
const lengths = { short: 3, full: 6 }[extent];
/** Timeout of an operation: its error names the missing ranks before the test times out. */
const timeoutMs = 30_000;
const limitMs = { short: 120_000, full: 600_000 }[extent];

const named = [...settings, ...encrypted, ...settingsOverNccl]
  .filter(isInSuite)
  .map((one) => ({ name: one.transport, ...one }));

test.each(named)(
  'every collective over $name on $size ranks produces the values of a formula',
  { timeout: limitMs },
  async ({ transport, size, envOf }) => {
    const reports = await runRanks(size, 'conformance', { args: { extent, timeoutMs }, envOf });
    for (const report of reports) expect(report).toEqual(reports[0]);
    const { transport: used, summary } = reports[0] as { transport: string; summary: Summary };
    expect(used).toBe(transport);
    expect(summary['allReduce'].cases).toBeGreaterThan(reductions.length * lengths);
    expect(summary['allToAll'].cases).toBeGreaterThan(dtypes.length * lengths);
  },
);
