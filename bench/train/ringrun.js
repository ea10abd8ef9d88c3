// One rank of ringrun's training step: `node ringrun.js ddp|alone MODEL BATCH STEPS`; `alone` trains without
// communication. Rank 0 prints a JSON line: the milliseconds of each step, and the average per step of compute and of
// waiting for gradients.
import { InferenceSession } from 'onnxruntime-node';
import { F, manualSeed, optim, tensor } from '@ringrun/nn';
import { DistributedDataParallel, barrier, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';
import { models } from './models.js';

const [mode, name, ...numbers] = process.argv.slice(2);
const [batch, steps] = numbers.map(Number);
const { create, shape } = models[name];
const spent = { compute: 0, computedAt: 0, wait: 0 };
watchCompute();

manualSeed(1);
await initProcessGroup();
const model = create();
const trained = mode === 'ddp' ? new DistributedDataParallel(model) : model;
const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.5 });
const batches = Array.from({ length: 4 }, (_, seed) => randomBatch(seed));
const times = [];
await barrier();
for (let i = -Math.max(3, Math.floor(steps / 10)); i < steps; i += 1) {
  if (i === 0) Object.assign(spent, { compute: 0, wait: 0 });
  const start = performance.now();
  await step(batches[(i + batches.length * steps) % batches.length]);
  if (i >= 0) times.push(performance.now() - start);
}
await barrier();
if (getRank() === 0) {
  const memory = process.resourceUsage().maxRSS * 1024;
  const [computeMs, waitMs] = [spent.compute / steps, spent.wait / steps];
  console.log(JSON.stringify({ times, computeMs, waitMs, memory }));
}
await destroyProcessGroup();

async function step({ images, classes }) {
  const loss = F.nllLoss(trained.forward(tensor(images, [batch, ...shape])), tensor(classes));
  optimizer.zeroGrad();
  await loss.backward();
  spent.wait += performance.now() - spent.computedAt;
  await optimizer.step();
}

/** Times every run of onnxruntime, including the optimizer's. */
function watchCompute() {
  const { run } = InferenceSession.prototype;
  InferenceSession.prototype.run = async function (...args) {
    const start = performance.now();
    const results = await run.apply(this, args);
    spent.computedAt = performance.now();
    spent.compute += spent.computedAt - start;
    return results;
  };
}

function randomBatch(seed) {
  const size = batch * shape.reduce((product, dimension) => product * dimension);
  const images = Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898 + seed + getRank()));
  const classes = BigInt64Array.from({ length: batch }, (_, i) => BigInt((i * 7 + seed) % 10));
  return { images, classes };
}
