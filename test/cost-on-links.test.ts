import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { equalLinks, operationSeconds, payloadShare } from '../packages/collectives/src/cost/index.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const rank = fileURLToPath(new URL('../bench/links/rank.js', import.meta.url));

const title = `the cost model on emulated links${problem ? `: skipped, ${problem}` : ''}`;

// `npm run bench:plan` compares times, which depend on what else the machine does. Bytes do not, nor does the least time.
describe.skipIf(problem)(title, () => {
  test('a ring sends the bytes of the model to the next host only, and is no faster', async () => {
    const [hosts, bytes, rounds, bitsPerSecond, delayMs] = [4, 400_000, 2, 5e7, 2];
    using network = connectHosts(hosts, { links: { bitsPerSecond, delayMs } });
    const env = { RINGRUN_ALGORITHM: 'ring' };
    const ranks = startOnHosts(network, { perHost: 1, args: [rank, rounds, 'float32', bytes], env });
    const ends = (await Promise.all(ranks.map(({ command }) => command.ended))).map(withoutWaiting);
    for (const ended of ends) expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });

    const bytesPerSecond = (bitsPerSecond * payloadShare) / 8;
    const links = equalLinks(hosts, { bytesPerSecond, delay: delayMs / 1000 });
    const least = operationSeconds({ op: 'allReduce', algorithm: 'ring', bytes }, { links });
    const [seconds] = JSON.parse(ends[0].stdout) as number[];
    expect(seconds).toBeGreaterThan(0.95 * least);

    // As many all-reduces before are not timed.
    const sent = (2 * rounds * 2 * (hosts - 1) * bytes) / hosts / payloadShare;
    const traffic = await network.links.traffic();
    for (let host = 0; host < hosts; host += 1) {
      expect(traffic.bytes[host][(host + 1) % hosts] / sent).toBeGreaterThan(1);
      expect(traffic.bytes[host][(host + 1) % hosts] / sent).toBeLessThan(1.15);
      expect(traffic.bytes[host][(host + 2) % hosts] / sent).toBeLessThan(0.1);
    }
  });
});
