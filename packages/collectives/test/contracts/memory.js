// The same operations again and again, and what the process holds meanwhile.
import { memoryUsage } from 'node:process';
import { setImmediate } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { operationNames, operationOn } from './operations.js';

/** Rounds between those on long arrays. */
const longEvery = 50;

/** args.marks: numbers of operations of all kinds, after each of which the memory is looked at. Reports the resident bytes by mark. */
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

/** Every kind of operation at once, then some one by one on the calling thread. Resolves with how many. */
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

/** Makes the process's memory tell; the function resolves with resident bytes, without what nobody holds any more. */
function residentBytesOf() {
  // V8 would double its young generation now and then, and keep the pages: more than what is looked for here.
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
