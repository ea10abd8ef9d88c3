import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { runRanks } from '../support/ranks.ts';
import { settingsOverNccl } from '../nccl/settings.ts';

// `mixed` is left out in the short form: its operations are queued as those of each of its two transports.
const settings = [...settingsOnCpu, ...settingsOverNccl].filter(
  ({ transport }) => transport !== 'mixed' || requestedExtent() === 'full',
);

const count = { short: 300, full: 1500 }[requestedExtent()];
/** In each of several groups. */
const countBeside = { short: 21, full: 300 }[requestedExtent()];

/** The last of many operations started at once waits for all others. */
const timeoutMs = 100_000;
const limitMs = 200_000;
const ofSize = (wanted: number) => settings.filter(({ size }) => size === wanted);

test.each(ofSize(3))(
  'pending operations over $transport settle in call order without blocking the event loop',
  { timeout: limitMs },
  async ({ size, envOf }) => {
    const reports = await runRanks(size, 'manyOutstanding', { args: { count, timeoutMs }, envOf });
    for (const report of reports) expect(report).toEqual({ done: true });
  },
);

test.each(ofSize(4))(
  'groups that share ranks run concurrently and independently over $transport',
  { timeout: limitMs },
  async ({ size, envOf }) => {
    const groups = [
      [0, 2],
      [1, 3],
      [0, 1, 2, 3],
      [0, 1, 3],
      [2, 3],
      [0, 1, 2, 3],
    ];
    const reports = await runRanks(size, 'groupsBesideEachOther', {
      args: { groups, count: countBeside },
      envOf,
    });
    expect(reports.map((report) => report['groups'])).toEqual([4, 4, 4, 5]);
  },
);
