import { describe, expect, test } from 'vitest';

import type { Links } from '@ringrun/core';
import { checkedLinks } from '../../src/links/checked-links.ts';

const valid: Links = {
  hosts: ['a', 'b'],
  delay: [
    [0, 0.05],
    [0.06, 0],
  ],
  bandwidth: [
    [0, 1e6],
    [2e6, 0],
  ],
  capacity: [1e6, 2e6],
};

describe('links', () => {
  test('are accepted with the four fields, whose numbers for the host itself do not matter', () => {
    const bandwidth = [
      [-1, 1e6],
      [2e6, 9],
    ];
    expect(checkedLinks({ ...valid, bandwidth }, 'here')).toEqual(valid);
  });

  test.each([
    ['no object', null, /^here: expected an object with hosts, delay, bandwidth and capacity, got null\./],
    ['a list', [1, 2], /got a list of 2\./],
    ['no hosts', { ...valid, hosts: [] }, /^here: hosts: expected a list of at least one host name/],
    [
      'fewer rows',
      { ...valid, delay: [[0, 1]] },
      /^here: delay: expected 2 rows, one for each host, got a list of 1/,
    ],
    ['a short row', { ...valid, delay: [[0], [1, 0]] }, /^here: delay\[0\]: expected 2 numbers/],
    [
      'a negative delay',
      {
        ...valid,
        delay: [
          [0, 1],
          [-0.5, 0],
        ],
      },
      /^here: delay\[1\]\[0\]: expected seconds, a number of at least 0, got -0\.5/,
    ],
    [
      'no bandwidth',
      {
        ...valid,
        bandwidth: [
          [0, 0],
          [1, 0],
        ],
      },
      /^here: bandwidth\[0\]\[1\]: expected bytes per second, a number above 0, got 0/,
    ],
    ['a capacity of text', { ...valid, capacity: [1, '2'] }, /^here: capacity\[1\]: .* got "2"/],
    [
      'a missing field',
      { ...valid, capacity: undefined },
      /^here: capacity: expected 2 numbers, one for each host, got nothing/,
    ],
  ])('are refused with %s', (_, value, message) => {
    expect(() => checkedLinks(value, 'here')).toThrow(message);
  });
});
