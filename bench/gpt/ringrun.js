// One rank that trains the GPT of examples-gpt: `node ringrun.js MODE BATCH CONTEXT LAYERS WIDTH HEADS STEPS FOLDER`, started
// by run.js through the launcher. MODE is compileStep, with +traceOnce and +bf16 (autocast). Writes FOLDER/RANK.json: the
// duration of each step and the processor time of all in ms, and the peak memory in bytes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GPT, decayedApart, lossOf } from '@ringrun/examples-gpt';
import { compileStep, manualSeed, optim, tensor } from '@ringrun/nn';
import {
  DistributedDataParallel,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import { autocastOptions, peakMemory } from '../support.js';

const [mode, ...numbers] = process.argv.slice(2, -1);
const folder = process.argv.at(-1);
const [batch, context, layers, width, heads, steps] = numbers.map(Number);
const shape = { vocabSize: 65, context, layers, heads, width };
const isTracedOnce = mode.includes('traceOnce');

await initProcessGroup();
manualSeed(1);
const gpt = new GPT(shape);
const model = getWorldSize() > 1 ? new DistributedDataParallel(gpt) : gpt;
const settings = { lr: 1e-3, betas: [0.9, 0.99], weightDecay: 0.1 };
const optimizer = new optim.AdamW(decayedApart(gpt), settings);
const trainStep = compileStep(optimizer, (tokens, targets) => lossOf(model, tokens, targets), {
  clipGradNorm: 1,
  traceOnce: isTracedOnce,
  copyInputs: !isTracedOnce,
  ...autocastOptions(mode.includes('bf16')),
});
const batches = Array.from({ length: 4 }, (_, i) => [tokensOf(i), tokensOf(i + 1)]);

for (let i = 0; i < warmUpSteps(); i += 1) await trainStep(...batches[i % 4]);
await barrier();
const durations = [];
const since = process.cpuUsage();
for (let i = 0; i < steps; i += 1) {
  const start = performance.now();
  await trainStep(...batches[i % 4]);
  durations.push(performance.now() - start);
}
const { user, system } = process.cpuUsage(since);
await barrier();
writeFileSync(
  join(folder, `${getRank()}.json`),
  JSON.stringify({ durations, processorMs: (user + system) / 1000, memory: peakMemory() }),
);
await destroyProcessGroup();

function tokensOf(seed) {
  const tokens = BigInt64Array.from({ length: batch * context }, (_, i) =>
    BigInt((i * (7 + seed) + 31 * getRank() + (Math.floor(i / 3) % 11)) % shape.vocabSize),
  );
  return tensor(tokens, [batch, context]);
}

/** V8 optimizes the functions of a step during the first steps. */
function warmUpSteps() {
  return Math.max(2, Math.min(50, Math.floor(steps / 4)));
}
