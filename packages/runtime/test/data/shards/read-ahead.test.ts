import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAhead } from '../../../src/data/shards/read-ahead.ts';

function source(lengths: readonly number[], failsAt = -1) {
  const log = { read: 0, isClosed: false };
  async function* chunks() {
    try {
      for (const [index, length] of lengths.entries()) {
        await setImmediate();
        if (index === failsAt) throw new Error('the connection broke');
        log.read += 1;
        yield new Uint8Array(length).fill(index);
      }
    } finally {
      log.isClosed = true;
    }
  }
  return { log, chunks: chunks() };
}

const settled = async () => {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
};

test('reads ahead up to its limit, and no further', async () => {
  const { log, chunks } = source([10, 10, 10, 10, 10, 10]);
  const ahead = readAhead(chunks, 30);
  await ahead.next();
  await settled();
  expect(log.read).toBe(4);
  await ahead.next();
  await settled();
  expect(log.read).toBe(5);
  await ahead.return();
  expect(log.isClosed).toBe(true);
});

test('yields all chunks in order, even chunks above its limit', async () => {
  const lengths = [5, 100, 0, 7];
  const found: number[][] = [];
  for await (const chunk of readAhead(source(lengths).chunks, 1))
    found.push([chunk.length, chunk.at(0) ?? -1]);
  expect(found).toEqual([
    [5, 0],
    [100, 1],
    [0, -1],
    [7, 3],
  ]);
});

test('throws an error after the chunks before it', async () => {
  const found: number[] = [];
  const loop = async () => {
    for await (const chunk of readAhead(source([1, 2, 3], 2).chunks, 100)) found.push(chunk.length);
  };
  await expect(loop()).rejects.toThrow('the connection broke');
  expect(found).toEqual([1, 2]);
});
