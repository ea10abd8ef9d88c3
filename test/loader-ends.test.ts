import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';

/** The output of each rank in each of two epochs. */
async function printed(way: string, counts: readonly number[]): Promise<string[]> {
  const args = [
    '--nproc',
    String(counts.length),
    builtScript('loader-ends.script'),
    way,
    ...counts.map(String),
  ];
  const { code, stdout, stderr } = await launch(args).ended;
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = stdout.match(/rank \d epoch \d: .*/g)!.toSorted();
  expect(lines).toHaveLength(2 * counts.length);
  const [first, second] = [0, 1].map((epoch) =>
    lines.filter((line) => line.includes(`epoch ${epoch}`)).map((line) => line.replace(/.*epoch \d: /, '')),
  );
  expect(second).toEqual(first);
  return first;
}

test('a rank that runs out of samples repeats its first ones until all ranks have run out', async () => {
  expect(await printed('repeat', [7, 1, 4])).toEqual([
    '[[0,1],[2,3],[4,5],[6]]',
    '[[100],[100],[100],[100]]',
    '[[200,201],[202,203],[200,201],[202,203]]',
  ]);
});

test('with dropLast, all ranks stop at the shortest share', async () => {
  expect(await printed('drop', [7, 5])).toEqual(['[[0,1],[2,3]]', '[[100,101],[102,103]]']);
});

test('with evenDivisible: false, each sample is visited once', async () => {
  expect(await printed('once', [5, 0])).toEqual(['[[0,1],[2,3],[4]]', '[]']);
});

test('a rank without samples makes every rank throw', async () => {
  const [one, two] = await printed('repeat', [3, 0]);
  expect(one).toContain('expected samples in the share of every rank, got none for rank 1');
  expect(two).toBe(one);
});
