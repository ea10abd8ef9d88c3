import { hostname } from 'node:os';

import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { startRanks } from '../support/ranks.ts';
import { settingsOverNcclInFull } from '../nccl/settings.ts';

// In the short form, ranks over nccl die in nccl/faults.test.ts.
const settings = [...settingsOnCpu, ...settingsOverNcclInFull];

interface Failure {
  name: string;
  message: string;
  operation: string;
  failedAt: number;
}

// `mixed` is left out: ranks die as over each of its two transports.
const ofFour = settings.filter(
  ({ size, transport }) => size === 4 && (transport !== 'mixed' || requestedExtent() === 'full'),
);
const lengths = requestedExtent() === 'full' ? [10, 100_000] : [100_000];
const cases = ofFour.flatMap((setting) => lengths.map((length) => ({ ...setting, length })));

test.each(cases)(
  'a killed rank is named on all others within 5 s over $transport ($length elements)',
  async ({ size, envOf, length }) => {
    await using group = await startRanks(size, 'everyOperationUntilFailure', { args: { length }, envOf });
    await Promise.all(group.ranks.map(({ reported }) => reported('running')));
    const victim = group.ranks[1];
    victim.process.kill('SIGKILL');
    const killedAt = Date.now();
    for (const survivor of group.ranks.filter((one) => one !== victim)) {
      const { errors } = (await survivor.reported('errors')) as { errors: Record<string, Failure> };
      expect(Object.keys(errors)).toHaveLength(17);
      for (const [kind, error] of Object.entries(errors)) {
        expect({ kind, ...error }).toMatchObject({
          name: 'PeerDiedError',
          peer: { rank: victim.rank, host: hostname(), pid: victim.pid },
        });
        expect(error.message).toContain(`rank 1 (host ${hostname()}, pid ${victim.pid}) is gone`);
        expect(error.operation).toMatch(/^[a-z]\w+( #\d+)? \(|^\w*[bB]arrier #\d+$/);
        expect(error.failedAt - killedAt).toBeLessThan(5000);
      }
      expect(await survivor.ended).toEqual({ code: 0, signal: null });
    }
  },
);
