import { describe, expect, test } from 'vitest';
import type { Links } from '@ringrun/core';
import { algorithmRules, equalLinks, operationSeconds, ringOrder } from '../../src/cost/index.ts';

const near = { bytesPerSecond: 1e8, delay: 0.0002 };

/** Hosts in sites: near each other inside a site, and far from hosts of other sites. */
function inSites(siteOf: readonly number[], far: { bytesPerSecond: number; delay: number }): Links {
  const links = equalLinks(siteOf.length, near);
  const matrix = (rows: Links['delay'], value: number) =>
    rows.map((row, a) => row.map((one, b) => (siteOf[a] === siteOf[b] ? one : value)));
  return {
    ...links,
    delay: matrix(links.delay, far.delay),
    bandwidth: matrix(links.bandwidth, far.bytesPerSecond),
  };
}

function changesOfSite(order: readonly number[], siteOf: readonly number[]): number {
  return order.filter((host, place) => siteOf[host] !== siteOf[order[(place + 1) % order.length]]).length;
}

describe('ringOrder', () => {
  test('keeps the order of equal hosts, and of differences below 5%', () => {
    const links = equalLinks(6, near);
    expect(ringOrder(links)).toEqual([0, 1, 2, 3, 4, 5]);
    const capacity = links.capacity.map((one, host) => (host === 3 ? one * 0.97 : one));
    expect(ringOrder({ ...links, capacity })).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('avoids a slow pair, whichever direction is slow', () => {
    const links = equalLinks(5, near);
    const bandwidth = links.bandwidth.map((row, a) => row.map((one, b) => (a === 2 && b === 1 ? 1e6 : one)));
    const order = ringOrder({ ...links, bandwidth });
    const distance = Math.abs(order.indexOf(1) - order.indexOf(2));
    expect(order.toSorted()).toEqual([0, 1, 2, 3, 4]);
    expect(order[0]).toBe(0);
    expect([1, 4]).not.toContain(distance);
  });

  test.each([
    ['compares all', 6],
    ['improves', 24],
    ['improves', 60],
  ])('%s orders of %i hosts: each of three sites is entered once', (_, hosts) => {
    const siteOf = Array.from({ length: hosts }, (__, host) => (host * 7) % 3);
    const links = inSites(siteOf, { bytesPerSecond: 1e7, delay: 0.04 });
    const order = ringOrder(links);
    expect(order.toSorted((a, b) => a - b)).toEqual(siteOf.map((__, host) => host));
    expect(changesOfSite(order, siteOf)).toBe(3);
  });

  test('makes the all-reduce of two sites faster by the cost model', () => {
    const links = inSites([0, 1, 0, 1], { bytesPerSecond: 1e7, delay: 0.04 });
    const cost = { op: 'allReduce', algorithm: 'ring', bytes: 1e6 } as const;
    const order = ringOrder(links);
    expect(operationSeconds(cost, { links, order })).toBeLessThan(0.8 * operationSeconds(cost, { links }));
  });

  test('one host, and two, have one order', () => {
    expect(ringOrder(equalLinks(1, near))).toEqual([0]);
    expect(ringOrder(equalLinks(2, near))).toEqual([0, 1]);
  });
});

describe('algorithmRules', () => {
  const algorithmFor = (links: Links, op: string, bytes: number) =>
    algorithmRules(links).find((rule) => rule.op === op && bytes <= rule.upToBytes)?.algorithm;

  test('few steps for small arrays, few bytes for large ones', () => {
    for (const delay of [0.003, 0.01, 0.05]) {
      const links = equalLinks(4, { bytesPerSecond: 1.25e7, delay });
      expect(algorithmFor(links, 'allReduce', 4)).toBe('direct');
      expect(algorithmFor(links, 'allReduce', 64e6)).toBe('ring');
      expect(algorithmFor(links, 'broadcast', 4)).toBe('binomial-tree');
      expect(algorithmFor(links, 'broadcast', 1e9)).toBe('chain');
    }
  });

  test('fewer steps up to larger arrays on longer links', () => {
    const ringFrom = (delay: number) => {
      const rules = algorithmRules(equalLinks(8, { bytesPerSecond: 1.25e7, delay }));
      return rules.findLast(({ op, algorithm }) => op === 'allReduce' && algorithm !== 'ring')!.upToBytes;
    };
    expect(ringFrom(0.05)).toBeGreaterThan(ringFrom(0.001));
  });

  test('ascend in size, and end with a rule for any size', () => {
    const rules = algorithmRules(inSites([0, 0, 1, 1, 2], { bytesPerSecond: 2e6, delay: 0.1 }));
    for (const op of ['allReduce', 'broadcast', 'allGather']) {
      const sizes = rules.filter((rule) => rule.op === op).map(({ upToBytes }) => upToBytes);
      expect(sizes).toEqual([...new Set(sizes)].toSorted((a, b) => a - b));
      expect(sizes.at(-1)).toBe(Infinity);
    }
  });

  test('none for one host', () => {
    expect(algorithmRules(equalLinks(1, near))).toEqual([]);
  });
});
