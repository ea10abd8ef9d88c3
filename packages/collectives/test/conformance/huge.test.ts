import { expect, test } from 'vitest';

import { runRanks } from '../support/ranks.ts';
import { requestedExtent } from './extent.ts';

const limitMs = 200_000;
const cases = [
  { transport: 'shm', registered: false },
  { transport: 'shm', registered: true },
  { transport: 'tcp', registered: false },
];

// They take 4 GiB of memory.
test.runIf(requestedExtent() === 'full').each(cases)(
  'reduces, broadcasts and sends over 2^31 bytes over $transport (registered: $registered)',
  { timeout: limitMs },
  async ({ transport, registered }) => {
    const reports = await runRanks(2, 'hugeArrays', {
      args: { registered, timeoutMs: limitMs },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const report of reports) expect(report).toEqual(reports[0]);
    expect(reports[0]['transport']).toBe(transport);
  },
);
