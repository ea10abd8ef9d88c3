// One rank that trains the GPT of examples-gpt: `node ringrun.js BATCH CONTEXT STEPS FOLDER`, started by run.js through
// the launcher. Writes FOLDER/RANK.json: the duration of each step and the processor time of all, in ms.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GPT, decayedApart, lossOf } from '@ringrun/examples-gpt';
import { compileStep, manualSeed, optim, tensor } from '@ringrun/nn';
import { DistributedDataParallel, barrier, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const [batch, context, steps] = process.argv.slice(2, 5).map(Number);
const [folder] = process.argv.slice(5);
const shape = { vocabSize: 65, context, layers: 4, heads: 4, width: 128 };

await initProcessGroup();
manualSeed(1);
const model = new DistributedDataParallel(new GPT(shape));
const settings = { lr: 1e-3, betas: [0.9, 0.99], weightDecay: 0.1 };
const optimizer = new optim.AdamW(decayedApart(model.module), settings);
const trainStep = compileStep(optimizer, (tokens, targets) => lossOf(model, tokens, targets), {
  clipGradNorm: 1,
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
const memory = process.resourceUsage().maxRSS * 1024;
writeFileSync(
  join(folder, `${getRank()}.json`),
  JSON.stringify({ durations, processorMs: (user + system) / 1000, memory }),
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
