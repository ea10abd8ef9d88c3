import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { downloadProgressOn } from '../../../src/data/datasets/download-progress.ts';

function show(isTTY: boolean): string {
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY });
  const progress = downloadProgressOn(output, 'MNIST');
  progress.end();
  progress.begin(new URL('http://host/mnist/labels.gz'), 2_500_000);
  progress.advance(2_000_000);
  progress.advance(500_000);
  progress.end();
  return String(output.read());
}

test('shows a bar on a terminal', () => {
  expect(show(true)).toMatch(/labels\.gz \[.+\] 100% of 2\.50 MB/);
});

test('prints a line with the URL into a file', () => {
  expect(show(false)).toBe('MNIST: downloading http://host/mnist/labels.gz (2.50 MB)\n');
});
