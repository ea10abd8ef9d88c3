// The cost of data loading in a training step: `npm run bench:loading`, or
// `node launch --nproc 2 bench/loading/ringrun.js [ROUNDS] [STEPS]`. Each rank trains the CIFAR-10 CNN with batch 64 and
// alternates between batches in memory and batches that are sampled, cropped, flipped, normalised and collated. Rank 0
// prints median images/s per rank and the ratio to batches in memory, by wall-clock time and by processor time of all
// threads. The latter does not depend on other programs on the machine.
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import {
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  barrier,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
} from 'ringrun';
import { createModel } from '../train/models.js';
import { noiseImages } from './noise-images.js';

const [rounds = 7, steps = 100] = process.argv.slice(2).map(Number);
const batchSize = 64;
await initProcessGroup();
manualSeed(1);
const model = new DistributedDataParallel(await createModel('cifar'));
const optimizer = new optim.SGD(model.module.parameters(), { lr: 0.01, momentum: 0.5 });
const dataset = noiseImages(50_000);

const ways = {
  'in memory': repeated(await someBatches(64)),
  'in the loop’s thread': endless(loader({ reuseMemory: true })),
  '1 worker thread': endless(loader({ numWorkers: 1, persistentWorkers: true, reuseMemory: true })),
};
const rates = newRates();
const processorRates = newRates();
for (let round = -1; round < rounds; round += 1) {
  for (const [name, batches] of Object.entries(ways)) {
    await barrier();
    const start = performance.now();
    const startCpu = process.cpuUsage();
    for (let step = 0; step < steps; step += 1) await train((await batches.next()).value);
    await barrier();
    const { user, system } = process.cpuUsage(startCpu);
    // The first round is warm-up.
    if (round < 0) continue;
    rates.get(name).push((batchSize * steps * 1000) / (performance.now() - start));
    processorRates.get(name).push((batchSize * steps * 1e6) / (user + system));
  }
}
if (getRank() === 0) report();
await destroyProcessGroup();

function report() {
  for (const name of rates.keys()) {
    const [wall, cpu] = [rates, processorRates].map((found) => summary(found, name));
    console.log(`${name}: ${wall} images/s per rank; ${cpu} per second of processor time`);
  }
}

function summary(rates, name) {
  const ready = rates.get('in memory');
  const shares = rates.get(name).map((rate, round) => rate / ready[round]);
  return `${median(rates.get(name)).toFixed(0)} (${median(shares).toFixed(3)} × batches in memory)`;
}

function newRates() {
  return new Map(Object.keys(ways).map((name) => [name, []]));
}

async function train({ image, label }) {
  const loss = F.nllLoss(model.forward(tensor(image.data, image.shape)), tensor(label.data));
  optimizer.zeroGrad();
  await loss.backward();
  await optimizer.step();
}

function loader(options) {
  const sampler = new DistributedSampler(dataset, { dropLast: true });
  return new DataLoader(dataset, { batchSize, sampler, dropLast: true, ...options });
}

async function* endless(batches) {
  for (;;) yield* batches;
}

async function* repeated(batches) {
  for (;;) yield* batches;
}

/** 64 batches are 50 MB, more than any cache. */
async function someBatches(count) {
  const batches = [];
  for await (const batch of loader({})) if (batches.push(batch) === count) break;
  return batches;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
