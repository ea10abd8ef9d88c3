import { expect, test } from 'vitest';
import { checkpointName, checkpointsAmong, nextNumber, superseded } from '../../src/checkpoint/catalogue.ts';

/** Checkpoints in the order of their numbers. `C`: complete, `i`: incomplete. */
function catalogue(kinds: string) {
  const objects = Array.from(kinds).flatMap((kind, i) => {
    const folder = `checkpoint-${String(i + 1).padStart(6, '0')}-step-${10 * (i + 1)}`;
    const files = kind === 'C' ? ['manifest.json', 'state.json'] : ['state.json'];
    return files.map((file) => ({ name: `${folder}/${file}`, bytes: 1 }));
  });
  return checkpointsAmong(objects.reverse());
}

test.each([
  ['', 3, []],
  ['CCC', 3, []],
  ['CCCC', 3, [1]],
  ['CCCC', 1, [1, 2, 3]],
  ['iCiCC', 2, [1, 2, 3]],
  // Checkpoints after the newest complete one are kept: they may be in progress.
  ['CCi', 2, []],
  ['ii', 1, []],
])('of %s, keeping %i, deletes %j', (kinds, keep, expected) => {
  const numbers = superseded(catalogue(kinds), keep).map((name) => Number(name.split('-')[1]));
  expect(numbers).toEqual(expected);
});

test('the next number is above the highest one, regardless of steps', () => {
  expect(checkpointName(nextNumber([]), 7)).toBe('checkpoint-000001-step-7');
  expect(checkpointName(nextNumber(catalogue('CCi')), 5)).toBe('checkpoint-000004-step-5');
  expect(nextNumber(catalogue('CCi'), 7)).toBe(8);
  const [a, b] = checkpointsAmong([
    { name: 'checkpoint-1000000-step-1/manifest.json', bytes: 1 },
    { name: 'checkpoint-999999-step-2/manifest.json', bytes: 1 },
  ]);
  expect([a.step, b.step]).toEqual([2, 1]);
});

test('ignores names that are not checkpoints', () => {
  const names = [
    'checkpoint-x-step-1/manifest.json',
    'checkpoint-1-step-1',
    'model/checkpoint-1-step-1/manifest.json',
    `checkpoint-${'9'.repeat(200)}-step-1/manifest.json`,
    `checkpoint-1-step-${'9'.repeat(200)}/manifest.json`,
  ];
  expect(checkpointsAmong(names.map((name) => ({ name, bytes: 1 })))).toEqual([]);
});
