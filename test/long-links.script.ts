// One rank of several hosts: `long-links.script <count> <pauseMs> <steps>` sums arrays of `count` elements after pauses, and
// prints the shortest time of a step in ms.
import { setTimeout as sleep } from 'node:timers/promises';
import { allReduce, barrier, destroyProcessGroup, getRank, getWorldSize, initProcessGroup } from 'ringrun';

const [count, pauseMs, steps] = process.argv.slice(2).map(Number);
await initProcessGroup();
const size = getWorldSize();
const values = new Float32Array(count);
const times: number[] = [];
let wrong = 0;
for (let step = 0; step < steps; step += 1) {
  for (let i = 0; i < count; i += 1) values[i] = getRank() + step + (i % 7);
  await sleep(pauseMs);
  await barrier();
  const startedAt = performance.now();
  await allReduce(values);
  times.push(performance.now() - startedAt);
  const ranks = (size * (size - 1)) / 2;
  wrong += values.filter((value, i) => value !== ranks + size * (step + (i % 7))).length;
}
await destroyProcessGroup();
console.log(`wrong: ${wrong}, shortest: ${Math.round(Math.min(...times))} ms`);
