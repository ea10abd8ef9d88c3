import type { Links } from '@ringrun/core';
import { expect, test } from 'vitest';
import { islandsOfHosts } from '../../src/local-steps/islands-of-hosts.ts';

/** Links of hosts in these sites: fast inside a site. */
function linksOf(sites: readonly number[], slow: { bandwidth: number; delay: number }): Links {
  const between = (inside: number, outside: number) =>
    sites.map((a, from) => sites.map((b, to) => (from === to ? 0 : a === b ? inside : outside)));
  return {
    hosts: sites.map((site, host) => `site${site}-host${host}`),
    delay: between(1e-4, slow.delay),
    bandwidth: between(1.25e8, slow.bandwidth),
    capacity: sites.map(() => 1.25e8),
  };
}

test.each([
  { name: 'a slow link', slow: { bandwidth: 1.25e6, delay: 1e-3 } },
  { name: 'a long delay', slow: { bandwidth: 1.25e8, delay: 0.1 } },
])('hosts of a site are an island: $name', ({ slow }) => {
  expect(islandsOfHosts(linksOf([0, 1, 0, 1, 1], slow))).toEqual([
    [0, 2],
    [1, 3, 4],
  ]);
  expect(islandsOfHosts(linksOf([0, 1, 0, 2], slow))).toEqual([[0, 2], [1], [3]]);
});

test('hosts whose links are alike are islands of their own', () => {
  expect(islandsOfHosts(linksOf([0, 1, 0, 1], { bandwidth: 5e7, delay: 1e-4 }))).toEqual([
    [0],
    [1],
    [2],
    [3],
  ]);
  expect(islandsOfHosts(linksOf([0], { bandwidth: 1, delay: 1 }))).toEqual([[0]]);
  expect(islandsOfHosts(linksOf([0, 1], { bandwidth: 1, delay: 1 }))).toEqual([[0], [1]]);
});

test('one slow direction makes a link slow', () => {
  const links = linksOf([0, 0, 0, 1], { bandwidth: 1.25e6, delay: 1e-3 });
  const bandwidth = links.bandwidth.map((row) => [...row]);
  bandwidth[0][1] = 1e6;
  // Hosts 0 and 1 remain connected through host 2.
  expect(islandsOfHosts({ ...links, bandwidth })).toEqual([[0, 1, 2], [3]]);
  bandwidth[0][2] = 1e6;
  expect(islandsOfHosts({ ...links, bandwidth })).toEqual([[0], [1, 2], [3]]);
});
