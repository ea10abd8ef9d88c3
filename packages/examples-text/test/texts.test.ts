import { expect, test } from 'vitest';
import { parseNews, syntheticNews } from '../src/news.ts';
import { splitNews } from '../src/texts.ts';

test('parses titles and descriptions with quotes and commas', () => {
  const csv = '"3","One, two","He said ""yes""."\n"1","B","C\\D"\r\n';
  expect(parseNews(csv)).toEqual([
    { text: 'One, two He said "yes".', label: 2 },
    { text: 'B C\\D', label: 0 },
  ]);
  expect(() => parseNews('"1","a","b"\n1,a,b\n')).toThrow(
    'AG News: line 2: expected "class","title","description", got 1,a,b.',
  );
});

test('holds back every fifth text, and numbers words that occur twice in the others', () => {
  const texts = ['a b', 'B c', 'd c?', 'c', 'e e e', '!'];
  const { train, heldBack, vocabSize, classes } = splitNews(
    texts.map((text, index) => ({ text, label: index % 3 })),
    1000,
  );
  const tokens = (part: typeof train) =>
    Array.from({ length: part.length }, (_, index) => [...part.at(index).tokens].map(Number));
  // b is 2 and c is 3; a and d are unknown, and so is a text without words.
  expect(tokens(train)).toEqual([[1, 2], [2, 3], [1, 3], [3], [1]]);
  expect(tokens(heldBack)).toEqual([[1, 1, 1]]);
  expect([vocabSize, classes]).toEqual([4, 3]);
  expect(heldBack.at(0).label).toBe(1n);
});

test('cuts long texts', () => {
  const { train } = splitNews([{ text: 'a a b b c c', label: 0 }], 4);
  expect(train.at(0).tokens).toEqual(BigInt64Array.of(2n, 2n, 3n, 3n));
});

test('synthetic texts have every class and many lengths', () => {
  const news = syntheticNews(200);
  expect(new Set(news.map(({ label }) => label))).toEqual(new Set([0, 1, 2, 3]));
  expect(new Set(news.map(({ text }) => text.split(' ').length)).size).toBeGreaterThan(40);
});
