import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Links } from 'ringrun';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import type { Network } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const measures = process.env['RINGRUN_MEASURE'] === '1';
const folder = temporaryFolder();

interface Report {
  links: Links | null;
  /** Digests of sums, and of arrays that were moved. */
  results: string;
  moved: string;
  /** Of an all-reduce of each size. */
  seconds: number[];
  /** Of a group of the odd ranks. */
  ofGroup: Links | null;
  again: Links | null;
}

interface TrainingReport {
  step: number;
  bandwidth: Links['bandwidth'];
  digest: string;
}

async function reportsOn(
  network: Network,
  env: Record<string, string>,
  args: readonly number[] = [1, 0],
): Promise<Report[]> {
  const job = { perHost: 1, args: [builtScript('host-links.script'), ...args], env };
  const ends = await Promise.all(startOnHosts(network, job).map(({ command }) => command.ended));
  return ends.map(withoutWaiting).map(({ stdout, ...ended }) => {
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Report;
  });
}

/** Hosts 0 and 1 have a tenth of the bandwidth, host 3 is far away. */
const shaped = {
  bitsPerSecond: 4e7,
  delayMs: 2,
  pairs: [
    { hosts: [0, 1] as const, bitsPerSecond: 4e6 },
    ...[0, 1, 2].map((near) => ({ hosts: [near, 3] as const, bitsPerSecond: 4e7, delayMs: 30 })),
  ],
};

describe.skipIf(problem)(`links between hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('are measured and saved, equally on all ranks', async () => {
    const path = join(folder, 'links.json');
    using network = connectHosts(4, { links: shaped });
    const measured = await reportsOn(network, { RINGRUN_LINKS: 'measure', RINGRUN_SAVE_LINKS: path }, [1, 1]);
    const [{ links, again, moved, results }] = measured;
    // The last measurement is in use.
    expect(links).toEqual(again);
    for (const report of measured) expect(report).toMatchObject({ links, again, moved, results });
    const saved = JSON.parse(readFileSync(path, 'utf8')) as Links;
    expect(saved.hosts).toEqual(['host0', 'host1', 'host2', 'host3']);
    for (const { delay, hosts } of [saved, again!])
      for (const a of hosts.keys())
        for (const b of hosts.keys())
          if (a !== b) expect(delay[a][b]).toBeGreaterThan(a === 3 || b === 3 ? 0.0299 : 0.00199);
    expect(measured[1].ofGroup!.hosts).toEqual(['host1', 'host3']);
    expect(measured[0].ofGroup).toBeNull();
  });

  test('that are given determine the order of additions: the same bits in every run, others without', async () => {
    const path = join(folder, 'given.json');
    const between = (usual: number, slow: number) =>
      [0, 1, 2, 3].map((a) => [0, 1, 2, 3].map((b) => (a === b ? 0 : a + b === 1 ? slow : usual)));
    const given: Links = {
      hosts: ['host0', 'host1', 'host2', 'host3'],
      delay: between(0.001, 0.001),
      bandwidth: between(1e7, 1e5),
      capacity: [1e7, 1e7, 1e7, 1e7],
    };
    writeFileSync(path, JSON.stringify(given));
    using network = connectHosts(4);
    const [{ results }] = await reportsOn(network, { RINGRUN_LINKS: path });
    const again = await reportsOn(network, { RINGRUN_LINKS: path });
    for (const report of again) expect(report).toMatchObject({ links: given, results });
    const without = await reportsOn(network, {});
    for (const report of without) expect(report).toMatchObject({ links: null, moved: again[0].moved });
    expect(without[0].results).not.toBe(results);
  });

  test('are measured again when one becomes slow during a training, which goes around it', async () => {
    using network = connectHosts(4, { links: { bitsPerSecond: 2e7, delayMs: 1 } });
    const job = { perHost: 1, args: [builtScript('slowed-link.script')], env: { RINGRUN_LINKS: 'measure' } };
    const ranks = startOnHosts(network, job);
    await ranks[0].command.sees(/usual wait known/);
    network.links.set(0, 1, { bitsPerSecond: 1e6 });
    const ends = await Promise.all(ranks.map(({ command }) => command.ended));
    for (const { code, stderr } of ends) expect(code, stderr).toBe(0);
    const reports = ends.map(({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1)!) as TrainingReport);
    for (const report of reports) expect(report).toEqual(reports[0]);
    expect(reports[0].step).toBeLessThan(400);
    expect(ends[0].stderr).toMatch(
      /^ringrun: a step waited \d+ ms for its gradients, before \d+ ms\. Measured the links between hosts again: host[01] → host[01] has [\d.]+ MB\/s, before [\d.]+ MB\/s\. Rings go around it where they can\.$/m,
    );
    for (const { stderr } of ends.slice(1)) expect(stderr).toBe('');
  });

  // Needs an otherwise idle machine.
  test.runIf(measures)('keep an all-reduce of 25 MB away from the slow one of four hosts', async () => {
    const rate = 1e8;
    using network = connectHosts(4, {
      links: { bitsPerSecond: rate, delayMs: 1, pairs: [{ hosts: [0, 1], bitsPerSecond: rate / 10 }] },
    });
    const secondsWith = async (env: Record<string, string>) => {
      const [{ seconds }] = await reportsOn(network, env, [1, 0, 25e6]);
      return seconds[0];
    };
    const usual = await secondsWith({});
    const around = await secondsWith({ RINGRUN_LINKS: 'measure' });
    const best = ((2 * 25e6 * 3) / 4 / (rate / 8)) * (1514 / 1448);
    console.log(
      `25 MB: ${usual.toFixed(1)} s in the usual order, ${around.toFixed(1)} s around the slow link, at best ${best.toFixed(1)} s`,
    );
    expect(best / around).toBeGreaterThan(0.8);
    expect(usual / around).toBeGreaterThan(3);
  });
});

test.each([
  [
    '--links',
    ['--links', join(folder, 'missing.json')],
    /--links: expected measure or a JSON file of links, got .*missing\.json, which does not exist/,
  ],
  [
    '--save-links',
    ['--save-links', join(folder, 'new.json')],
    /--save-links: expected --links measure, got no --links/,
  ],
])('the launcher refuses %s without its file', async (_, args, message) => {
  const { code, stderr } = await launch([...args, builtScript('host-links.script')]).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});
