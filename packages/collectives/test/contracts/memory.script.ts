// Repeats operations and measures the memory of the process.
import { memoryUsage } from 'node:process';
import { setImmediate } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { ProcessGroup } from '@ringrun/core';

import type { Member } from '../fixtures/scenario.ts';
import { operationNames, operationOn } from './fixtures/operations.ts';

/** Rounds between those on long arrays. */
const longEvery = 50;

/** `marks`: numbers of operations after which memory is measured. Reports the resident bytes at each. */
export async function memoryAfterOperations({
  group,
  args,
  report,
}: Member<{ marks: number[] }>): Promise<void> {
  const [short, long] = [10, 30_000].map((length) => rounds(group, length));
  const residentBytes = residentBytesOf();
  const bytes: number[] = [];
  let operations = 0;
  for (const mark of args.marks) {
    for (let round = 0; operations < mark; round++)
      operations += await (round % longEvery === 0 ? long : short)();
    bytes.push(await residentBytes());
  }
  await group.destroy();
  await report({ bytes });
}

/** Runs every kind of operation at once, then some one by one on the calling thread. Resolves with their number. */
function rounds(group: ProcessGroup, length: number): () => Promise<number> {
  const atOnce = operationNames.map((name) => operationOn(group, name, length));
  const tensor = new Float32Array(length);
  const output = new Float32Array(group.size * length);
  /** Number of operations that `callOneByOne` calls. */
  const oneByOne = 5;
  const callOneByOne = () => {
    group.allReduceSync(tensor);
    group.broadcastSync(tensor);
    group.allGatherSync(output, tensor);
    group.barrierSync();
    if (group.rank === 0) group.sendSync(tensor, 1);
    else group.recvSync(tensor);
  };
  return async () => {
    await Promise.all(atOnce.map((begin) => begin()));
    callOneByOne();
    return atOnce.length + oneByOne;
  };
}

/**
 * Makes memory measurements reproducible. The returned function collects garbage and resolves with the resident bytes.
 */
function residentBytesOf(): () => Promise<number> {
  // V8 would grow its young generation and keep the pages, which is more than the leaks that this test detects.
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  return async () => {
    for (let collection = 0; collection < 3; collection++) {
      collectGarbage();
      // Finalizers, which release more, run in the next turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return memoryUsage.rss();
  };
}
