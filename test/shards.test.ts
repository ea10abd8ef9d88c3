import { expect, test } from 'vitest';
import { isFull } from './support/extent.ts';
import { node } from './support/command.ts';

// bench/loading/shards.js: 2 ranks with 2 worker threads each, and an S3 server in a separate process.
const images = isFull ? 20_000 : 203;
const sizes = [
  '--images',
  String(images),
  '--shards',
  isFull ? '20' : '5',
  '--batch',
  '8',
  '--rounds',
  '2',
  '--steps',
  '6',
];

test('training from tar shards on S3 visits each image once, on 2 ranks with 2 workers each', async () => {
  const args = ['bench/loading/shards.js', '--model', 'cifar', ...sizes];
  const { code, stdout, stderr } = await node(args, { limitMs: 300_000 }).ended;
  expect(stderr).toBe('');
  expect(stdout).toContain(`an epoch visits ${images} of ${images} images once\n`);
  expect(stdout).toMatch(/cifar from shards: [1-9]\d*\.\d \(\d\.\d{3} x memory\) images\/s per rank/);
  expect(code).toBe(0);
}, 320_000);
