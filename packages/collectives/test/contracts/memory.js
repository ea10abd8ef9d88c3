// Repeats operations and measures the memory of the process.
import { memoryUsage } from 'node:process';
import { setImmediate } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { operationNames, operationOn } from './operations.js';

/** Rounds between those on long arrays. */
const longEvery = 50;

/** args.marks: numbers of operations after which memory is measured. Reports the resident bytes by mark. */
export async function memoryAfterOperations({ group, args, report }) {
  const [short, long] = [10, 30_000].map((length) => rounds(group, length));
  const residentBytes = residentBytesOf();
  const bytes = [];
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
function rounds(group, length) {
  const atOnce = operationNames.map((name) => operationOn(group, name, length));
  const tensor = new Float32Array(length);
  const output = new Float32Array(group.size * length);
  const oneByOne = [
    () => group.allReduceSync(tensor),
    () => group.broadcastSync(tensor),
    () => group.allGatherSync(output, tensor),
    () => group.barrierSync(),
    () => (group.rank === 0 ? group.sendSync(tensor, 1) : group.recvSync(tensor)),
  ];
  return async () => {
    await Promise.all(atOnce.map((begin) => begin()));
    for (const call of oneByOne) call();
    return atOnce.length + oneByOne.length;
  };
}

/**
 * Makes memory measurements reproducible. The returned function collects garbage and resolves with the resident bytes.
 */
function residentBytesOf() {
  // V8 would grow its young generation and keep the pages, which is more than the leaks that this test detects.
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  return async () => {
    for (let collection = 0; collection < 3; collection++) {
      collectGarbage();
      // Finalizers, which release more, run in the next turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return memoryUsage.rss();
  };
}
