import { describe, expect, test } from 'vitest';
import type { SlowLinksPlan, SlowLinksReport, WayOfTraining } from './fixtures/slow-links.ts';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts, type ShapedOptions } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const measures = process.env['RINGRUN_MEASURE'] === '1';

async function train(
  hosts: number,
  links: ShapedOptions['links'],
  plan: SlowLinksPlan,
): Promise<{ reports: SlowLinksReport[]; bytes: number }> {
  using network = connectHosts(hosts, { links });
  const args = [builtScript('slow-links.script'), JSON.stringify(plan)];
  const commands = startOnHosts(network, { perHost: 1, args, ...(measures && { limitMs: 880_000 }) });
  const ends = await Promise.all(commands.map(({ command }) => command.ended));
  const { bytes } = await network.links.traffic();
  const reports = ends.map(withoutWaiting).map(({ stdout, ...ended }) => {
    expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
    return JSON.parse(stdout) as SlowLinksReport;
  });
  return { reports, bytes: bytes.flat().reduce((sum, one) => sum + one, 0) };
}

const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const diloco = (steps: number, options: NonNullable<WayOfTraining['diloco']>): WayOfTraining => ({
  sync: 'diloco',
  diloco: options,
  steps,
});

describe.skipIf(problem)(`slow links${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('DiLoCo sends the parameters once in its inner steps, and they end equal on all ranks', async () => {
    const small = { blocks: 1, width: 32, layers: 1 };
    const links = { bitsPerSecond: 1e8, delayMs: 5 };
    const bytesOf = async (way: WayOfTraining) => {
      const { reports, bytes } = await train(2, links, { ...small, ways: { way } });
      for (const { way: found } of reports) expect(found.digest).toBe(reports[0].way.digest);
      return bytes;
    };
    // 4 steps, then 28 or 30.
    const ddp = await bytesOf({ sync: 'ddp', steps: 28 });
    const local = await bytesOf(diloco(28, { innerSteps: 16 }));
    const streaming = await bytesOf(
      diloco(26, { innerSteps: 16, fragments: 2, overlapSteps: 2, transport: 'bf16' }),
    );
    expect(local).toBeLessThan(0.2 * ddp);
    expect(streaming).toBeLessThan(0.15 * ddp);
  }, 60_000);

  // Needs an otherwise idle machine: `npm run bench:slow-links`.
  const gpt = { blocks: 3, width: 128, layers: 4 };
  const cases = [
    {
      name: '100 Mbit/s, 20 ms',
      links: { bitsPerSecond: 1e8, delayMs: 10 },
      ways: {
        none: { sync: 'none', steps: 100 },
        ddp: { sync: 'ddp', steps: 10 },
        'ddp int8': { sync: 'ddp', hook: 'int8Compress', steps: 10 },
        'DiLoCo 50 int8': diloco(100, { innerSteps: 50, transport: 'int8' }),
        'DiLoCo 100 float32': diloco(100, { innerSteps: 100 }),
        'streaming 100 int8': diloco(100, {
          innerSteps: 100,
          fragments: 4,
          overlapSteps: 12,
          transport: 'int8',
        }),
      },
    },
    {
      name: '10 Mbit/s, 100 ms',
      links: { bitsPerSecond: 1e7, delayMs: 50 },
      ways: {
        none: { sync: 'none', steps: 100 },
        ddp: { sync: 'ddp', steps: 2 },
        'ddp int8': { sync: 'ddp', hook: 'int8Compress', steps: 2 },
        'DiLoCo 100 int8': diloco(100, { innerSteps: 100, transport: 'int8' }),
        'streaming 50 int8': diloco(100, {
          innerSteps: 50,
          fragments: 4,
          overlapSteps: 6,
          transport: 'int8',
        }),
        'streaming 100 int8': diloco(100, {
          innerSteps: 100,
          fragments: 4,
          overlapSteps: 24,
          transport: 'int8',
        }),
      },
    },
  ] satisfies { name: string; links: ShapedOptions['links']; ways: SlowLinksPlan['ways'] }[];

  test.runIf(measures).each(cases)(
    '$name: steps per second on 4 hosts',
    async ({ name, links, ways }) => {
      const { reports } = await train(4, links, { ...gpt, ways });
      const rates = Object.entries(reports[0]).map(
        ([way, { steps, seconds }]) => [way, steps / medianOf(seconds)] as const,
      );
      const [[, alone]] = rates;
      for (const [way, rate] of rates) {
        const [fastest, slowest] = [Math.min, Math.max].map((pick) =>
          pick(...reports[0][way].seconds).toFixed(2),
        );
        console.log(
          `${name}, ${way}: ${rate.toFixed(2)} steps/s, ${(rate / alone).toFixed(3)} of none (blocks of ${fastest} to ${slowest} s)`,
        );
      }
    },
    900_000,
  );
});
