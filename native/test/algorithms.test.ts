import { describe, expect, test } from 'vitest';

import { loadNative, nativeDType, nativeOp } from '@ringrun/native';

const native = loadNative();

type Op = keyof typeof nativeOp;

/** The operations that have algorithms. */
const operations: readonly Op[] = [
  'barrier',
  'allReduce',
  'broadcast',
  'allocate',
  'destroy',
  'reduce',
  'reduceScatter',
  'allGather',
  'gather',
  'scatter',
  'allToAll',
  'monitoredBarrier',
];

interface Case {
  op: Op;
  bytes: number;
  ranks: number;
  medium?: 'shm' | 'tcp' | 'loopback';
  dtype?: keyof typeof nativeDType;
  forced?: string;
}

const chosen = ({ op, bytes, ranks, medium = 'tcp', dtype = 'float32', forced = '' }: Case) =>
  native.chooseAlgorithm(nativeOp[op], medium, nativeDType[dtype], bytes, ranks, forced);

const large = 64 * 1024 * 1024;

describe('the table of algorithms', () => {
  test.each<Case & { expected: string }>([
    { op: 'allReduce', bytes: 4, ranks: 2, expected: 'direct' },
    { op: 'allReduce', bytes: 524_288, ranks: 2, expected: 'direct' },
    { op: 'allReduce', bytes: 524_289, ranks: 2, expected: 'ring' },
    { op: 'allReduce', bytes: 65_536, ranks: 3, expected: 'ring' },
    { op: 'allReduce', bytes: 65_536, ranks: 8, expected: 'halving-doubling' },
    { op: 'allReduce', bytes: 4, ranks: 1000, expected: 'halving-doubling' },
    { op: 'allReduce', bytes: large, ranks: 8, expected: 'ring' },
    { op: 'allReduce', bytes: large, ranks: 8, dtype: 'float16', expected: 'direct' },
    { op: 'reduce', bytes: 4, ranks: 8, expected: 'binomial-tree' },
    { op: 'reduce', bytes: 4, ranks: 8, dtype: 'bfloat16', expected: 'direct' },
    { op: 'reduce', bytes: large, ranks: 8, expected: 'direct' },
    { op: 'broadcast', bytes: 65_536, ranks: 8, expected: 'binomial-tree' },
    { op: 'broadcast', bytes: 65_537, ranks: 8, expected: 'chain' },
    { op: 'allGather', bytes: 4, ranks: 8, expected: 'direct' },
    { op: 'allGather', bytes: 4, ranks: 9, expected: 'bruck' },
    { op: 'allGather', bytes: large, ranks: 9, expected: 'ring' },
    { op: 'allToAll', bytes: 4, ranks: 9, expected: 'direct' },
    { op: 'allToAll', bytes: large, ranks: 9, expected: 'pairwise' },
    { op: 'barrier', bytes: 0, ranks: 9, expected: 'dissemination' },
    { op: 'allReduce', bytes: large, ranks: 9, medium: 'shm', expected: 'flat' },
    { op: 'allReduce', bytes: 4, ranks: 4, expected: 'direct' },
    { op: 'allReduce', bytes: 4, ranks: 4, medium: 'loopback', expected: 'recursive-doubling' },
    { op: 'allReduce', bytes: 4, ranks: 3, medium: 'loopback', expected: 'direct' },
    { op: 'allReduce', bytes: 65_537, ranks: 8, medium: 'loopback', expected: 'halving-doubling' },
    { op: 'broadcast', bytes: 4, ranks: 8, medium: 'loopback', expected: 'binomial-tree' },
  ])('$op of $bytes bytes on $ranks ranks ($medium, $dtype): $expected', ({ expected, ...one }) => {
    expect(chosen(one)).toBe(expected);
  });

  test('chooses a named algorithm for every operation, size and number of ranks', () => {
    const names = native.algorithmNames();
    for (const op of operations) {
      for (const medium of ['shm', 'tcp', 'loopback'] as const) {
        for (const bytes of [0, 1, 1000, 100_000, large]) {
          for (const ranks of [2, 3, 9, 100]) expect(names).toContain(chosen({ op, medium, bytes, ranks }));
        }
      }
    }
  });
});

describe('a requested algorithm', () => {
  test('is used only by the operations that support it', () => {
    expect(chosen({ op: 'allReduce', bytes: large, ranks: 8, forced: 'halving-doubling' })).toBe(
      'halving-doubling',
    );
    expect(chosen({ op: 'allGather', bytes: 4, ranks: 2, forced: 'bruck' })).toBe('bruck');
    expect(chosen({ op: 'allReduce', bytes: large, ranks: 8, forced: 'recursive-doubling' })).toBe(
      'recursive-doubling',
    );
    expect(chosen({ op: 'allReduce', bytes: large, ranks: 8, forced: 'bruck' })).toBe('ring');
    expect(chosen({ op: 'allReduce', bytes: large, ranks: 8, medium: 'shm', forced: 'ring' })).toBe('flat');
  });

  test('must have a known name', () => {
    expect(native.algorithmNames()).toEqual([
      'flat',
      'direct',
      'ring',
      'halving-doubling',
      'recursive-doubling',
      'binomial-tree',
      'chain',
      'dissemination',
      'bruck',
      'pairwise',
      'hierarchical',
    ]);
    expect(() => chosen({ op: 'allReduce', bytes: 4, ranks: 2, forced: 'rings' })).toThrow(
      /unknown algorithm 'rings'/,
    );
  });
});
