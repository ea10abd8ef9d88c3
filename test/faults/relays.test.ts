// Two ranks that cannot reach each other pass their data through a third one.
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { hostsProblem } from '../support/hosts-problem.ts';
import { connectHosts } from '../support/hosts.ts';
import type { Host, Network } from '../support/hosts.ts';
import { startOnHosts } from '../support/ranks-on-hosts.ts';
import type { RankOnHost } from '../support/ranks-on-hosts.ts';

const problem = hostsProblem();
const silenceS = 3;
const limitMs = 100_000;

type Cut = 'blackhole' | 'unreachable';

interface Start {
  rounds: number;
  count: number;
  encrypt?: 0 | 1;
}

function startRanks(network: Network, { rounds, count, encrypt = 0 }: Start): RankOnHost[] {
  return startOnHosts(network, {
    perHost: 1,
    args: [builtScript('faults/relays.script'), rounds, count],
    env: { RINGRUN_SILENT_PEER_TIMEOUT_S: silenceS, RINGRUN_ENCRYPT: encrypt },
    limitMs,
  });
}

function cut(one: Host, other: Host, how: Cut = 'blackhole'): void {
  one.loseRouteTo(other, how);
  other.loseRouteTo(one, how);
}

function mend(one: Host, other: Host): void {
  one.findRouteTo(other);
  other.findRouteTo(one);
}

async function allSee(ranks: readonly RankOnHost[], pattern: RegExp): Promise<RegExpExecArray[]> {
  return await Promise.all(ranks.map(({ command }) => command.sees(pattern)));
}

/** The results of all ranks, which are equal. The ranks wait before they leave. */
async function digestOf(ranks: readonly RankOnHost[]): Promise<string> {
  const seen = await allSee(ranks, /^digest: (\w+)$/m);
  const digests = new Set(seen.map(([, digest]) => digest));
  expect(digests.size).toBe(1);
  return [...digests][0];
}

/** All ranks leave the group. Returns what each has written to stderr. */
async function leave(ranks: readonly RankOnHost[]): Promise<string[]> {
  for (const { command } of ranks) process.kill(command.pid, 'SIGUSR2');
  return await Promise.all(
    ranks.map(async ({ command }) => {
      const { code, stderr, timedOut, left } = await command.ended;
      expect({ code, timedOut, left }, stderr).toEqual({ code: 0, timedOut: false, left: [] });
      return stderr;
    }),
  );
}

/** The digest of a job on hosts that all reach each other. */
async function uncut(hosts: number, start: Start): Promise<string> {
  using network = connectHosts(hosts);
  const ranks = startRanks(network, start);
  const digest = await digestOf(ranks);
  await leave(ranks);
  return digest;
}

/** `peer` and `relay` are ranks of one host each. */
const line = (rank: number, peer: number, relay: number) =>
  new RegExp(
    `^ringrun: rank ${rank} cannot reach rank ${peer} \\(host host${peer}, 10\\.0\\.0\\.${peer + 1}\\).*\\. ` +
      `Their data passes through rank ${relay} \\(host host${relay}, 10\\.0\\.0\\.${relay + 1}\\), whose links carry it twice\\. ` +
      'Check the routes and firewalls between the two hosts\\.$',
    'gm',
  );

describe.skipIf(problem)(`relays${problem ? `: skipped, ${problem}` : ''}`, { timeout: limitMs }, () => {
  const short = { rounds: 20, count: 100_001 };
  test.each([
    { how: 'blackhole', encrypt: 0 },
    { how: 'unreachable', encrypt: 1 },
  ] as const)('a pair that is cut before the start ($how, encrypt: $encrypt) passes through the third', async ({ how, encrypt }) => {
    const expected = await uncut(3, short);
    using network = connectHosts(3);
    const [, one, other] = network.hosts;
    cut(one, other, how);
    const ranks = startRanks(network, { ...short, encrypt });
    expect(await digestOf(ranks)).toBe(expected);
    const [first, second, third] = await leave(ranks);
    expect(third.match(line(2, 1, 0)), third).toHaveLength(1);
    expect([first, second]).toEqual(['', '']);
  });

  const long = { rounds: 60, count: 1_000_003 };
  test.each([{ encrypt: 0 }, { encrypt: 1 }] as const)(
    'a pair that is cut during all-reduces passes through the third (encrypt: $encrypt)',
    async ({ encrypt }) => {
      const expected = await uncut(3, long);
      using network = connectHosts(3);
      const [, one, other] = network.hosts;
      const ranks = startRanks(network, { ...long, encrypt });
      await allSee(ranks, /^rank \d has done round 5$/m);
      cut(one, other);
      expect(await digestOf(ranks)).toBe(expected);
      const [first, second, third] = await leave(ranks);
      expect(third.match(line(2, 1, 0)), third).toHaveLength(1);
      expect([first, second]).toEqual(['', '']);
    },
  );

  test('a relay that cannot reach the peer either is passed over, and one that fails later is replaced', async () => {
    const expected = await uncut(4, long);
    using network = connectHosts(4);
    const [zero, one, two, three] = network.hosts;
    const ranks = startRanks(network, long);
    await allSee(ranks, /^rank \d has done round 5$/m);
    cut(zero, two);
    cut(one, two);
    expect(await digestOf(ranks)).toBe(expected);
    mend(zero, two);
    mend(one, two);
    const [, , third] = await leave(ranks);
    expect(third.match(line(2, 1, 3)), third).toHaveLength(1);
    expect(third.match(line(2, 0, 3)), third).toHaveLength(1);
    expect(three.name).toBe('host3');
  });
});
