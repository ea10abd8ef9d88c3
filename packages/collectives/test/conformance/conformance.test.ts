import { expect, test } from 'vitest';

import { runRanks } from '../fixtures/ranks.ts';
import { requestedExtent } from './extent.ts';
import { settings } from './settings.ts';

const extent = requestedExtent();
const limitMs = { short: 60_000, full: 600_000 }[extent];

test.each(settings)(
  'every collective over $transport on $size ranks gives the values of a formula and touches nothing else, for every dtype, op and length',
  { timeout: limitMs },
  async ({ transport, size, envOf }) => {
    const reports = await runRanks(size, 'conformance', { args: { extent, timeoutMs: limitMs }, envOf });
    for (const report of reports) expect(report).toEqual(reports[0]);
    expect(reports[0]['transport']).toBe(transport);
  },
);
