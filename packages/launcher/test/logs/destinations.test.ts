import { expect, test } from 'vitest';
import { destinationOf, linePrefix, needsFiles } from '../../src/logs/destinations.ts';
import { parsed } from '../options/parsed.ts';

/** `expected`: destinations of stdout and stderr, for the local ranks 0 and 1. */
test.each<[args: string, expected: [string, string][]]>([
  [
    '',
    [
      ['console', 'console'],
      ['console', 'console'],
    ],
  ],
  [
    '-r 3',
    [
      ['file', 'file'],
      ['file', 'file'],
    ],
  ],
  [
    '-r 1',
    [
      ['file', 'console'],
      ['file', 'console'],
    ],
  ],
  [
    '-r 0:1,1:2',
    [
      ['file', 'console'],
      ['console', 'file'],
    ],
  ],
  [
    '-r 1:3',
    [
      ['console', 'console'],
      ['file', 'file'],
    ],
  ],
  [
    '-t 2',
    [
      ['console', 'file and console'],
      ['console', 'file and console'],
    ],
  ],
  [
    '-r 3 -t 1',
    [
      ['file and console', 'file'],
      ['file and console', 'file'],
    ],
  ],
  [
    '--local-ranks-filter 1',
    [
      ['nowhere', 'nowhere'],
      ['console', 'console'],
    ],
  ],
  [
    '-t 1 --local-ranks-filter 1',
    [
      ['file', 'nowhere'],
      ['file and console', 'console'],
    ],
  ],
  [
    '-r 2 --local-ranks-filter 0',
    [
      ['console', 'file'],
      ['nowhere', 'file'],
    ],
  ],
])('%s', (args, expected) => {
  const { logs } = parsed(args).options;
  const found = [0, 1].map((localRank) => [
    destinationOf(logs, localRank, 'stdout'),
    destinationOf(logs, localRank, 'stderr'),
  ]);
  expect(found).toEqual(expected);
  expect(needsFiles(logs, 2)).toBe(expected.flat().some((destination) => destination.startsWith('file')));
});

test('needs no files if only absent ranks are redirected', () => {
  expect(needsFiles(parsed('-r 5:3').options.logs, 2)).toBe(false);
});

test('the prefix names the rank, and with several nodes also the node', () => {
  const place = { role: 'default', rank: 3, groupRank: 1 };
  expect(linePrefix({ ...place, groupWorldSize: 1 })).toBe('[default3]:');
  expect(linePrefix({ ...place, groupWorldSize: 2 })).toBe('[1:default3]:');
});

test('warns about --log-dir without --redirects or --tee', () => {
  expect(parsed('--log-dir logs').warnings).toEqual([
    '--log-dir is set, but no output is written to files. Add --redirects 3 or --tee 3.',
  ]);
  expect(parsed('--log-dir logs -r 1').warnings).toEqual([]);
});
