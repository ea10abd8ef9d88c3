import { expect, test } from 'vitest';

import type { Links } from '@ringrun/core';
import { linksAmong, linksForHosts } from '../../src/links/links-among.ts';

const numbered = [0, 1, 2].map((a) => [0, 1, 2].map((b) => 10 * a + b));
const links: Links = { hosts: ['a', 'b', 'c'], delay: numbered, bandwidth: numbered, capacity: [7, 8, 9] };

test('the links among some hosts are their rows and columns', () => {
  const some = [
    [22, 20],
    [2, 0],
  ];
  expect(linksAmong(links, [2, 0])).toEqual({
    hosts: ['c', 'a'],
    delay: some,
    bandwidth: some,
    capacity: [9, 7],
  });
});

test('given links are those of the hosts in their order, whatever their names', () => {
  expect(linksForHosts(links, ['x', 'x', 'x'])).toBe(links);
});

test('a group of fewer hosts finds its links by name', () => {
  expect(linksForHosts(links, ['a', 'c'])).toEqual(linksAmong(links, [0, 2]));
});

test.each([
  ['more hosts', ['a', 'b', 'c', 'd']],
  ['other names', ['a', 'x']],
  ['a name twice', ['a', 'a']],
])('links of %s are refused with both lists', (_, hosts) => {
  expect(() => linksForHosts(links, hosts)).toThrow(
    `links: expected those of the ${hosts.length} hosts of this group (${hosts.join(', ')}), got 3 (a, b, c)`,
  );
});
