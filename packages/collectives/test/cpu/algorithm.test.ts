import { describe, expect, test } from 'vitest';

import { checkSameAlgorithm, requestedAlgorithm } from '../../src/cpu/algorithm.ts';
import { InvalidArgumentError } from '../../src/index.ts';

const names = ['direct', 'ring'];

describe('requestedAlgorithm', () => {
  test('reads the name from the environment, and returns an empty one if it is unset', () => {
    expect(requestedAlgorithm(names, { RINGRUN_ALGORITHM: 'ring' })).toBe('ring');
    expect(requestedAlgorithm(names, { RINGRUN_ALGORITHM: '' })).toBe('');
    expect(requestedAlgorithm(names, {})).toBe('');
  });

  test('refuses an unknown name, and lists the available ones', () => {
    const refused = () => requestedAlgorithm(names, { RINGRUN_ALGORITHM: 'Ring' });
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow("RINGRUN_ALGORITHM is 'Ring', expected one of direct, ring. Unset it");
  });
});

describe('checkSameAlgorithm', () => {
  const infosOf = (...algorithms: string[]) =>
    algorithms.map((algorithm, rank) => ({ rank, host: `node${rank}`, pid: 100 + rank, algorithm }));

  test('accepts ranks with the same algorithm, or none', () => {
    expect(() => {
      checkSameAlgorithm(infosOf('ring', 'ring', 'ring'));
      checkSameAlgorithm(infosOf('', ''));
    }).not.toThrow();
  });

  test('refuses ranks with different algorithms, and names both', () => {
    const refused = () => {
      checkSameAlgorithm(infosOf('', '', 'ring'));
    };
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow(
      'rank 0 (host node0, pid 100) uses algorithm auto, rank 2 (host node2, pid 102) uses algorithm ring',
    );
  });
});
