import { describe, expect, test } from 'vitest';
import { equalLinks } from '@ringrun/collectives';
import { bucketsOf, stepSeconds } from '../../../src/commands/plan/step-seconds.ts';
import { predict } from '../../../src/commands/plan/prediction.ts';
import type { Prediction } from '../../../src/commands/plan/prediction.ts';
import { parsePlanOptions } from '../../../src/commands/plan/options.ts';

const MiB = 2 ** 20;

describe('a step', () => {
  const step = { seconds: 0.3, modelBytes: 101 * MiB, bucketBytes: 25 * MiB };
  const ddp = { name: 'DDP', transport: 'float32' } as const;
  /** 1 MiB in each millisecond. */
  const exchange = (bytes: number) => bytes / MiB / 1000;

  test('of DDP ends with its computation if exchanges are fast, except for the last bucket', () => {
    expect(bucketsOf(step.modelBytes, step.bucketBytes)).toEqual([1, 25, 25, 25, 25].map((mib) => mib * MiB));
    // The last bucket is full when backward ends, and takes 25 ms.
    expect(stepSeconds(ddp, step, exchange)).toBeCloseTo(0.3 + 0.025, 9);
  });

  test('of a hook exchanges marks before its first bucket', () => {
    const slow = (bytes: number) => 100 * exchange(bytes);
    const alone = stepSeconds(ddp, step, slow);
    expect(stepSeconds(ddp, { ...step, marksSeconds: 0.02 }, slow)).toBeCloseTo(alone + 0.02, 9);
  });

  test('of DDP begins to exchange when the first bucket is full, and then takes the time of all buckets', () => {
    const slow = (bytes: number) => 100 * exchange(bytes);
    // A third of the step is forward. The first MiB of 101 is full after 0.2 s / 101 of backward.
    expect(stepSeconds(ddp, step, slow)).toBeCloseTo(0.1 + 0.2 / 101 + 101 * 0.1, 9);
  });

  test('of DDP reports how long links were idle before each bucket', () => {
    const idles: number[] = [];
    stepSeconds(ddp, step, (bytes, idle) => {
      idles.push(idle);
      return exchange(bytes);
    });
    expect(idles[0]).toBeCloseTo(0.1 + 0.2 / 101, 9);
    expect(Math.max(...idles.slice(1))).toBeLessThan(0.2 / 4);
  });

  test('of DiLoCo waits for its exchange, divided by its steps', () => {
    const local = { innerSteps: 100, fragments: 1, overlapSteps: 0 };
    const way = { name: '', transport: 'float32', local } as const;
    expect(stepSeconds(way, step, exchange)).toBeCloseTo(0.3 + 0.101 / 100, 9);
    const withOuterSteps = { ...step, outerSeconds: 0.05 };
    expect(stepSeconds(way, withOuterSteps, exchange)).toBeCloseTo(0.3 + 0.151 / 100, 9);
  });

  test('of DiLoCo with fragments waits only for what the overlap does not cover', () => {
    const local = { innerSteps: 8, fragments: 4, overlapSteps: 1 };
    const way = { name: '', transport: 'float32', local } as const;
    expect(stepSeconds(way, step, exchange)).toBe(0.3);
    // A quarter takes 0.5 s, of which 0.3 s are covered, twice in four steps.
    expect(stepSeconds(way, step, () => 0.5)).toBeCloseTo(0.3 + (4 * 0.2) / 8, 9);
  });
});

describe('a prediction', () => {
  const options = (...more: string[]) =>
    parsePlanOptions(['--nodes', '4', '--model-bytes', '100M', '--link', '1Gbit/1ms', ...more]);
  const byName = (predictions: readonly Prediction[]) =>
    new Map(predictions.map((one) => [one.way, one] as const));

  test('has fewer bytes with a hook, and with more local steps, and takes less time on a slow link', () => {
    const links = equalLinks(4, { bytesPerSecond: 1.2e6, delay: 0.005 });
    const ways = byName(predict(links, options('--local-steps', '100')));
    const plain = ways.get('DDP')!;
    expect(plain.bytesPerStep).toBe(150e6);
    expect(ways.get('DDP, bf16')!.bytesPerStep).toBe(75e6);
    expect(ways.get('DDP, int8')!.bytesPerStep / 150e6).toBeCloseTo(0.254, 3);
    expect(ways.get('DDP, int4')!.bytesPerStep / 150e6).toBeCloseTo(0.129, 3);
    expect(ways.get('DiLoCo, 100 steps, float32')!.bytesPerStep).toBe(1.5e6);
    expect(plain.stepSeconds).toBeGreaterThan(150e6 / 1.2e6);
    expect(plain.stepSeconds).toBeLessThan(1.1 * (150e6 / 1.2e6));
    const seconds = ['DDP', 'DDP, bf16', 'DDP, int8', 'DDP, int4', 'DiLoCo, 100 steps, float32'].map(
      (name) => ways.get(name)!.stepSeconds,
    );
    expect(seconds).toEqual(seconds.toSorted((a, b) => b - a));
    expect(plain.limit).toBe('bandwidth 9.6 Mbit/s');
    expect(plain.efficiency).toBeCloseTo(0.3 / plain.stepSeconds, 9);
  });

  test('is limited by the computation if links are fast, by the delay if they are long', () => {
    const fast = predict(equalLinks(4, { bytesPerSecond: 1e11, delay: 1e-5 }), options('--step-ms', '5000'));
    for (const { limit, efficiency } of fast) {
      expect(limit).toBe('computation');
      expect(efficiency).toBeGreaterThan(0.97);
    }
    const long = predict(
      equalLinks(4, { bytesPerSecond: 1e9, delay: 0.2 }),
      options('--hook', 'none', '--local-steps', '10'),
    );
    expect(long[0].limit).toBe('round trip 400 ms');
  });

  test('names the link that limits it, after the order of hosts avoids it where it can', () => {
    const links = equalLinks(3, { bytesPerSecond: 1e8, delay: 0.001 });
    // Three hosts have one ring, which needs every link.
    const bandwidth = links.bandwidth.map((row, a) =>
      row.map((one, b) => (a + b === 3 && a !== b ? 1e6 : one)),
    );
    const [ddp] = predict({ ...links, bandwidth }, options('--hook', 'none'));
    expect(ddp.limit).toMatch(/^bandwidth 8 Mbit\/s of host[12]–host[12]$/);
    const capacity = [1e8, 5e5, 1e8];
    const [other] = predict({ ...links, capacity }, options('--hook', 'none'));
    expect(other.limit).toBe('uplink 4 Mbit/s of host1');
  });

  test('one node exchanges nothing', () => {
    const [ddp] = predict(equalLinks(1, { bytesPerSecond: 1e8, delay: 0.001 }), options());
    expect(ddp).toMatchObject({ bytesPerStep: 0, limit: 'computation' });
  });

  test('ranks of one node share its link', () => {
    const links = equalLinks(4, { bytesPerSecond: 1.2e6, delay: 0 });
    const [one] = predict(links, options());
    const [four] = predict(links, options('--ranks-per-node', '4'));
    expect(four.stepSeconds / one.stepSeconds).toBeCloseTo(1, 1);
  });
});
