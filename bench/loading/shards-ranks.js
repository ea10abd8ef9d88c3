// The ranks of bench/loading/shards.js: PATTERN MODEL IMAGES ROUNDS STEPS BATCH. First an epoch of the shards without
// training, in which each image must come once. Then each rank trains in turns on images in memory and on images of the
// shards, both with 2 worker threads and the same transforms. Rank 0 prints median images/s per rank and the ratio to
// memory, by wall-clock time and by processor time of all threads of the ranks; the latter does not depend on other
// programs, and does not contain the S3 server.
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import {
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  ImageShards,
  allReduce,
  barrier,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
} from 'ringrun';
import { median } from '../support.js';
import { createModel } from '../train/models.js';
import { augment, noiseImages } from './noise-images.js';

const [pattern, modelName, ...numbers] = process.argv.slice(2);
const [images, rounds, steps, batchSize] = numbers.map(Number);
const classes = 10n;

await initProcessGroup();
// 1 MiB ahead: the shards are read while the training runs, not before it.
const dataset = new ImageShards(pattern, { shuffle: true, prefetchBytes: 2 ** 20, transform: augment });
const workers = { batchSize, numWorkers: 2, persistentWorkers: true, reuseMemory: true };
const shards = new DataLoader(dataset, workers);
await checkEpoch();
await compare();
await destroyProcessGroup();

/** One epoch in which nothing is repeated: every image is counted. */
async function checkEpoch() {
  const counts = new Int32Array(images);
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const loader = new DataLoader(dataset, { ...workers, persistentWorkers: false, evenDivisible: false });
  for await (const { label } of loader) for (const number of label.data) counts[Number(number)] += 1;
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const times = Float64Array.of(user + system);
  await allReduce(counts);
  await allReduce(times);
  if (getRank() !== 0) return;
  const once = counts.filter((count) => count === 1).length;
  console.log(`an epoch visits ${once} of ${images} images once`);
  const perImage = (times[0] / images).toFixed(0);
  console.log(
    `loading alone: ${(images / seconds).toFixed(0)} images/s, ${perImage} µs of processor time per image`,
  );
  if (once !== images) process.exitCode = 1;
}

async function compare() {
  manualSeed(1);
  const model = new DistributedDataParallel(await createModel(modelName));
  const optimizer = new optim.SGD(model.module.parameters(), { lr: 0.01, momentum: 0.5 });
  const train = async ({ image, label }) => {
    const targets = tensor(label.data.map((number) => number % classes));
    const loss = F.crossEntropy(model.forward(tensor(image.data, image.shape)), targets);
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  };
  const ways = { memory: endless(inMemory()), shards: endless(shards) };
  const rates = { memory: [], shards: [] };
  const processorRates = { memory: [], shards: [] };
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, batches] of Object.entries(ways)) {
      await barrier();
      const start = performance.now();
      const startCpu = process.cpuUsage();
      for (let step = 0; step < steps; step += 1) await train((await batches.next()).value);
      const { user, system } = process.cpuUsage(startCpu);
      await barrier();
      // The first round compiles the step and reads the first shard.
      if (round < 0) continue;
      rates[name].push((batchSize * steps * 1000) / (performance.now() - start));
      processorRates[name].push((batchSize * steps * 1e6) / (user + system));
    }
  }
  if (getRank() === 0) report(rates, processorRates);
}

function report(rates, processorRates) {
  for (const name of Object.keys(rates)) {
    const [wall, cpu] = [rates, processorRates].map((found) => {
      const ratios = found[name].map((rate, round) => rate / found.memory[round]);
      return `${median(found[name]).toFixed(1)} (${median(ratios).toFixed(3)} x memory)`;
    });
    console.log(`${modelName} from ${name}: ${wall} images/s per rank; ${cpu} per second of processor time`);
  }
}

async function* endless(batches) {
  for (;;) yield* batches;
}

function inMemory() {
  const whole = noiseImages(Math.max(images, 2 * batchSize));
  const sampler = new DistributedSampler(whole, { dropLast: true });
  return new DataLoader(whole, { ...workers, sampler, dropLast: true });
}
