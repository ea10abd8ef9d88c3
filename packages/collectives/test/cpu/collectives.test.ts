import { expect, test } from 'vitest';

import { ways } from '../../../../test/support/extent.ts';
import { runRanks } from '../support/ranks.ts';

const transports = ['shm', 'tcp'];

test.each([
  { transport: 'shm', length: 1000 },
  { transport: 'shm', length: 200_003 },
  { transport: 'tcp', length: 1000 },
])('$length elements over $transport are added in the order of the ranks', async ({ transport, length }) => {
  const reports = await runRanks(3, 'sumsInRankOrder', {
    args: { length },
    env: { RINGRUN_TRANSPORT: transport },
  });
  for (const { hash, expected } of reports) expect(hash).toBe(expected);
});

test.each(transports)(
  'destroy over %s waits for pending operations, detaches memory and refuses later ones',
  async (transport) => {
    const reports = await runRanks(3, 'leaveInOrder', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports)
      expect(report).toEqual({ detachedLength: 0, refused: 'ERR_GROUP_DESTROYED' });
  },
);

test.each(
  transports.flatMap((transport) => ways([1, 300_000], [1000]).map((length) => ({ transport, length }))),
)(
  '$length elements over $transport arrive although their sender exits without destroy',
  async ({ transport, length }) => {
    const reports = await runRanks(3, 'exitWithoutDestroy', {
      args: { length },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const report of reports) expect(report).toEqual({ done: true });
  },
);
