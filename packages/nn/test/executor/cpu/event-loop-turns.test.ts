import { beforeAll, expect, it } from 'vitest';
import { ones } from '../../../src/index.ts';

const x = ones(4);

beforeAll(async () => {
  for (let read = 0; read < 50; read += 1) await x.mul(2).array();
});

/** Reads small tensors until a condition holds, for at most 5 s. */
async function readUntil(isDone: () => boolean): Promise<number> {
  const end = performance.now() + 5_000;
  let reads = 0;
  for (; !isDone() && performance.now() < end; reads += 1) await x.mul(2).array();
  return reads;
}

it('lets timers fire between short runs, which need no turn of the event loop', async () => {
  let late: number | undefined;
  const start = performance.now();
  setTimeout(() => {
    late = performance.now() - start - 20;
  }, 20);
  const reads = await readUntil(() => late !== undefined);
  expect(late).toBeLessThan(1_000);
  expect(reads).toBeGreaterThan(10);
});

it('has fewer turns of the event loop than short runs', async () => {
  let turns = 0;
  let isCounting = true;
  setImmediate(function count() {
    turns += 1;
    if (isCounting) setImmediate(count);
  });
  for (let read = 0; read < 200; read += 1) await x.mul(2).array();
  isCounting = false;
  expect(turns).toBeLessThan(150);
});
