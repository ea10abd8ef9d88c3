// The same operations again and again, and what the process holds meanwhile.
import { memoryUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { operationNames, operationOn } from './operations.js';

/** Rounds between those on long arrays. */
const longEvery = 50;

/** args.marks: numbers of operations of all kinds, after each of which the memory is looked at. Reports bytes by mark. */
export async function memoryAfterOperations({ group, args, report }) {
  const [short, long] = [10, 30_000].map((length) => rounds(group, length));
  const bytes = [];
  let operations = 0;
  for (const mark of args.marks) {
    for (let round = 0; operations < mark; round++)
      operations += await (round % longEvery === 0 ? long : short)();
    bytes.push(residentBytes());
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

/** Without what nobody holds any more. */
function residentBytes() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return memoryUsage.rss();
}
