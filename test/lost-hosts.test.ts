import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull, ways } from './support/extent.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Host, Network } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import type { Job, RankOnHost } from './support/ranks-on-hosts.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const problem = hostsProblem();
const script = join(temporaryFolder(), 'train.mjs');

/** Resolves when all ranks are running; they run until they are stopped. */
async function startWorking(
  network: Network,
  { timeoutMs, ...job }: Omit<Job, 'args'> & { timeoutMs: number },
): Promise<RankOnHost[]> {
  const ranks = startOnHosts(network, { ...job, args: [builtScript('fixtures/endless-sums'), timeoutMs] });
  await Promise.all(ranks.map(({ command }) => command.sees(/^rank \d adds up$/m)));
  return ranks;
}

/** The default of 15 s in the full form only. */
const silence = isFull ? {} : { RINGRUN_SILENT_PEER_TIMEOUT_S: 5 };

interface Loss {
  /** Ranks that a rank can no longer reach. */
  lost: readonly Host[];
  /** Text before the first named rank. */
  error: 'PeerDiedError: ' | 'CollectiveTimeoutError: .* Missing: ';
  withinSeconds: number;
}

/** Resolves when all have ended with an error that names a rank of a lost host and the operation. */
async function expectToEnd(
  ranks: readonly RankOnHost[],
  { lost, error, withinSeconds }: Loss,
): Promise<void> {
  const startedAt = performance.now();
  const names = lost.map(({ name }) => name).join('|');
  const naming = new RegExp(`^${error}rank \\d \\(host (${names}), pid \\d+`, 'm');
  await Promise.all(
    ranks.map(async ({ command }) => {
      const { code, stderr, timedOut, left } = await command.ended;
      expect((performance.now() - startedAt) / 1000).toBeLessThan(withinSeconds);
      expect({ code, timedOut, left }).toEqual({ code: 1, timedOut: false, left: [] });
      expect(stderr).toMatch(naming);
      expect(stderr).toMatch(/^\w+Error: .*allReduce #\d+ \(float32, 250,000 elements, SUM\)/m);
    }),
  );
}

describe.skipIf(problem)(`lost hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  test.each(ways([{ count: 2, perHost: 2, victim: 'host1' }], [{ count: 3, perHost: 1, victim: 'host0' }]))(
    '$victim of $count is killed: all other ranks name it',
    async ({ count, perHost, victim }) => {
      using network = connectHosts(count);
      const ranks = await startWorking(network, { perHost, timeoutMs: 60_000 });
      const lost = network.hosts.find(({ name }) => name === victim)!;
      lost.killProcesses();
      const others = ranks.filter(({ host }) => host !== lost);
      await expectToEnd(others, { lost: [lost], error: 'PeerDiedError: ', withinSeconds: 5 });
    },
  );

  // A kernel is not notified of an unreachable peer: it gives up after some time without an answer.
  test('a cut link: the ranks on both sides name each other, at the timeout or earlier', async () => {
    using network = connectHosts(2);
    const [inTime, inVain] = await Promise.all([
      startWorking(network, { perHost: 1, timeoutMs: 3000 }),
      startWorking(network, { perHost: 2, timeoutMs: 60_000, masterPort: 29501, env: silence }),
    ]);
    const [here, there] = network.hosts;
    there.cutLink();
    const expectEnds = (ranks: RankOnHost[], loss: Omit<Loss, 'lost'>) =>
      [here, there].map((lost) =>
        expectToEnd(
          ranks.filter(({ host }) => host !== lost),
          { lost: [lost], ...loss },
        ),
      );
    await Promise.all([
      ...expectEnds(inTime, { error: 'CollectiveTimeoutError: .* Missing: ', withinSeconds: 6 }),
      ...expectEnds(inVain, { error: 'PeerDiedError: ', withinSeconds: 30 }),
    ]);
  });

  test('a store is found under its new address while the old one drops packets', async () => {
    using network = connectHosts(2);
    const [master, worker] = network.hosts;
    const name = 'store';
    const gone = { name, address: '10.0.0.99' };
    worker.silence(gone.address);
    worker.learnNames([gone]);
    writeFileSync(script, "console.log('rank', process.env.RANK);");
    const node = (host: Host, rank: number) =>
      host.node(['launch', '--nnodes=2', `--node-rank=${rank}`, `--master-addr=${name}`, script]);
    const waiting = node(worker, 1);
    await waiting.sees(/10\.0\.0\.99 cannot be reached \(ETIMEDOUT\)/);
    for (const host of network.hosts) host.learnNames([{ name, address: master.address }]);
    const startedAt = performance.now();
    const ends = await Promise.all([node(master, 0), waiting].map(({ ended }) => ended));
    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual([
      [0, 'rank 0\n'],
      [0, 'rank 1\n'],
    ]);
    expect((performance.now() - startedAt) / 1000).toBeLessThan(15);
  });
});
