import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const measures = process.env['RINGRUN_MEASURE'] === '1';

const names = ['none', 'fp16Compress', 'bf16Compress', 'int8Compress', 'int4Compress', 'powerSgd'] as const;
type Report = Record<(typeof names)[number], { times: number[]; sent: number[]; digest: string }>;

const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const title = `669,706 gradients over a link of 100 Mbit/s${problem ? `: skipped, ${problem}` : ''}`;

describe.skipIf(problem)(title, () => {
  async function measure(rounds: number): Promise<Report[]> {
    using network = connectHosts(2, { bitsPerSecond: 1e8 });
    const args = [builtScript('hooks-on-link.script'), rounds];
    const ends = await Promise.all(
      startOnHosts(network, { perHost: 1, args }).map(({ command }) => command.ended),
    );
    return ends.map(withoutWaiting).map(({ stdout, ...ended }) => {
      expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
      return JSON.parse(stdout) as Report;
    });
  }

  test('hooks send what they promise, and parameters stay equal on all ranks', async () => {
    const [first, second] = await measure(3);
    const sent = (name: keyof Report) => medianOf(first[name].sent);
    for (const name of names) expect(second[name].digest).toBe(first[name].digest);
    // Headers and acknowledgements included.
    expect(sent('none')).toBeGreaterThan(4 * 669_706);
    expect(sent('fp16Compress') / sent('none')).toBeCloseTo(0.5, 1);
    expect(sent('bf16Compress') / sent('none')).toBeCloseTo(0.5, 1);
    // 260 and 132 bytes for 256 gradients of 1,024 bytes.
    expect(sent('int8Compress') / sent('none')).toBeCloseTo(0.25, 1);
    expect(sent('int4Compress') / sent('none')).toBeCloseTo(0.13, 1);
    expect(sent('int4Compress')).toBeLessThan(0.6 * sent('int8Compress'));
    expect(sent('powerSgd') / sent('none')).toBeLessThan(0.03);
  });

  // Needs an otherwise idle machine: `npm run bench:hooks`.
  test.runIf(measures)('powerSgd takes less time than bf16Compress', async () => {
    const [report] = await measure(21);
    const medians = names.map((name) => [name, medianOf(report[name].times)] as const);
    console.log(medians.map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`).join(', '));
    const { bf16Compress, powerSgd } = Object.fromEntries(medians);
    expect(powerSgd).toBeLessThan(bf16Compress);
  });
});
