import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';

const problem = hostsProblem();
const delayMs = 100;

interface Run {
  count: number;
  steps?: number;
  encrypt?: 0 | 1;
  hook?: string[];
}

/** The fewest connections of a rank, and its shortest step in round trips. The sums of all steps are right. */
async function run(
  hosts: number,
  { count, steps = 2, encrypt = 0, hook = [] }: Run,
): Promise<{ connections: number; roundTrips: number }> {
  using network = connectHosts(hosts, { links: { bitsPerSecond: 1e9, delayMs } });
  const args = [builtScript('long-links.script'), count, 700, steps, ...hook];
  const ranks = startOnHosts(network, { perHost: 1, args, env: { RINGRUN_ENCRYPT: encrypt } });
  const reports = await Promise.all(
    ranks.map(async ({ command }) => {
      const { code, stdout, stderr } = await command.ended;
      expect(code, stderr).toBe(0);
      const [, connections, ms] = /^wrong: 0, connections: (\d+), shortest: (\d+) ms$/m.exec(stdout) ?? [];
      expect(ms, stdout).toBeDefined();
      return { connections: Number(connections), roundTrips: Number(ms) / (2 * delayMs) };
    }),
  );
  return {
    connections: Math.min(...reports.map(({ connections }) => connections)),
    roundTrips: Math.min(...reports.map(({ roundTrips }) => roundTrips)),
  };
}

// After a pause of some round trips, TCP sends only ten segments on a connection in the first of them.
describe.skipIf(problem)(`links of 200 ms and 1 Gbit/s${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('a ring of three ranks is right and encrypted, and uses several connections', async () => {
    const { connections } = await run(3, { count: 300_001, encrypt: 1 });
    expect(connections).toBeGreaterThanOrEqual(2 * 8);
  });

  test('six segments of numbers of 8 bits among four ranks are right', async () => {
    await run(4, { count: 4 * 6 * 65_536 - 1024, hook: ['int8'] });
  });

  // Times of a quiet machine.
  describe.runIf(process.env['RINGRUN_MEASURE'] === '1')('after a pause', () => {
    // More in each step, until they have all that is sent in a round trip.
    test('2.7 MB take less than 3 round trips, over many connections', async () => {
      const { roundTrips, connections } = await run(2, { count: 670_000, steps: 9 });
      expect(roundTrips).toBeLessThan(3);
      expect(connections).toBeGreaterThanOrEqual(32);
    });

    // Without terms that are sent ahead, each of 12 steps would take half a round trip.
    test('six segments of numbers of 8 bits among four ranks take less than 5 round trips', async () => {
      const { roundTrips } = await run(4, { count: 4 * 6 * 65_536 - 1024, steps: 9, hook: ['int8'] });
      expect(roundTrips).toBeLessThan(5);
    });
  });
});
