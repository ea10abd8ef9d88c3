// One rank that trains with ringrun: `node ringrun.js WAY MODEL BATCH WARM-UP STEPS FOLDER CHECKOUT`, started by run.js
// through the launcher of CHECKOUT, whose packages it measures. WAY is one of `ways`, with +bf16 for autocast. Writes FOLDER/RANK.json: when each step and each run of
// onnxruntime began and ended, and the resources that the process used for the measured steps.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers';
import { autocastOptions, packagesOf, peakMemory } from '../support.js';
import { createModel, models, randomBatch } from './models.js';

const [mode, name, ...rest] = process.argv.slice(2);
const [way, autocast] = mode.split('+');
const [batch, warmUp, steps] = rest.slice(0, 3).map(Number);
const [folder, checkout] = rest.slice(3);
const load = packagesOf(checkout);
const { F, compileStep, manualSeed, optim, tensor } = await load('@ringrun/nn');
const ringrun = await load('ringrun');
const { DistributedDataParallel, ReduceOp, barrier, defaultGroup, getRank } = ringrun;

const tracedOnce = { traceOnce: true, copyInputs: false };
const stepsOfCall = way === 'each' ? 32 : 1;

/** The ladder: every way contains the communication of the ways above it. A row of run.js names one of them. */
const ways = {
  alone: (model) => separate(model),
  barrier: (model) => separate(model, () => defaultGroup().barrierSync()),
  'all-reduce': (model) => separate(model, averageOnThisThread(model)),
  ddp: (model) => separate(new DistributedDataParallel(model)),
  compiled: (model) => together(new DistributedDataParallel(model)),
  traced: (model) => together(new DistributedDataParallel(model), tracedOnce),
  each: (model) => together(new DistributedDataParallel(model), tracedOnce),
  shared: (model) => together(new DistributedDataParallel(model, { shareParameters: true })),
};

await ringrun.initProcessGroup();
manualSeed(1);
const run = ways[way](await createModel(name, load));
const batches = Array.from({ length: 4 }, (_, seed) => randomBatch(name, batch, seed + getRank()));
const [startedAt, endedAt] = [[], []];
// V8 optimizes the functions of a step and onnxruntime's arena grows during the first steps.
for (let i = 0; i < warmUp; i += stepsOfCall) await run(batchesFrom(i));
await barrier();
const collections = countCollections();
const since = process.resourceUsage();
while (endedAt.length < steps) {
  const began = now();
  await run(batchesFrom(endedAt.length));
  const duration = (now() - began) / stepsOfCall;
  for (let step = 0; step < stepsOfCall; step += 1) {
    startedAt.push(began + step * duration);
    endedAt.push(began + (step + 1) * duration);
  }
}
const used = process.resourceUsage();
await barrier();
const report = {
  startedAt,
  endedAt,
  runs: runsBetween(startedAt[0], endedAt.at(-1)),
  processorMs: (used.userCPUTime + used.systemCPUTime - since.userCPUTime - since.systemCPUTime) / 1000,
  minorFaults: used.minorPageFault - since.minorPageFault,
  majorFaults: used.majorPageFault - since.majorPageFault,
  ...(await collections.sums()),
  memory: peakMemory(),
};
writeFileSync(join(folder, `${getRank()}.json`), JSON.stringify(report));
await ringrun.destroyProcessGroup();

/** A step in two runs: `backward`, then `optimizer.step`. */
function separate(model, average = () => undefined) {
  const optimizer = sgd(model);
  return async ([data]) => {
    const loss = lossOf(model, ...tensorsOf(data));
    optimizer.zeroGrad();
    await loss.backward();
    average();
    await optimizer.step();
  };
}

/** A step in one run. Several steps are one call. */
function together(model, options) {
  const step = compileStep(sgd(model), (...tensors) => lossOf(model, ...tensors), {
    ...options,
    ...autocastOptions(autocast === 'bf16'),
  });
  return (data) => (data.length === 1 ? step(...tensorsOf(data[0])) : step.each(data.map(tensorsOf)));
}

function batchesFrom(first) {
  return Array.from({ length: stepsOfCall }, (_, i) => batches[(first + i) % batches.length]);
}

function sgd(model) {
  return new optim.SGD((model.module ?? model).parameters(), { lr: 0.01, momentum: 0.5 });
}

function tensorsOf({ images, classes }) {
  return [tensor(images, [batch, ...models[name].shape]), tensor(classes)];
}

function lossOf(model, images, classes) {
  return F.nllLoss(model.forward(images), classes);
}

/** The gradients are in shared memory, as DDP's are, and averaged without its thread. */
function averageOnThisThread(model) {
  const parameters = [...model.parameters()];
  const length = parameters.reduce((sum, { data }) => sum + data.length, 0);
  const gradients = defaultGroup().allocateSync('float32', length);
  const arrays = new Map();
  let offset = 0;
  for (const parameter of parameters) {
    arrays.set(parameter, gradients.subarray(offset, offset + parameter.data.length));
    offset += parameter.data.length;
    parameter.gradientSink = {
      arrayOf: (one) => arrays.get(one),
      bucketIndexOf: () => 0,
      // Nothing to start: the gradients are averaged after the pass.
      beginPass: () => ({
        bucketReady: () => undefined,
        startableAt: () => [],
        done: async () => undefined,
        abandon: () => undefined,
      }),
    };
  }
  return () => defaultGroup().allReduceSync(gradients, { op: ReduceOp.AVG });
}

/** Nanoseconds of CLOCK_MONOTONIC, as timed_runs.c records them. */
function now() {
  return Number(process.hrtime.bigint());
}

function countCollections() {
  const entries = [];
  const observer = new PerformanceObserver((list) => entries.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  return {
    async sums() {
      // Entries are delivered in a later turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      entries.push(...observer.takeRecords());
      observer.disconnect();
      const isMajor = ({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
      return {
        collections: entries.length,
        majorCollections: entries.filter(isMajor).length,
        collectionMs: entries.reduce((sum, { duration }) => sum + duration, 0),
      };
    },
  };
}

/** Start, end and processor time of each run of onnxruntime in a period, in ns. */
function runsBetween(from, until) {
  const file = openSync(join(process.env.BENCH_RUNS, String(process.pid)), 'r');
  try {
    const [count] = numbersIn(file, 0, 1);
    const times = numbersIn(file, 1, 3 * count);
    const runs = Array.from({ length: count }, (_, i) => times.slice(3 * i, 3 * i + 3));
    return runs.filter(([start, end]) => start >= from && end <= until);
  } finally {
    closeSync(file);
  }
}

function numbersIn(file, position, count) {
  const numbers = new BigUint64Array(count);
  readSync(file, numbers, 0, numbers.byteLength, position * numbers.BYTES_PER_ELEMENT);
  return Array.from(numbers, Number);
}
