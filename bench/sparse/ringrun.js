// Training steps of an embedding table: `node ringrun.js KIND OPTIMIZER ROWS WIDTH BATCH LENGTH STEPS`. KIND is sparse or
// dense. Started by the launcher, it trains with DistributedDataParallel. Rank 0 prints JSON: the milliseconds of the first step,
// which compiles, per later step its milliseconds and those of the processor, the peak memory in bytes, and the loss.
import { compileStep, F, manualSeed, nn, optim, tensor } from '@ringrun/nn';
import { destroyProcessGroup, DistributedDataParallel, getRank, initProcessGroup } from 'ringrun';
import { peakMemory } from '../support.js';

const [kind, name, ...numbers] = process.argv.slice(2);
const [rows, width, batch, length, steps] = numbers.map(Number);
const isDistributed = process.env.WORLD_SIZE !== undefined;
if (isDistributed) await initProcessGroup();
const rank = isDistributed ? getRank() : 0;
manualSeed(1);
const table = new nn.Embedding(rows, width, { sparse: kind === 'sparse' });
const model = isDistributed ? new DistributedDataParallel(table) : table;
const optimizer = new optim[name](table.parameters(), { lr: 0.01 });
const target = tensor(new Float32Array(batch * width).fill(0.5), [batch, width]);
const step = compileStep(optimizer, (indices) => F.mseLoss(model.forward(indices).mean(1), target), {
  traceOnce: true,
});

// The same indices as in pytorch.py.
let state = 1 + rank;
const random = () => (state = (state * 48271) % 2147483647) % rows;
const batches = Array.from({ length: 8 }, () => {
  const indices = BigInt64Array.from({ length: batch * length }, () => BigInt(random()));
  return tensor(indices, [batch, length]);
});

const created = performance.now();
await step(batches[0]);
const first = performance.now() - created;
await step(batches[1]);
const [began, used] = [performance.now(), process.cpuUsage()];
let loss;
for (let at = 0; at < steps; at += 1) loss = await step(batches[at % 8]);
const { user, system } = process.cpuUsage(used);
const milliseconds = (performance.now() - began) / steps;
const processor = (user + system) / 1e3 / steps;
const figures = { loss: await loss.item(), first, milliseconds, processor, memory: peakMemory() };
if (isDistributed) await destroyProcessGroup();
if (rank === 0) console.log(JSON.stringify(figures));
