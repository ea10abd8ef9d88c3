import { registry } from '@ringrun/core';
import { expect, test } from 'vitest';
import { ArgumentError, defaultGenerator, F, manualSeed, tensor } from '../../src/index.ts';
import { Generator } from '../../src/random/generator.ts';

/** The next numbers of a generator, from each of its methods. */
function drawnFrom(generator: Generator): number[] {
  const [uniform, few, many] = [3, 1, 17].map((length) => new Float32Array(length));
  generator.fillNormal(few, 0, 1);
  generator.fillUniform(uniform, -1, 1);
  generator.fillNormal(many, 0, 1);
  return [Number(generator.nextKey()), ...uniform, ...few, ...many];
}

// One normal number is left over after an odd count; mt19937 has new words after each 624.
test.each([0, 1, 2, 3, 623, 624, 625, 2000])('continues after %i normal numbers', (count) => {
  const generator = new Generator(5);
  for (let i = 0; i < count; i += 1) generator.fillNormal(new Float32Array(1), 0, 1);
  const state = generator.stateDict();
  const expected = drawnFrom(generator);
  const other = new Generator(99);
  other.fillNormal(new Float32Array(1), 0, 1);
  for (let round = 0; round < 2; round += 1) {
    other.loadStateDict(state);
    expect(other.stateDict()).toEqual(state);
    expect(drawnFrom(other)).toEqual(expected);
  }
});

test('dropout draws from the generator that ringrun’s checkpoints find by itself', async () => {
  expect(registry.randomStates.get('nn')).toBe(defaultGenerator);
  const dropped = () => F.dropout(tensor(new Float32Array(100).fill(1))).array();
  manualSeed(1);
  await dropped();
  const state = defaultGenerator.stateDict();
  const expected = await dropped();
  expect(await dropped()).not.toEqual(expected);
  defaultGenerator.loadStateDict(state);
  expect(await dropped()).toEqual(expected);
});

test.each([new Int32Array(624), Int32Array.of(1), undefined])('rejects an invalid state', (words) => {
  const generator = new Generator(1);
  const before = generator.stateDict();
  const load = () => {
    generator.loadStateDict({ mt19937: words as Int32Array, spareNormal: undefined });
  };
  expect(load).toThrow(ArgumentError);
  expect(generator.stateDict()).toEqual(before);
});
