import { expect, test } from 'vitest';
import { Windows, characterCorpus } from '../src/text.ts';

test('numbers characters by code point, and keeps a tenth for validation', () => {
  const { characters, train, validation } = characterCorpus('baabbaabbc');
  expect(characters).toEqual(['a', 'b', 'c']);
  expect(train).toEqual(BigInt64Array.of(1n, 0n, 0n, 1n, 1n, 0n, 0n, 1n, 1n));
  expect(validation).toEqual(BigInt64Array.of(2n));
});

test('windows are consecutive, each with the next token of each of its tokens', () => {
  const windows = new Windows(
    BigInt64Array.from({ length: 9 }, (_, i) => BigInt(i)),
    4,
  );
  expect(windows.length).toBe(2);
  expect(windows.at(1)).toEqual({
    input: BigInt64Array.of(4n, 5n, 6n, 7n),
    target: BigInt64Array.of(5n, 6n, 7n, 8n),
  });
});

test('scattered windows lie in the text and cover all of it', () => {
  const tokens = BigInt64Array.from({ length: 100 }, (_, i) => BigInt(i));
  const windows = Windows.scattered(tokens, 10, { until: 1000 });
  const starts = new Set<number>();
  for (let index = 0; index < windows.length; index += 1) {
    const { input, target } = windows.at(index);
    expect([input.length, target.length, target[0] - input[0]]).toEqual([10, 10, 1n]);
    starts.add(Number(input[0]));
  }
  expect(starts.size).toBe(90);
  const rest = Windows.scattered(tokens, 10, { from: 700, until: 1000 });
  expect(rest.length).toBe(300);
  expect(rest.at(5)).toEqual(windows.at(705));
});
