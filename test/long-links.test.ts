import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';

const problem = hostsProblem();
const delayMs = 100;

/** The shortest step of any rank, in round trips. */
async function roundTrips(
  hosts: number,
  { count, steps = 3, encrypt = 0 }: { count: number; steps?: number; encrypt?: 0 | 1 },
): Promise<number> {
  using network = connectHosts(hosts, { links: { bitsPerSecond: 1e9, delayMs } });
  const args = [builtScript('long-links.script'), count, 700, steps];
  const ranks = startOnHosts(network, { perHost: 1, args, env: { RINGRUN_ENCRYPT: encrypt } });
  const times = await Promise.all(
    ranks.map(async ({ command }) => {
      const { code, stdout, stderr } = await command.ended;
      expect(code, stderr).toBe(0);
      const [, ms] = /^wrong: 0, shortest: (\d+) ms$/m.exec(stdout) ?? [];
      expect(ms, stdout).toBeDefined();
      return Number(ms);
    }),
  );
  return Math.min(...times) / (2 * delayMs);
}

// After a pause of some round trips, TCP sends only ten segments on a connection in the first of them.
describe.skipIf(problem)(`links of 200 ms and 1 Gbit/s${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('2.7 MB take less than 4 round trips after a pause', async () => {
    expect(await roundTrips(2, { count: 670_000 })).toBeLessThan(4);
  });

  test('a ring of three ranks is right and encrypted', async () => {
    expect(await roundTrips(3, { count: 300_001, steps: 2, encrypt: 1 })).toBeLessThan(5);
  });
});
