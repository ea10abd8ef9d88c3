import { hostname } from 'node:os';

import { expect, test, vi } from 'vitest';

import { startRanks } from '../support/ranks.ts';

const operations = ['allReduceSync', 'allocateSync', 'recvSync', 'settleSync', 'barrierSync'];
const cases = [
  ...operations.map((operation, i) => ({ operation, transport: ['shm', 'tcp'][i % 2], exits: false })),
  { operation: 'allReduceSync', transport: 'tcp', exits: true },
];

test.each(cases)(
  'a worker thread blocked in $operation over $transport can be terminated (exits: $exits)',
  async ({ operation, transport, exits }) => {
    await using group = await startRanks(2, 'terminatedInOperation', {
      args: { operation, exits },
      env: { RINGRUN_TRANSPORT: transport, RINGRUN_WAIT_REPORT_S: '0.2' },
    });
    const [other, blocked] = group.ranks as [(typeof group.ranks)[0], (typeof group.ranks)[0]];
    await vi.waitFor(
      () => {
        expect(blocked.stderr()).toMatch(/rank 1: waiting in/);
      },
      { timeout: 20_000, interval: 50 },
    );
    blocked.process.send('end');
    if (exits) expect(await blocked.ended).toEqual({ code: 7, signal: null });
    else {
      expect(await blocked.reported('code')).toEqual({ code: 1 });
      expect(await blocked.ended, blocked.stderr()).toEqual({ code: 0, signal: null });
    }
    other.process.send('operate');
    expect(await other.reported('name')).toMatchObject({
      name: 'PeerDiedError',
      message: expect.stringContaining(`rank 1 (host ${hostname()}, pid ${blocked.pid}) is gone`) as string,
    });
  },
);
