// The savings of `shareParameters` with Adam, in one interleaved run:
//
//   node launch --nproc 2 bench/train/share-parameters.js [mnist|cifar|linear] [rounds] [row]
//
// In each round the ranks train a block of steps of every row, in alternating order. Prints the medians over the rounds of
// the time and the processor time of a step, means of the ranks. With a `row`, the processes train that row only: then the
// memory, the sum of their proportional set sizes without files, is that of the row.
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { F, compileStep, manualSeed, nn, optim, tensor } from '@ringrun/nn';
import {
  DistributedDataParallel,
  allReduce,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import { median } from '../support.js';
import { createModel, models, randomBatch } from './models.js';

const [name = 'mnist', rounds = '9', only] = process.argv.slice(2);
const [batchSize, steps] = name === 'linear' ? [8, 5] : [64, 40];

const rows = {
  'separate, backward and step': { shareParameters: false, isCompiled: false },
  'shared, backward and step': { shareParameters: true, isCompiled: false },
  'separate, compileStep': { shareParameters: false, isCompiled: true },
  'shared, compileStep': { shareParameters: true, isCompiled: true },
};
const names = Object.keys(rows).filter((row) => only === undefined || row === only);

await initProcessGroup();
const { lossOf, create } = name === 'linear' ? linear() : await ofExamples();
const step = Object.fromEntries(await Promise.all(names.map(async (row) => [row, await stepOf(rows[row])])));
const figures = Object.fromEntries(names.map((row) => [row, []]));
for (const row of names) await block(row);
for (let round = 0; round < Number(rounds); round += 1) {
  for (const row of round % 2 === 0 ? names : names.toReversed()) figures[row].push(await block(row));
}
const memory = Float64Array.of(await proportionalMemory());
await allReduce(memory);
if (getRank() === 0) print();
await destroyProcessGroup();

/** [ms, processor ms] of a step, means of the ranks. */
async function block(row) {
  await barrier();
  const [since, used] = [performance.now(), process.cpuUsage()];
  for (let i = 0; i < steps; i += 1) await step[row]();
  const { user, system } = process.cpuUsage(used);
  const mean = Float64Array.of(performance.now() - since, (user + system) / 1000);
  await allReduce(mean);
  return [...mean].map((sum) => sum / steps / getWorldSize());
}

async function stepOf({ shareParameters, isCompiled }) {
  manualSeed(1);
  const ddp = new DistributedDataParallel(await create(), { shareParameters, verifyEvery: 0 });
  const optimizer = new optim.Adam(ddp.parameters());
  if (isCompiled) return compileStep(optimizer, () => lossOf(ddp));
  return async () => {
    optimizer.zeroGrad();
    await lossOf(ddp).backward();
    await optimizer.step();
  };
}

async function ofExamples() {
  const { images, classes } = randomBatch(name, batchSize, getRank());
  const lossOf = (ddp) =>
    F.nllLoss(ddp.forward(tensor(images, [batchSize, ...models[name].shape])), tensor(classes));
  return { lossOf, create: () => createModel(name) };
}

/** Three linear layers of 2,450 features: 18 million parameters. */
function linear() {
  const size = 2450;
  const input = tensor(new Float32Array(batchSize * size).fill(0.01), [batchSize, size]);
  const create = () =>
    new nn.Sequential(new nn.Linear(size, size), new nn.Linear(size, size), new nn.Linear(size, size));
  return { lossOf: (ddp) => ddp.forward(input).mean(), create };
}

/** MB of this process, with its part of memory that it shares, after a garbage collection. */
async function proportionalMemory() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  // Finalizers run in the next turn of the event loop.
  await setImmediate();
  const lines = readFileSync('/proc/self/smaps_rollup', 'utf8').matchAll(/^Pss_(?:Anon|Shmem): *(\d+)/gm);
  return [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0) / 1000;
}

function print() {
  for (const row of names) {
    const [ms, processorMs] = [0, 1].map((i) => median(figures[row].map((figure) => figure[i])).toFixed(2));
    console.log(`${name}, ${row.padEnd(28)} ${ms} ms a step, ${processorMs} ms of processor time`);
  }
  console.log(`${Math.round(memory[0])} MB on ${getWorldSize()} ranks`);
}
