import { expect, test } from 'vitest';

import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { runRanks } from '../support/ranks.ts';
import { settingsOverNccl } from '../nccl/settings.ts';

const settings = [...settingsOnCpu, ...settingsOverNccl];

test.each(settings.filter(({ size }) => size === 3))(
  'a rank that destroys its group first over $transport loses no data of the others',
  async ({ size, envOf }) => {
    const reports = await runRanks(size, 'leaveFirst', { envOf });
    for (const report of reports) expect(report).toEqual({ done: true });
  },
);
