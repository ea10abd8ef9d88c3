import { describe, expect, test } from 'vitest';
import {
  costAlgorithms,
  defaultProcessor,
  equalLinks,
  operationSeconds,
  quantizedBytes,
} from '../../src/cost/index.ts';
import type { CostNetwork, CostOperation, Processor, Tcp } from '../../src/cost/index.ts';

/** Only links take time. */
const idle: Processor = {
  secondsPerMessage: 0,
  secondsPerSentByte: 0,
  secondsPerReducedByte: 0,
  secondsPerQuantizedByte: 0,
  secondsPerFactoredByte: 0,
  secondsPerOuterByte: 0,
  secondsPerSharedByte: 0,
};

/** 100 Mbit/s. */
const bandwidth = 12.5e6;

/** Windows are open, so that only the bandwidth and the delay of links count. */
const open: Tcp = { initialWindow: 1e12, maxWindow: 1e12, idleSeconds: 0 };

function seconds(
  [op, algorithm, bytes]: [CostOperation, string, number],
  hosts: number,
  delay: number,
  more: Partial<CostNetwork> = {},
): number {
  const links = equalLinks(hosts, { bytesPerSecond: bandwidth, delay });
  return operationSeconds({ op, algorithm, bytes }, { links, processor: idle, tcp: open, ...more });
}

describe('on equal links, an all-reduce takes', () => {
  test.each([2, 3, 4, 8])('the time of 2 (p − 1)/p of its bytes in a ring of %i without delays', (hosts) => {
    const least = (2 * (hosts - 1) * 8e6) / hosts / bandwidth;
    expect(seconds(['allReduce', 'ring', 8e6], hosts, 0)).toBeCloseTo(least, 6);
  });

  test('one delay more for each step of a far ring', () => {
    const time = seconds(['allReduce', 'ring', 8e6], 4, 0.4);
    // A chunk of 2 MB takes 0.16 s, in each half. Each rank passes on whole segments: three of 256 KiB, three of 1 MiB.
    const most = 6 * 0.4 + 2 * 0.16 + (3 * 1.25 * 2 ** 20) / bandwidth;
    expect(time).toBeGreaterThan(6 * 0.4 + 0.16);
    expect(time).toBeLessThan(most);
  });

  test('a delay for each segment of a near ring, whose messages wait for each other', () => {
    const delay = 0.0004;
    // 2 MB in chunks of 500,000 B: 2 segments of up to 256 KiB in 3 steps, then 3 steps of one segment.
    const expected = (6 * 500_000) / bandwidth + 9 * delay;
    expect(seconds(['allReduce', 'ring', 2e6], 4, delay)).toBeCloseTo(expected, 6);
  });

  test('one delay with direct, and log₂ p with recursive doubling, for a few bytes', () => {
    const bytes = 1000;
    expect(seconds(['allReduce', 'direct', bytes], 4, 0.05)).toBeCloseTo(0.05 + (3 * bytes) / bandwidth, 9);
    const step = 0.05 + bytes / bandwidth;
    expect(seconds(['allReduce', 'recursive-doubling', bytes], 8, 0.05)).toBeCloseTo(3 * step, 9);
  });

  test('one step more with a surplus rank in a hypercube, whose partner is late in the first exchange only', () => {
    const step = 0.05 + 1000 / bandwidth;
    expect(seconds(['allReduce', 'recursive-doubling', 1000], 5, 0.05)).toBeCloseTo(3 * step, 9);
  });

  // 1,048,576 numbers in 4 parts of 262,144, in 4 segments of 65,536: 4 steps with terms, then 2 with the last results.
  test('a delay for each of 6 steps when quantized, over short links', () => {
    const bytes = 4 * 2 ** 20;
    const packed = quantizedBytes(8, bytes);
    expect(packed).toBe(2 ** 20 + 4 * 4096);
    const delay = 0.0004;
    const expected = 6 * delay + (2 * 3 * packed) / 4 / bandwidth;
    expect(seconds(['allReduceQuantized', 'int8', bytes], 4, delay)).toBeCloseTo(expected, 6);
  });

  test('four delays over long ones: the first terms, the others, three results, and the last one', () => {
    const bytes = 4 * 2 ** 20;
    const messages = (3 * quantizedBytes(8, bytes)) / 4 / 4 / bandwidth;
    const expected = 4 * 0.05 + 4 * messages;
    expect(seconds(['allReduceQuantized', 'int8', bytes], 4, 0.05)).toBeCloseTo(expected, 6);
  });
});

test.each(['direct', 'ring', 'halving-doubling', 'recursive-doubling'])(
  '%s takes as long when every rank is simulated as when one stands for all',
  (algorithm) => {
    for (const bytes of [4, 100_000, 5e6]) {
      const links = equalLinks(8, { bytesPerSecond: bandwidth, delay: 0.01 });
      // Almost equal, so that all ranks are simulated.
      const capacity = links.capacity.map((one, host) => (host === 0 ? one * (1 + 1e-9) : one));
      const cost = { op: 'allReduce', algorithm, bytes } as const;
      const one = operationSeconds(cost, { links });
      const all = operationSeconds(cost, { links: { ...links, capacity } });
      expect(all / one).toBeCloseTo(1, 6);
    }
  },
);

describe('a broadcast takes', () => {
  test('the time of its bytes once, and two delays a rank, in a chain', () => {
    const bytes = 10 * 512 * 1024;
    const segment = (512 * 1024) / bandwidth;
    // 3 confirmations, then 10 segments over the first link, and the last one over two more.
    const expected = 3 * 0.01 + bytes / bandwidth + 2 * segment + 3 * 0.01;
    expect(seconds(['broadcast', 'chain', bytes], 4, 0.01)).toBeCloseTo(expected, 6);
  });

  test('its bytes for each child of the root, and once more, in a tree', () => {
    const bytes = 100_000;
    const time = seconds(['broadcast', 'binomial-tree', bytes], 4, 0.01);
    expect(time).toBeCloseTo(4 * 0.01 + (3 * bytes) / bandwidth, 6);
  });
});

test('ranks of one host share its uplink', () => {
  const [one, two] = [1, 2].map((ranksPerHost) =>
    seconds(['allReduce', 'ring', 8e6], 4, 0, { ranksPerHost }),
  );
  expect(two).toBeCloseTo(one, 2);
});

test('a ring goes at the pace of its slowest link, and in another order without it', () => {
  const links = equalLinks(4, { bytesPerSecond: bandwidth, delay: 0 });
  const slow = links.bandwidth.map((row, a) =>
    row.map((value, b) => (a + b === 1 && a !== b ? value / 10 : value)),
  );
  const cost = { op: 'allReduce', algorithm: 'ring', bytes: 8e6 } as const;
  const network = { links: { ...links, bandwidth: slow }, processor: idle };
  const least = (2 * 3 * 2e6) / bandwidth;
  expect(operationSeconds(cost, network)).toBeCloseTo(10 * least, 1);
  expect(operationSeconds(cost, { ...network, order: [0, 2, 1, 3] })).toBeCloseTo(least, 3);
});

describe('windows of TCP', () => {
  const whole = ['broadcast', 'chain', 500_000] as [CostOperation, string, number];
  const linux = { initialWindow: 14_480, maxWindow: 1e9, idleSeconds: 0 };

  test('open during the first operation, and close while connections are idle', () => {
    const inUse = seconds(whole, 2, 0.05, { tcp: linux });
    const idleFor = (idleSeconds: number) => seconds(whole, 2, 0.05, { tcp: { ...linux, idleSeconds } });
    expect(inUse).toBeCloseTo(seconds(whole, 2, 0.05), 1);
    expect(idleFor(1)).toBeGreaterThan(inUse);
    // 14,480 bytes, doubled five times: 448,880 bytes in five round trips more, and the rest in the sixth.
    expect(idleFor(60) - inUse).toBeGreaterThan(0.4);
    expect(idleFor(60) - inUse).toBeLessThan(0.51);
  });

  test('bound the bandwidth of long links', () => {
    const bound = seconds(whole, 2, 0.05, { tcp: { ...open, maxWindow: 125_000 } });
    expect(bound).toBeCloseTo(0.1 + 500_000 / 1.25e6, 3);
  });

  test('favour algorithms that keep to one connection', () => {
    const idle = { tcp: { ...linux, idleSeconds: 0.3 } };
    const ring = seconds(['allReduce', 'ring', 4e6], 8, 0.05, idle);
    const halving = seconds(['allReduce', 'halving-doubling', 4e6], 8, 0.05, idle);
    expect(seconds(['allReduce', 'ring', 4e6], 8, 0.05)).toBeGreaterThan(
      seconds(['allReduce', 'halving-doubling', 4e6], 8, 0.05),
    );
    expect(halving / seconds(['allReduce', 'halving-doubling', 4e6], 8, 0.05)).toBeGreaterThan(
      ring / seconds(['allReduce', 'ring', 4e6], 8, 0.05),
    );
  });
});

test('more bytes never take less time', () => {
  for (const op of [
    'allReduce',
    'allReduceQuantized',
    'reduceScatter',
    'allGather',
    'broadcast',
    'reduce',
  ] as const)
    for (const algorithm of costAlgorithms(op)) {
      const times = [4096, 65_536, 2 ** 20, 2 ** 24].map((bytes) =>
        seconds([op, algorithm, bytes], 6, 0.002, { processor: defaultProcessor }),
      );
      expect(times, `${op} ${algorithm}`).toEqual(times.toSorted((a, b) => a - b));
    }
});

test('an unknown algorithm is refused', () => {
  expect(() => seconds(['allReduce', 'chain', 4], 2, 0)).toThrow(
    'allReduce: expected one of direct, ring, halving-doubling, recursive-doubling, got chain.',
  );
});
