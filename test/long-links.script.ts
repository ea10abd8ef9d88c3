// One rank of several hosts: `long-links.script <count> <pauseMs> <steps> [hook]` averages arrays of `count` elements after
// pauses, with a hook of DDP if it is given, and prints the number of its TCP connections and the shortest time of a step in ms.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ReduceOp,
  allReduce,
  barrier,
  commHooks,
  defaultGroup,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import type { GradientBucket } from 'ringrun';

const [count, pauseMs, steps] = process.argv.slice(2, 5).map(Number);
await initProcessGroup();
const values = new Float32Array(count);
const hook = process.argv[5] === 'int8' ? commHooks.int8Compress() : undefined;
const parameters = [{ shape: [count] }] as unknown as GradientBucket['parameters'];
const bucket = { index: 0, isLast: true, data: values, parameters, gradients: () => [values] };
// The largest magnitude of every block of 256 is 127 × (step + 1), so 8 bits hold each number.
const pattern = (step: number, i: number): number => ((i % 128) - (i % 3 === 0 ? 127 : 0)) * (step + 1);
const size = getWorldSize();
const times: number[] = [];
let wrong = 0;
for (let step = 0; step < steps; step += 1) {
  for (let i = 0; i < count; i += 1) values[i] = (getRank() + 1) * pattern(step, i);
  await sleep(pauseMs);
  await barrier();
  const startedAt = performance.now();
  if (hook) await hook(bucket, defaultGroup());
  else await allReduce(values, { op: ReduceOp.AVG });
  times.push(performance.now() - startedAt);
  const isWrong = (value: number, i: number): boolean =>
    Math.abs(value - ((size + 1) / 2) * pattern(step, i)) > 1e-3;
  wrong += values.filter(isWrong).length;
}
// Established ones have the state 01.
const connections = readFileSync('/proc/self/net/tcp', 'utf8')
  .split('\n')
  .filter((line) => / 01 /.test(line)).length;
await destroyProcessGroup();
console.log(`wrong: ${wrong}, connections: ${connections}, shortest: ${Math.round(Math.min(...times))} ms`);
