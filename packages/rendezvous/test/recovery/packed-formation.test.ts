import { expect, test } from 'vitest';
import type { Formation, Process } from '../../src/recovery/decide.ts';
import { packFormation, unpackFormation } from '../../src/recovery/packed-formation.ts';

const processOf = (rank: number, token = `p${rank}`): Process => ({
  ...{ token, rank, host: 'a', pid: 1000 + rank, space: '' },
});
const before = Array.from({ length: 6 }, (_, rank) => processOf(rank));
const newcomer = processOf(2, 'new');

const formations: Record<string, Formation> = {
  'the same members': { kind: 'form', members: before, joining: [], source: undefined, committed: 7 },
  'a dead member': {
    ...{ kind: 'form', joining: [], source: undefined, committed: 0 },
    members: before.filter(({ rank }) => rank !== 2),
  },
  'another order, and processes that join': {
    ...{ kind: 'form', source: 'p3', committed: 7 },
    members: [before[3], before[4], before[0], before[5], newcomer],
    joining: ['p5', 'new'],
  },
  'no members': { kind: 'form', members: [], joining: [], source: undefined, committed: 0 },
};

test.each(Object.entries(formations))('a formation with %s is read as it was written', (_, formation) => {
  const text = JSON.stringify(packFormation(formation, before));
  expect(unpackFormation(JSON.parse(text) as ReturnType<typeof packFormation>, before)).toEqual(formation);
});

test('the death of one of 10,240 members takes less than 100 bytes', () => {
  const many = Array.from({ length: 10_240 }, (_, rank) => processOf(rank));
  const members = many.filter(({ rank }) => rank !== 4711);
  const packed = packFormation({ ...formations['a dead member'], members }, many);
  expect(JSON.stringify(packed).length).toBeLessThan(100);
});
