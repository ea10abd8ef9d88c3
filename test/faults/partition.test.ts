// The exact output of ranks that can no longer reach each other.
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { hostsProblem } from '../support/hosts-problem.ts';
import { connectHosts } from '../support/hosts.ts';
import type { Network } from '../support/hosts.ts';
import { startOnHosts } from '../support/ranks-on-hosts.ts';
import type { RankOnHost } from '../support/ranks-on-hosts.ts';

const problem = hostsProblem();
const noFirewall = spawnSync('iptables', ['--version']).status === 0 ? undefined : 'apt-get install iptables';
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const sum = 'allReduce #N (float32, 150,000 elements, SUM)';

/** Of three hosts: the direct way again, or the way through the third host. */
const tried =
  /(; (through rank \d: )?(connect \((from there to )?[\d.:]+\): (no answer within [\d.]+ s|Connection timed out \(errno 110\))|no answer from [\d.:]+))+/;

interface Start {
  course: string;
  perHost?: number;
  silenceS?: number;
  env?: Readonly<Record<string, string | number>>;
}

function startRanks(network: Network, { course, perHost = 1, silenceS = 1, env }: Start): RankOnHost[] {
  return startOnHosts(network, {
    perHost,
    args: [builtScript('faults/partition.script'), course],
    env: { RINGRUN_SILENT_PEER_TIMEOUT_S: silenceS, ...env },
  });
}

async function allReady(ranks: readonly RankOnHost[]): Promise<void> {
  await Promise.all(ranks.map(({ command }) => command.sees(/^rank \d is ready$/m)));
}

function signal(ranks: readonly RankOnHost[]): void {
  for (const { command } of ranks) process.kill(command.pid, 'SIGUSR2');
}

/** The error of each rank, with placeholders for parts that differ between runs, without other ways that were tried. */
function errorsOf(ranks: readonly RankOnHost[]): Promise<string[]> {
  return Promise.all(
    ranks.map(async ({ command }) => {
      const { code, stderr, timedOut, left } = await command.ended;
      expect({ code, timedOut, left }, stderr).toEqual({ code: 1, timedOut: false, left: [] });
      const line = /^\w+Error: .*$/m.exec(stderr)?.[0] ?? stderr;
      return line
        .replaceAll(/\bpid \d+/g, 'pid N')
        .replaceAll(/ #\d+/g, ' #N')
        .replace(tried, '');
    }),
  );
}

const link = (one: number, other: number, seconds: number) => {
  const end = (rank: number) => `rank ${rank} (host host${rank}, 10.0.0.${rank + 1})`;
  return `no answer for ${seconds} s on the link ${end(one)} ↔ ${end(other)}`;
};
const name = (rank: number) => `rank ${rank} (host host${rank}, pid N)`;
/** `others`: ranks that have been silent for as long when the error occurs. */
const gone = (rank: number, why: string, self: number, operation: string, ...others: number[]) => {
  const also = others.map((other) => `; ${name(other)} is gone too`).join('');
  return `PeerDiedError: ${name(rank)} is gone: ${why}${also}. ${name(self)} was in ${operation}`;
};

describe.skipIf(problem)(`partitions${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('a host is cut off during a collective: every rank names a link to the other side', async () => {
    using network = connectHosts(3);
    const ranks = startRanks(network, { course: 'running' });
    await allReady(ranks);
    network.hosts[2].cutLink();
    const errors = await errorsOf(ranks);
    // The first of the ranks 0 and 1 to detect it also notifies the other.
    const ofTwo = (self: number, other: number) => [
      gone(2, link(self, 2, 1), self, sum),
      gone(2, `reported by rank ${other}: ${link(other, 2, 1)}`, self, sum),
    ];
    expect(ofTwo(0, 1)).toContain(errors[0]);
    expect(ofTwo(1, 0)).toContain(errors[1]);
    const ofThird = [
      [0, 1],
      [1, 0],
    ].flatMap(([one, other]) => [
      gone(one, link(one, 2, 1), 2, sum),
      gone(one, link(one, 2, 1), 2, sum, other),
    ]);
    expect(ofThird).toContain(errors[2]);
  });

  const message = ['recv', 'send'].map((name, self) => {
    return `${name} (float32, 150,000 elements, ${self === 0 ? 'from rank 1' : 'to rank 0'}, tag 0)`;
  });
  test.each([
    { before: "a subgroup's first collective", course: 'subgroup', operations: [sum, sum] },
    ...(isFull
      ? [
          { before: 'the first collective', course: 'first', operations: [sum, sum] },
          { before: 'the first message', course: 'message', operations: message },
          { before: 'the first collective, encrypted', course: 'first', operations: [sum, sum], encrypt: 1 },
          {
            before: 'the first collective, with the default time',
            course: 'first',
            operations: [sum, sum],
            silenceS: 15,
          },
        ]
      : []),
  ])(
    'the link is cut before $before: both ranks name it',
    async ({ course, operations, encrypt = 0, silenceS = 1 }) => {
      using network = connectHosts(2);
      const env = { RINGRUN_ENCRYPT: encrypt };
      const ranks = startRanks(network, { course, silenceS, env });
      await allReady(ranks);
      network.hosts[1].cutLink();
      signal(ranks);
      expect(await errorsOf(ranks)).toEqual([
        gone(1, link(0, 1, silenceS), 0, operations[0]),
        gone(0, link(0, 1, silenceS), 1, operations[1]),
      ]);
    },
  );

  // A firewall on the sending host drops segments before they leave it, so the kernel starts its timeout for unanswered
  // segments late.
  test.skipIf(noFirewall).each([
    { direction: 'outgoing', host: 'host0', silenceS: 5 },
    ...(isFull
      ? [
          { direction: 'outgoing', host: 'host1', silenceS: 15 },
          { direction: 'incoming', host: 'host0', silenceS: 15 },
          { direction: 'incoming', host: 'host1', silenceS: 5 },
        ]
      : []),
  ])(
    `the $direction packets of $host are lost: both ranks fail after $silenceS s${noFirewall ? `: skipped, ${noFirewall}` : ''}`,
    async ({ direction, host, silenceS }) => {
      using network = connectHosts(2);
      const ranks = startRanks(network, { course: 'running', silenceS });
      await allReady(ranks);
      const cutAt = performance.now();
      const cut = network.hosts.find(({ name }) => name === host)!;
      if (direction === 'outgoing') cut.loseOutgoing();
      else cut.loseIncoming();
      const waits = ranks.map(async ({ command }) => {
        await command.ended;
        return (performance.now() - cutAt) / 1000;
      });
      const errors = await errorsOf(ranks);
      for (const waitedS of await Promise.all(waits)) {
        expect(waitedS).toBeGreaterThan(silenceS - 1);
        expect(waitedS).toBeLessThan(1.5 * silenceS + 1);
      }
      // The packets of the first rank that ends may reach the other one before it has waited for as long.
      const ownLink = (rank: number) => gone(1 - rank, link(0, 1, silenceS), rank, sum);
      expect(errors.some((error, rank) => error === ownLink(rank))).toBe(true);
      for (const [rank, error] of errors.entries())
        expect(error === ownLink(rank) || error.includes('Connection reset by peer'), error).toBe(true);
    },
  );

  test.skipIf(!isFull)(
    'a firewall while the group forms: both ranks name the other one, and its address',
    async () => {
      using network = connectHosts(2);
      // The store of rank 0.
      for (const host of network.hosts) host.admitOnlyPort(29_500);
      const ranks = startRanks(network, { course: 'forming', env: { RINGRUN_WAIT_REPORT_S: 3 } });
      const errors = await errorsOf(ranks);
      const error = (self: number, other: number, why: string) =>
        `CollectiveTimeoutError: connect did not complete within 15000 ms (it did not connect${why}). ` +
        `Missing: rank ${other} (host host${other}, pid N, not seen in this group yet). ` +
        `Reported by rank ${self} (host host${self}, pid N). If a rank only needs more time, raise timeoutMs`;
      expect(errors.map((text) => text.replace(/(10\.0\.0\.1):\d+/, '$1:PORT'))).toEqual([
        error(0, 1, ''),
        error(1, 0, '; connect (10.0.0.1:PORT): no answer within 5 s'),
      ]);
      const { stderr } = await ranks[1].command.ended;
      expect(stderr).toMatch(
        /waiting in connect for rank 0 \(host host0, pid \d+\), which does not answer at 10\.0\.0\.1:\d+/,
      );
    },
  );

  test('a slow link or a busy rank is not a partition, and the wait report names the busy rank', async () => {
    using network = connectHosts(2, { bitsPerSecond: 2.5e6 });
    const ranks = startRanks(network, { course: 'slow', env: { RINGRUN_WAIT_REPORT_S: 0.5 } });
    const [first, second] = await Promise.all(ranks.map(({ command }) => command.ended));
    for (const { code, stdout, stderr } of [first, second]) {
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/^right: true, /);
    }
    // Longer than the allowed silence, so that the test can fail.
    expect(Number(/ms: (\d+)/.exec(second.stdout)?.[1])).toBeGreaterThan(1000);
    const report = first.stderr
      .replaceAll(/\bpid \d+/g, 'pid N')
      .replaceAll(/\(\d+ m?s of [^)]+\)/g, '(time)');
    expect(report).toContain(
      `ringrun: rank 0: waiting in ${sum.replace('#N', '#1')} for rank 1 (host host1, pid N), which is outside any collective (time)\n`,
    );
  });

  test.skipIf(!isFull)('a link that recovers within the timeout only delays the job', async () => {
    using network = connectHosts(2);
    const ranks = startRanks(network, { course: 'slow', silenceS: 20, env: { RINGRUN_WAIT_REPORT_S: 1 } });
    await ranks[0].command.sees(/waiting in allReduce #1/);
    network.hosts[1].cutLink();
    await ranks[0].command.sees(/waiting in allReduce #1[^]*waiting in allReduce #1/);
    network.hosts[1].restoreLink();
    for (const { command } of ranks) {
      const { code, stdout, stderr } = await command.ended;
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/^right: true, /);
    }
  });
});
