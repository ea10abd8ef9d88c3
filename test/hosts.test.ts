import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import type { RankOnHost } from './support/ranks-on-hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const measures = process.env['RINGRUN_MEASURE'] === '1';

/** The JSON output of each rank after all have exited with 0. */
async function reportsOf<Report>(ranks: readonly RankOnHost[]): Promise<Report[]> {
  const ends = await Promise.all(ranks.map(({ command }) => command.ended));
  return ends.map(withoutWaiting).map(({ stdout, ...ended }) => {
    expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
    return JSON.parse(stdout) as Report;
  });
}

/** Bytes of the rank's host. */
interface Traffic {
  sent: number;
  received: number;
}

interface Report {
  transport: string;
  /** All-reduces in memory of the process and of the group. */
  plain: Traffic & { wrong: number; hash: string };
  registered: Traffic & { wrong: number; hash: string };
  broadcast: Traffic & { wrong: number };
}

/** Within 3%. */
function expectBytes(counted: number, expected: number): void {
  expect(Math.abs(counted - expected) / expected, `${counted} bytes, expected ${expected}`).toBeLessThan(
    0.03,
  );
}

describe.skipIf(problem)(`hosts as network namespaces${problem ? `: skipped, ${problem}` : ''}`, () => {
  const mixed = { count: 2, perHost: 2, transport: 'mixed' };
  const tcp = { count: 3, perHost: 1, transport: 'tcp' };

  // Between hosts, `mixed` sends over TCP too.
  const layouts = measures ? [mixed, tcp] : ways([mixed], [tcp]);

  describe.each(layouts)('$count hosts with $perHost rank(s) each', ({ count, perHost, transport }) => {
    // veth interfaces count TCP segments of up to 64 KiB with one header each, so headers are 0.1% at any MTU. On
    // Ethernet they are 4.5%.
    test(`use ${transport}, compute equal values, and send the minimum number of bytes`, async () => {
      // Not a multiple of the segment size, the hosts or the ranks.
      const bytes = 4 * 2_000_003;
      using network = connectHosts(count);
      const reports = await reportsOf<Report>(
        startOnHosts(network, { perHost, args: [builtScript('hosts-traffic.script'), bytes] }),
      );
      for (const { transport: used, plain, registered, broadcast } of reports) {
        expect(used).toBe(transport);
        for (const { sent, received, ...values } of [plain, registered]) {
          expect(values).toEqual({ wrong: 0, hash: reports[0].plain.hash });
          for (const counted of [sent, received]) expectBytes(counted, (2 * bytes * (count - 1)) / count);
        }
        expect(broadcast.wrong).toBe(0);
      }
      const firstOfEach = reports.filter((_, rank) => rank % perHost === 0);
      const sentInAll = firstOfEach.reduce((sum, { broadcast }) => sum + broadcast.sent, 0);
      expectBytes(sentInAll, bytes * (count - 1));
      for (const { broadcast } of firstOfEach) expect(broadcast.sent).toBeLessThan(1.03 * bytes);
    });

    // Headers take 4.4% of packets of 1,500 bytes. Needs an otherwise idle machine: `npm run bench:hosts`.
    test.runIf(measures)('keep a link of 1 Gbit/s busy to 90% with an all-reduce of 64 MB', async () => {
      const [bytes, bitsPerSecond] = [64e6, 1e9];
      using network = connectHosts(count, { bitsPerSecond });
      const ranks = startOnHosts(network, {
        perHost,
        args: [builtScript('hosts-link-use.script'), bytes, 5],
      });
      const [seconds] = await reportsOf<number[]>(ranks);
      const median = seconds.toSorted((a, b) => a - b)[2];
      const fraction = (2 * bytes * (count - 1)) / count / (bitsPerSecond / 8) / median;
      console.log(`${count} hosts with ${perHost} rank(s) each: ${(100 * fraction).toFixed(1)}% of the link`);
      expect(fraction, `of the link, in ${seconds.join(', ')} s`).toBeGreaterThanOrEqual(0.9);
      // More would mean that the link is faster than configured.
      expect(fraction).toBeLessThan(1);
    });
  });
});
