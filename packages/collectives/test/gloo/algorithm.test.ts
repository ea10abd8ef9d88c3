import { describe, expect, test } from 'vitest';

import { checkSameAlgorithm, requestedAlgorithm } from '../../src/gloo/algorithm.ts';
import { InvalidArgumentError } from '../../src/index.ts';

const names = ['direct', 'ring'];

describe('requestedAlgorithm', () => {
  test('takes a name from the environment, and nothing for nothing', () => {
    expect(requestedAlgorithm(names, { RINGRUN_ALGORITHM: 'ring' })).toBe('ring');
    expect(requestedAlgorithm(names, { RINGRUN_ALGORITHM: '' })).toBe('');
    expect(requestedAlgorithm(names, {})).toBe('');
  });

  test('refuses other words, with those that there are', () => {
    const refused = () => requestedAlgorithm(names, { RINGRUN_ALGORITHM: 'Ring' });
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow("RINGRUN_ALGORITHM is 'Ring', expected one of direct, ring, or nothing");
  });
});

describe('checkSameAlgorithm', () => {
  const cardsOf = (...algorithms: string[]) =>
    algorithms.map((algorithm, rank) => ({ rank, host: `node${rank}`, pid: 100 + rank, algorithm }));

  test('accepts ranks that were told the same, or nothing', () => {
    expect(() => {
      checkSameAlgorithm(cardsOf('ring', 'ring', 'ring'));
      checkSameAlgorithm(cardsOf('', ''));
    }).not.toThrow();
  });

  test('refuses ranks that were told different things, naming both', () => {
    const refused = () => {
      checkSameAlgorithm(cardsOf('', '', 'ring'));
    };
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow(
      'rank 0 (host node0, pid 100) was told to use algorithm auto, rank 2 (host node2, pid 102) was told to use algorithm ring',
    );
  });
});
