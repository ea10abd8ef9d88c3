// The ways to compute a step, compared in one process per rank, where they alternate every 32 steps: the speed of a
// virtual machine differs between processes by more than these ways do.
//
//   OMP_NUM_THREADS=1 node launch --nproc 2 bench/train/interleaved.js cifar 64 100     # model, batch, rounds
//
// Rank 0 prints the mean step of each way, and how much faster it is than backward + step: medians over the rounds.
import { packagesOf, median, root } from '../support.js';
import { createModel, models, randomBatch } from './models.js';

const [name = 'cifar', batchArgument = '64', roundsArgument = '100'] = process.argv.slice(2);
const [batch, rounds] = [batchArgument, roundsArgument].map(Number);
const stepsOfBlock = 32;
const load = packagesOf(root);
const { F, compileStep, manualSeed, optim, tensor } = await load('@ringrun/nn');
const { DistributedDataParallel, barrier, destroyProcessGroup, getRank, initProcessGroup } =
  await load('ringrun');

await initProcessGroup();
manualSeed(1);
const model = new DistributedDataParallel(await createModel(name, load));
const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.5 });
const lossOf = (images, classes) => F.nllLoss(model.forward(images), classes);
const traced = compileStep(optimizer, lossOf, { traceOnce: true, copyInputs: false });
/** From a list of batches. */
const ways = {
  'backward + step': oneByOne(async (...given) => {
    const loss = lossOf(...given);
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  }),
  compileStep: oneByOne(compileStep(optimizer, lossOf)),
  '… traceOnce': oneByOne(compileStep(optimizer, lossOf, { traceOnce: true })),
  '… traceOnce, copyInputs: false': oneByOne(traced),
  '… the same, each of 8': together(8),
  '… the same, each of 32': together(32),
};
const batches = Array.from({ length: 4 }, (_, seed) => randomBatch(name, batch, seed + getRank()));

const blocks = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
const warmUpRounds = Math.ceil(models[name].warmUp.ringrun / (Object.keys(ways).length * stepsOfBlock));
for (let round = -warmUpRounds; round < rounds; round += 1) {
  // Alternating directions: a drift of the machine's speed affects all ways alike.
  const order = round % 2 === 0 ? Object.keys(ways) : Object.keys(ways).toReversed();
  for (const way of order) {
    const milliseconds = await blockOf(ways[way]);
    if (round >= 0) blocks[way].push(milliseconds);
  }
}
if (getRank() === 0) {
  const base = blocks['backward + step'];
  for (const [way, own] of Object.entries(blocks)) {
    const faster = (median(own.map((milliseconds, round) => base[round] / milliseconds)) - 1) * 100;
    console.log(`${way.padEnd(32)} ${median(own).toFixed(3)} ms ${faster.toFixed(1).padStart(6)}% faster`);
  }
}
await destroyProcessGroup();

/** Mean milliseconds of a step. */
async function blockOf(way) {
  await barrier();
  const startedAt = performance.now();
  await way(Array.from({ length: stepsOfBlock }, (_, i) => batches[i % batches.length]));
  return (performance.now() - startedAt) / stepsOfBlock;
}

function oneByOne(step) {
  return async (data) => {
    for (const one of data) await step(...tensorsOf(one));
  };
}

function together(count) {
  return async (data) => {
    for (let i = 0; i < data.length; i += count) await traced.each(data.slice(i, i + count).map(tensorsOf));
  };
}

function tensorsOf({ images, classes }) {
  return [tensor(images, [batch, ...models[name].shape]), tensor(classes)];
}
