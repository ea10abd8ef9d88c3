// One rank that trains with the backend nccl: `node ranks.js NAME STEPS STORE`, with RANK and WORLD_SIZE. Averages gradients of
// DistributedDataParallel. Rank 0 prints the median step and a hash of its parameters.
import { createHash } from 'node:crypto';
import {
  DistributedDataParallel,
  ReduceOp,
  allReduce,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
} from 'ringrun';
import { median } from '../../bench/support.js';
import { trainingOf } from './trainings.js';

const [name, steps, store] = process.argv.slice(2);
const [rank, worldSize] = [process.env.RANK, process.env.WORLD_SIZE].map(Number);
await initProcessGroup({
  backend: 'nccl',
  initMethod: `file://${store}`,
  rank,
  worldSize,
  timeoutMs: 60_000,
});
const { model, step, batches } = trainingOf(name, {}, (own) => new DistributedDataParallel(own));
const times = [];
let loss;
for (let i = 0; i < Number(steps); i += 1) {
  const start = performance.now();
  loss = await step(...batches[(i + rank) % batches.length]);
  times.push(performance.now() - start);
}
const hash = createHash('sha256');
for (const [, { data }] of model.namedParameters()) hash.update(data);
const digest = hash.digest();
// The largest and, with the other sign, the smallest of all ranks.
const number = digest.readInt32LE() >> 1;
const bounds = Int32Array.of(number, -number);
await allReduce(bounds, { op: ReduceOp.MAX });
if (getRank() === 0) {
  const isSame = bounds[0] === -bounds[1];
  const ms = median(times.slice(3));
  console.log(
    JSON.stringify({ ms, loss: await loss.item(), isSame, digest: digest.toString('hex').slice(0, 16) }),
  );
}
await destroyProcessGroup();
