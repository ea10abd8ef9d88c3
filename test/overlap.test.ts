import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { hostsProblem } from './support/hosts-problem.ts';
import { connectHosts } from './support/hosts.ts';
import { startOnHosts } from './support/ranks-on-hosts.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const problem = hostsProblem();
const measures = process.env['RINGRUN_MEASURE'] === '1';

interface Way {
  times: number[];
  sent: number[];
  digest: string;
}

const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

describe.skipIf(problem)(`25 MB of gradients between hosts${problem ? `: skipped, ${problem}` : ''}`, () => {
  async function measure(bitsPerSecond: number, ...options: readonly number[]) {
    using network = connectHosts(2, { bitsPerSecond });
    const ranks = startOnHosts(network, { perHost: 1, args: [builtScript('overlap.script'), ...options] });
    const ends = await Promise.all(ranks.map(({ command }) => command.ended));
    return ends.map(withoutWaiting).map(({ stdout, ...ended }) => {
      expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
      return JSON.parse(stdout) as { overlapped: Way; apart: Way };
    });
  }

  test('are partly sent before the last gradient is ready', async () => {
    // The first of six buckets takes 32 ms, the rest of the backward pass a second of computation.
    const oneBucket = 4e6;
    const [first, second] = await measure(1e9, 1024, 0);
    expect(second.overlapped.digest).toBe(first.overlapped.digest);
    expect(second.apart.digest).toBe(first.apart.digest);
    expect(first.apart.digest).toBe(first.overlapped.digest);
    // A rank that is ahead of the other has no peer to average with before its last gradient.
    expect(Math.max(...first.overlapped.sent, ...second.overlapped.sent)).toBeGreaterThan(oneBucket);
  });

  // Needs an otherwise idle machine: `npm run bench:overlap`.
  test.runIf(measures)('a step takes at most 0.75 of the time without overlap', async () => {
    // 25 MB take 0.2 s each way at 1 Gbit/s, about as long as the backward pass.
    const [{ overlapped, apart }] = await measure(1e9, 512, 7);
    const [with_, without] = [medianOf(overlapped.times), medianOf(apart.times)];
    const ratio = with_ / without;
    console.log(`${with_.toFixed(0)} ms with overlap, ${without.toFixed(0)} ms without: ${ratio.toFixed(2)}`);
    expect(ratio).toBeLessThanOrEqual(0.75);
  });
});
